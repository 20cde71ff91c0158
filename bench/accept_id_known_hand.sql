\set id random(1, :records)
INSERT INTO seen (stream, message) VALUES ('orders', :id) ON CONFLICT DO NOTHING;
