-- What the settings of cleanup accept, and how they refuse the rest: at once, with an example of what is right.
LOAD 'pg_idem';
CREATE FUNCTION set_here(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN set_config(name, current_setting(name), false);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- They are the server's, not a session's.
SELECT name, set_here(name) FROM pg_settings
WHERE name LIKE 'idem.cleanup%' OR name LIKE 'idem.%retention' ORDER BY name COLLATE "C";
DROP FUNCTION set_here;

-- The server has words of its own for what is no number or too large.
\set VERBOSITY sqlstate
ALTER SYSTEM SET idem.cleanup = maybe;
ALTER SYSTEM SET idem.cleanup_naptime = 0;
ALTER SYSTEM SET idem.cleanup_naptime = '-1 s';
ALTER SYSTEM SET idem.cleanup_naptime = 86401;
ALTER SYSTEM SET idem.cleanup_naptime = '2 d';
ALTER SYSTEM SET idem.cleanup_naptime = 'often';
ALTER SYSTEM SET idem.cleanup_naptime = '10 MB';
ALTER SYSTEM SET idem.cleanup_batch = 0;
ALTER SYSTEM SET idem.cleanup_batch = -1;
ALTER SYSTEM SET idem.cleanup_batch = 100001;
ALTER SYSTEM SET idem.cleanup_batch = 'all';
ALTER SYSTEM SET idem.cleanup_rows_per_second = -1;
ALTER SYSTEM SET idem.cleanup_rows_per_second = 2147483648;
ALTER SYSTEM SET idem.cleanup_max_workers = 0;
ALTER SYSTEM SET idem.cleanup_max_workers = 65;
ALTER SYSTEM SET idem.archive_retention = -2;
ALTER SYSTEM SET idem.archive_retention = '100000 d';
ALTER SYSTEM SET idem.archive_retention = '3 months';
ALTER SYSTEM SET idem.history_retention = -2;
ALTER SYSTEM SET idem.history_retention = '100000 d';
\set VERBOSITY default
ALTER SYSTEM SET idem.cleanup_window = 'night';
\echo :SQLSTATE
ALTER SYSTEM SET idem.cleanup_window = '01:00';
ALTER SYSTEM SET idem.cleanup_window = '1-5';
ALTER SYSTEM SET idem.cleanup_window = '05:00-05:00';
ALTER SYSTEM SET idem.cleanup_window = '24:00-05:00';
ALTER SYSTEM SET idem.cleanup_window = '01:00-24:01';
ALTER SYSTEM SET idem.cleanup_window = '01:60-05:00';
ALTER SYSTEM SET idem.cleanup_window = '01:00–05:00';
ALTER SYSTEM SET idem.cleanup_window = '01:00-05:00,';
ALTER SYSTEM SET idem.cleanup_window = '01:00-05:00, 9-17';
ALTER SYSTEM SET idem.cleanup_databases = 'shop,';
\echo :SQLSTATE
ALTER SYSTEM SET idem.cleanup_databases = ',';
ALTER SYSTEM SET idem.cleanup_databases = 'two words';
ALTER SYSTEM SET idem.cleanup_databases = '"open';
ALTER SYSTEM SET idem.cleanup_databases = '""';
-- The list is one value; as several the names would lose their quotes.
ALTER SYSTEM SET idem.cleanup_databases = shop, "Order History";
SELECT name, setting FROM pg_file_settings WHERE name LIKE 'idem.%' AND sourcefile LIKE '%.auto.conf';

-- What is right gets into the file as it is; the units are the server's.
ALTER SYSTEM SET idem.cleanup = off;
ALTER SYSTEM SET idem.cleanup_naptime = '1 d';
ALTER SYSTEM SET idem.cleanup_batch = 100000;
ALTER SYSTEM SET idem.cleanup_rows_per_second = 2147483647;
ALTER SYSTEM SET idem.cleanup_max_workers = 64;
ALTER SYSTEM SET idem.cleanup_window = ' 1:00-05:00 ,22:30-24:00, 23:00-00:30';
ALTER SYSTEM SET idem.cleanup_databases = 'shop, "Order History", größe';
ALTER SYSTEM SET idem.archive_retention = '90d';
ALTER SYSTEM SET idem.history_retention = '365d';
SELECT name, setting, error FROM pg_file_settings WHERE name LIKE 'idem.%' AND sourcefile LIKE '%.auto.conf'
ORDER BY name COLLATE "C";
ALTER SYSTEM SET idem.cleanup = on;
ALTER SYSTEM SET idem.cleanup_naptime = '1';
ALTER SYSTEM SET idem.cleanup_batch = 1;
ALTER SYSTEM SET idem.cleanup_rows_per_second = 0;
ALTER SYSTEM SET idem.cleanup_max_workers = 1;
ALTER SYSTEM SET idem.cleanup_window = '';
ALTER SYSTEM SET idem.cleanup_databases = '';
ALTER SYSTEM SET idem.archive_retention = -1;
ALTER SYSTEM SET idem.history_retention = -1;
SELECT name, setting, error FROM pg_file_settings WHERE name LIKE 'idem.%' AND sourcefile LIKE '%.auto.conf'
ORDER BY name COLLATE "C";
ALTER SYSTEM SET idem.archive_retention = 0;
ALTER SYSTEM SET idem.history_retention = 0;
ALTER SYSTEM SET idem.cleanup_databases = shop, orders;
SELECT name, setting, error FROM pg_file_settings WHERE name ~ '^idem[.](.*_retention|cleanup_databases)$'
    AND sourcefile LIKE '%.auto.conf' ORDER BY name COLLATE "C";
ALTER SYSTEM RESET idem.cleanup;
ALTER SYSTEM RESET idem.cleanup_naptime;
ALTER SYSTEM RESET idem.cleanup_batch;
ALTER SYSTEM RESET idem.cleanup_rows_per_second;
ALTER SYSTEM RESET idem.cleanup_max_workers;
ALTER SYSTEM RESET idem.cleanup_window;
ALTER SYSTEM RESET idem.cleanup_databases;
ALTER SYSTEM RESET idem.archive_retention;
ALTER SYSTEM RESET idem.history_retention;
SELECT count(*) FROM pg_file_settings WHERE name LIKE 'idem.%' AND sourcefile LIKE '%.auto.conf';
-- A role or a database cannot have them either.
ALTER ROLE CURRENT_USER SET idem.cleanup_batch = 10;
\echo :SQLSTATE
