\set key random(1, :records)
SELECT status, code, result FROM requests WHERE key = :key;
