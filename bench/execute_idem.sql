\set key random(1, 9223372036854775806)
SELECT outcome, code, result FROM idem_execute(:key, 'INSERT INTO orders (account, amount) VALUES ($1, $2) RETURNING id', :args);
