-- A change of any schema makes a session look its tables up anew. That must not leave plans behind.
CREATE FUNCTION plans(OUT number bigint, OUT bytes numeric) LANGUAGE plpgsql AS $$
BEGIN
    number := 0;
    bytes := 0;
    -- PostgreSQL 13 does not tell.
    IF to_regclass('pg_catalog.pg_backend_memory_contexts') IS NOT NULL THEN
        EXECUTE $q$SELECT count(*), sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'$q$
            INTO number, bytes;
    END IF;
END $$;
CREATE PROCEDURE claim_among_schemas(times integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        EXECUTE 'CREATE SCHEMA plan_memory_other';
        PERFORM idem_begin('k', 'plans');
        PERFORM idem_extend('k', 'plans');
        COMMIT;
        EXECUTE 'DROP SCHEMA plan_memory_other';
        PERFORM idem_release('k', 'plans');
        COMMIT;
    END LOOP;
END $$;
CALL claim_among_schemas(10);
SELECT number >= 0 AS warm FROM plans();
SELECT number, bytes FROM plans() \gset
CALL claim_among_schemas(100);
SELECT number - :number AS more_plans, bytes - :bytes AS more_bytes FROM plans();
DROP PROCEDURE claim_among_schemas;
DROP FUNCTION plans;
