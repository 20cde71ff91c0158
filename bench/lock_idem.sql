SELECT token FROM idem_lock(:client_id, '30 seconds') \gset
SELECT idem_unlock(:client_id, :token);
