\set id random(:records + 1, 9223372036854775806)
SELECT outcome, result FROM idem_accept_id('orders', :id);
