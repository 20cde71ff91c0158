\set id random(1, :records)
SELECT outcome, result FROM idem_accept_id('orders', :id);
