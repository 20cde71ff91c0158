-- A session remembers the sequences that it makes ids with, and nothing of what else was passed for one.
SET idem.node_id = 7;
CREATE FUNCTION remembered() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    bytes bigint := 0;
BEGIN
    -- PostgreSQL 13 does not tell.
    IF to_regclass('pg_catalog.pg_backend_memory_contexts') IS NOT NULL THEN
        EXECUTE 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = ''sequences for ids''' INTO bytes;
    END IF;
    RETURN bytes;
END $$;
CREATE FUNCTION try_many(sequences regclass[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    sequence regclass;
    refused bigint := 0;
BEGIN
    FOREACH sequence IN ARRAY sequences LOOP
        BEGIN
            PERFORM idem_snowflake(sequence);
        EXCEPTION WHEN OTHERS THEN
            refused := refused + 1;
        END;
    END LOOP;
    RETURN refused;
END $$;
SELECT idem_snowflake() > 0 AS given;
SELECT remembered() AS bytes \gset
SELECT try_many(array_agg(oid::regclass)) > 100 AS relations_refused FROM pg_class WHERE relkind <> 'S';
SELECT try_many(array_agg((3000000000 + n)::oid::regclass)) AS refused FROM generate_series(1, 2000) AS n;
SELECT remembered() - :bytes AS more_bytes;
-- More than one are remembered, in whatever order they are used.
SELECT idem_snowflake_create('a'), idem_snowflake_create('b', '2026-01-01+00');
SELECT bool_and(idem_snowflake('a') > idem_snowflake('b') AND idem_snowflake() > idem_snowflake('b')) AS apart
FROM generate_series(1, 100);
DROP SEQUENCE a, b;
DROP FUNCTION remembered, try_many;
