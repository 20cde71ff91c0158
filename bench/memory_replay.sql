\set key random(1, :records)
SELECT outcome, code, result FROM idem_begin(:key);
\set calls :calls + 1
\if :calls = 1 or :calls = :warm or :calls = :total
INSERT INTO memory SELECT :calls, substring(pg_read_file('/proc/self/status', 0, 8192) FROM 'RssAnon:\s+(\d+)')::bigint;
\endif
