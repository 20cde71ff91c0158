\set producer 65
\if :seq = 0
SELECT last_seq AS seq FROM idem_producers WHERE producer_id = :producer \gset
\endif
\set seq :seq + 1
SELECT outcome FROM idem_accept('bench', :producer, 1, :seq);
