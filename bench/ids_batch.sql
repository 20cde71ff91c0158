SELECT count(id) FROM (SELECT idem_snowflake_batch(10000, 'snowflakes') AS id) AS batch;
