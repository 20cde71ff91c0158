\set id random(1, :records)
SELECT outcome, to_state FROM idem_fire('orders', to_jsonb(:id::bigint), 'turn');
