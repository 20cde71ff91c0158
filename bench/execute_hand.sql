\set key random(1, 9223372036854775806)
BEGIN;
INSERT INTO requests (key, status) VALUES (:key, 'in_progress') ON CONFLICT DO NOTHING;
INSERT INTO orders (account, amount) VALUES (:account, :amount) RETURNING id;
UPDATE requests SET status = 'finished', result = :result WHERE key = :key;
COMMIT;
