SELECT count(idem_uuid7()) FROM generate_series(1, 10000);
