-- Which sequences make ids, and what is to be altered about the others.
SET client_min_messages = warning;
SET idem.node_id = 7;
CREATE FUNCTION try_sequence(seq regclass) RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT CASE WHEN clock_timestamp() - at BETWEEN ''0'' AND ''1 min'' THEN ''given''
        ELSE ''of another time'' END FROM idem_snowflake_parts(idem_snowflake(%1$L), %1$L)', seq))
$$;
CREATE SEQUENCE plain;
SELECT try_sequence('plain'), try_sequence('plain');
SELECT at = '2025-01-01 00:00:00+00' AS default_epoch FROM idem_snowflake_parts(0, 'plain');

CREATE SEQUENCE by_two INCREMENT 2;
CREATE SEQUENCE cached CACHE 10;
CREATE SEQUENCE four_bytes AS integer;
CREATE SEQUENCE two_bytes AS smallint;
CREATE SEQUENCE limited MAXVALUE 1000000;
CREATE SEQUENCE descending INCREMENT -1;
CREATE SEQUENCE "all Wrong" AS integer INCREMENT 3 CACHE 2 MAXVALUE 1000;
CREATE SEQUENCE late START 1000;
CREATE TEMPORARY SEQUENCE passing;
CREATE TABLE "no sequence" (id integer);
CREATE VIEW seen AS SELECT 1 AS last_value;
SELECT seq, try_sequence(seq) FROM unnest(ARRAY['by_two', 'cached', 'four_bytes', 'two_bytes', 'limited', 'descending',
    '"all Wrong"', 'late', 'passing', '"no sequence"', 'seen']::regclass[]) AS seq;
-- From 15 on sequences can be unlogged.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 150000 THEN
        EXECUTE 'CREATE UNLOGGED SEQUENCE unlogged';
        ASSERT try_sequence('unlogged') = '55000 unlogged sequence public.unlogged cannot make ids | '
            'A crash would set it back, and it would give ids again. | '
            'Use ALTER SEQUENCE public.unlogged SET LOGGED.', try_sequence('unlogged');
        EXECUTE 'ALTER SEQUENCE public.unlogged SET LOGGED';
        ASSERT try_sequence('unlogged') = 'ok given', try_sequence('unlogged');
        EXECUTE 'ALTER SEQUENCE public.unlogged SET UNLOGGED';
        ASSERT try_sequence('unlogged') ~ '^55000', try_sequence('unlogged');
        DROP SEQUENCE unlogged;
    END IF;
END $$;
-- As the hints say.
ALTER SEQUENCE by_two INCREMENT BY 1;
ALTER SEQUENCE cached CACHE 1;
ALTER SEQUENCE four_bytes AS bigint;
ALTER SEQUENCE two_bytes AS bigint;
ALTER SEQUENCE limited NO MAXVALUE;
ALTER SEQUENCE descending INCREMENT BY 1 NO MAXVALUE NO MINVALUE START 1 RESTART;
ALTER SEQUENCE "all Wrong" AS bigint INCREMENT BY 1 NO MAXVALUE CACHE 1;
ALTER SEQUENCE late START 1 RESTART;
SELECT seq, try_sequence(seq) FROM unnest(ARRAY['by_two', 'cached', 'four_bytes', 'two_bytes', 'limited', 'descending',
    '"all Wrong"', 'late']::regclass[]) AS seq;
-- A change counts at once, for a session that knew the sequence before, and so does its end.
SELECT try_sequence('plain');
BEGIN;
ALTER SEQUENCE plain INCREMENT 2;
SELECT split_part(try_sequence('plain'), ' | ', 1);
ROLLBACK;
SELECT try_sequence('plain');
ALTER SEQUENCE plain CACHE 5;
SELECT split_part(try_sequence('plain'), ' | ', 1);
ALTER SEQUENCE plain CACHE 1;
SELECT try_sequence('plain');
PREPARE draw AS SELECT idem_snowflake('plain') IS NULL;
EXECUTE draw;
DROP SEQUENCE plain;
CREATE SEQUENCE plain;
EXECUTE draw;
DEALLOCATE draw;
SELECT try_sequence('plain');
SELECT idem_snowflake('nowhere');
\echo :SQLSTATE
SELECT idem_snowflake(0);
\echo :SQLSTATE
SELECT idem_snowflake(NULL);
\echo :SQLSTATE

-- In the transaction that makes it, and rolled back with it.
BEGIN;
SELECT idem_snowflake_create('own');
SELECT idem_snowflake('own') < idem_snowflake('own') AS grows;
SAVEPOINT s;
SELECT idem_snowflake_create('inner');
SELECT idem_snowflake('inner') > 0 AS given;
ROLLBACK TO s;
SELECT to_regclass('inner');
SELECT idem_snowflake('own') > 0 AS given;
COMMIT;
SELECT try_sequence('own');

