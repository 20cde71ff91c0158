-- A session that works for ever does not grow.
CREATE OR REPLACE FUNCTION idem_test_memory() RETURNS bigint AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE PROCEDURE work(prefix text, times integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        PERFORM idem_begin(prefix || i, 'memory', idem_fingerprint(jsonb_build_object('i', i)), lease => '1 h',
            wait => '0');
        PERFORM idem_begin(prefix || i, 'memory');
        PERFORM idem_extend(prefix || i, 'memory', lease => '2 h');
        PERFORM idem_checkpoint(prefix || i, 'half', to_jsonb(i), 'memory');
        PERFORM idem_finish(prefix || i, to_jsonb(repeat('x', 100)), 'memory', body => '\x00');
        PERFORM idem_begin(prefix || i, 'memory');
        PERFORM * FROM idem_get(prefix || i, 'memory');
        PERFORM idem_execute(prefix || i, 'SELECT $1::integer AS i', jsonb_build_array(i), 'memory: execute');
        PERFORM idem_execute(prefix || i, 'SELECT ' || i || ' AS i', scope => 'memory: distinct statements');
        PERFORM idem_begin(idem_key(prefix, i::text), 'memory: scope ' || i);
        PERFORM idem_release(idem_key(prefix, i::text), 'memory: scope ' || i);
        BEGIN
            PERFORM idem_finish(prefix || i, '"other"', 'memory');
        EXCEPTION WHEN SQLSTATE 'ID412' THEN
            NULL;
        END;
        IF i % 10 = 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;
CALL work('first ', 3000);
SELECT idem_test_memory() AS before \gset
CALL work('second ', 6000);
SELECT idem_test_memory() AS between \gset
CALL work('third ', 6000);
-- A leak of a hundred bytes a round would come to 600 kB in each.
SELECT :between - :before < 300000 AS flat, idem_test_memory() - :between < 300000 AS still_flat;
