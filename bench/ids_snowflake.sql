SELECT count(idem_snowflake('snowflakes')) FROM generate_series(1, 10000);
