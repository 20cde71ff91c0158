\set id random(1, :records)
\set event random(1, 9223372036854775806)
SELECT turn_once(:id, :event);
