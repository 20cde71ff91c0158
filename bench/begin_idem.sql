\set key random(:records + 1, 9223372036854775806)
SELECT outcome, code, result FROM idem_begin(:key);
