\set id random(1, :records)
\set event random(1, 9223372036854775806)
SELECT outcome, to_state FROM idem_fire('orders', to_jsonb(:id::bigint), 'turn', :event);
