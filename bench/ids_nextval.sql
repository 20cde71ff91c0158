SELECT count(nextval('numbers')) FROM generate_series(1, 10000);
