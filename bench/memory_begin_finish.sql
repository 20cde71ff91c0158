\set key random(1, 9223372036854775806)
BEGIN;
SELECT outcome, code, result FROM idem_begin(:key);
SELECT idem_finish(:key, :result);
COMMIT;
\set calls :calls + 1
\if :calls = 1 or :calls = :warm or :calls = :total
INSERT INTO memory SELECT :calls, substring(pg_read_file('/proc/self/status', 0, 8192) FROM 'RssAnon:\s+(\d+)')::bigint;
\endif
