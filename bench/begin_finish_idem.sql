\set key random(1, 9223372036854775806)
BEGIN;
SELECT outcome, code, result FROM idem_begin(:key);
SELECT idem_finish(:key, :result);
COMMIT;