-- Names and epochs.
CREATE SCHEMA ids;
SELECT idem_snowflake_create('ids.a'), idem_snowflake_create('ids."Größe .""x"'), idem_snowflake_create('"日本"');
SELECT try_sequence('ids.a'), try_sequence('ids."Größe .""x"'), try_sequence('"日本"');
SET search_path = ids, public;
SELECT idem_snowflake_create('b');
SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'b' AND relkind = 'S';
RESET search_path;
-- What is returned is what was made, also behind a relation of the same name.
CREATE TEMPORARY SEQUENCE behind;
SELECT idem_snowflake_create('behind'), idem_snowflake_create('pg_class');
SELECT idem_snowflake(idem_snowflake_create('pg_depend')) > 0 AS given;
DROP SEQUENCE pg_temp.behind, public.behind, public.pg_class, public.pg_depend;
SELECT idem_snowflake_create('year2000', '2000-01-01 00:00:00+00');
SELECT idem_snowflake_create('year2020', '2020-01-01 00:00:00.0009+01');
SELECT seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle
FROM pg_sequence WHERE seqrelid::regclass::text ~ '^year|ids.a|idem_snowflake' ORDER BY seqrelid::regclass::text;
SELECT try_sequence('year2000'), try_sequence('year2020');
SELECT idem_snowflake('year2000') > idem_snowflake('year2020') AS older_is_greater;
SELECT at AT TIME ZONE 'UTC' FROM idem_snowflake_parts(0, 'year2020');
SELECT idem_snowflake_create('young', clock_timestamp());
SELECT idem_snowflake('young') BETWEEN 1 AND 60000::bigint << 22 AS small;
-- A clock from before the epoch.
DO $$
BEGIN
    EXECUTE format('ALTER SEQUENCE young START %s', extract(epoch FROM date_trunc('hour', now()) + '2 h')::bigint * 1000);
END $$;
SELECT split_part(try_sequence('young'), ' | ', 1);
-- A START that cannot be an epoch: beyond what timestamps hold with all ids, or later than the clock.
CREATE SEQUENCE beyond START 9000000000000000000;
CREATE SEQUENCE nonsense START 18447744073709552;
CREATE SEQUENCE first_beyond START 9222118992744449;
CREATE SEQUENCE last_within START 9222118992744448;
CREATE SEQUENCE year3000 START 32503680000000;
SELECT seq, try_sequence(seq) FROM unnest(ARRAY['beyond', 'nonsense', 'first_beyond']::regclass[]) AS seq;
SELECT split_part(try_sequence(seq), ' | ', 1) FROM unnest(ARRAY['last_within', 'year3000']::regclass[]) AS seq;
SELECT seq,
    attempt(format('SELECT at AT TIME ZONE ''UTC'' FROM idem_snowflake_parts(9223372036854775807, %L)', seq)) AS parts,
    attempt(format('SELECT idem_snowflake_floor(''294276-12-31'', %L)', seq)) AS floor
FROM unnest(ARRAY['beyond', 'nonsense', 'first_beyond', 'last_within', 'year3000']::regclass[]) AS seq;
ALTER SEQUENCE beyond START 1 RESTART;
ALTER SEQUENCE year3000 START 1 RESTART;
SELECT try_sequence('beyond'), try_sequence('year3000');
DROP SEQUENCE beyond, nonsense, first_beyond, last_within, year3000;
-- The end of the bits: 2^41 ms after an epoch.
SET idem.max_clock_back = 2147483647;
SELECT setval('year2000', 9223372036854775806);
SELECT split_part(regexp_replace(try_sequence('year2000'), '\d{6,}', '#'), ' | ', 1);
RESET idem.max_clock_back;
SELECT name, epoch, attempt(format('SELECT idem_snowflake_create(%L, %L)', name, epoch))
FROM (VALUES (NULL, '2025-01-01'), ('', '2025-01-01'), ('a', NULL), ('a', '1999-12-31 23:59:59.999+00'),
    ('a', '1970-01-01'), ('a', 'infinity'), ('a', '-infinity'), ('a', '3000-01-01'), ('a..b', '2025-01-01'), ('"a', '2025-01-01'),
    ('nowhere.a', '2025-01-01'), ('plain', '2025-01-01'), ('elsewhere.public.a', '2025-01-01'),
    ('a; DROP TABLE x', '2025-01-01'), ('pg_catalog.a', '2025-01-01')) AS v (name, epoch);
SELECT to_regclass('a');
BEGIN READ ONLY;
SELECT idem_snowflake_create('a');
\echo :SQLSTATE
ROLLBACK;
DROP SCHEMA ids CASCADE;
DROP SEQUENCE plain, by_two, cached, four_bytes, two_bytes, limited, descending, "all Wrong", late, passing, own,
    "日本", year2000, year2020, young;
DROP VIEW seen;
DROP TABLE "no sequence";
DROP FUNCTION try_sequence;
