\set producer :client_id + 1
\if :seq = 0
SELECT last_seq AS seq FROM progress WHERE producer = :producer \gset
\endif
\set seq :seq + 1
BEGIN;
SELECT last_seq, recent FROM progress WHERE producer = :producer AND epoch = 1 FOR UPDATE;
UPDATE progress SET last_seq = :seq, recent = (recent || :seq::bigint)[greatest(array_length(recent, 1) - 3, 1):]
WHERE producer = :producer;
COMMIT;
