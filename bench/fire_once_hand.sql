\set id random(1, :records)
\set event random(1, 9223372036854775806)
BEGIN;
INSERT INTO events (id, order_id, event) VALUES (:event, :id, 'turn') ON CONFLICT DO NOTHING;
SELECT CASE status WHEN 'pending' THEN 'paid' WHEN 'paid' THEN 'pending' END AS target
FROM orders WHERE id = :id FOR UPDATE \gset
UPDATE orders SET status = :target WHERE id = :id;
COMMIT;
