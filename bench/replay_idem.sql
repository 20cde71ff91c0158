\set key random(1, :records)
SELECT outcome, code, result FROM idem_begin(:key);
