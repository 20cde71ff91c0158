\set key random(1, :records)
SELECT * FROM idem_begin(:key);
