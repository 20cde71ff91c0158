\set key random(:records + 1, 9223372036854775806)
INSERT INTO requests (key, status) VALUES (:key, 'in_progress') ON CONFLICT DO NOTHING;
