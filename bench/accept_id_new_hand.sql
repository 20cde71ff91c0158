\set id random(:records + 1, 9223372036854775806)
INSERT INTO seen (stream, message) VALUES ('orders', :id) ON CONFLICT DO NOTHING;
