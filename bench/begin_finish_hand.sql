\set key random(1, 9223372036854775806)
BEGIN;
INSERT INTO requests (key, status) VALUES (:key, 'in_progress') ON CONFLICT DO NOTHING;
UPDATE requests SET status = 'finished', result = :result WHERE key = :key;
COMMIT;
