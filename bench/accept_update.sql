\set producer :client_id + 1
\if :seq = 0
SELECT last_seq AS seq FROM progress WHERE producer = :producer \gset
\endif
\set seq :seq + 1
UPDATE progress SET last_seq = :seq WHERE producer = :producer AND epoch = 1 AND last_seq = :seq - 1;
