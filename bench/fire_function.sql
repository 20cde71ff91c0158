\set id random(1, :records)
SELECT turn(:id);
