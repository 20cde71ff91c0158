\set id random(1, :records)
BEGIN;
SELECT CASE status WHEN 'pending' THEN 'paid' WHEN 'paid' THEN 'pending' END AS target
FROM orders WHERE id = :id FOR UPDATE \gset
UPDATE orders SET status = :target WHERE id = :id;
COMMIT;
