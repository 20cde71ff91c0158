SELECT count(gen_random_uuid()) FROM generate_series(1, 10000);
