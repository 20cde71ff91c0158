\set name random(1, 9223372036854775806)
SELECT token FROM idem_lock(:name, '30 seconds') \gset
SELECT idem_unlock(:name, :token);
