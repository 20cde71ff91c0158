-- Changing a sequence can be rolled back. What was drawn in between must not come again.
SET client_min_messages = warning;
SET idem.node_id = 7;
CREATE FUNCTION try_sequence(seq regclass) RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT idem_snowflake(%L) > 0', seq))
$$;
SELECT idem_snowflake_create('lasting');
CREATE TABLE owner (id bigint);
ALTER SEQUENCE lasting OWNED BY owner.id;
-- A minute ahead of the clock, so that only the last id keeps ids apart.
SET idem.max_clock_back = '1 h';
SELECT setval('lasting', idem_snowflake_floor(clock_timestamp() + '1 min', 'lasting')) > 0 AS ahead;
SELECT idem_snowflake('lasting') AS last \gset

BEGIN;
ALTER SEQUENCE lasting MINVALUE 1;
SELECT try_sequence('lasting');
SELECT count(*) FROM idem_snowflake_batch(0, 'lasting');
ROLLBACK;
SELECT idem_snowflake('lasting') > :last AS greater;
SELECT idem_snowflake('lasting') AS last \gset
BEGIN;
TRUNCATE owner RESTART IDENTITY;
SELECT split_part(try_sequence('lasting'), ' | ', 1);
ROLLBACK;
SELECT idem_snowflake('lasting') > :last AS greater;
SELECT idem_snowflake('lasting') AS last \gset
-- What makes no new file is no hindrance.
BEGIN;
ALTER SEQUENCE lasting OWNED BY NONE;
ALTER SEQUENCE lasting OWNED BY owner.id;
ALTER SEQUENCE lasting RENAME TO renamed;
TRUNCATE owner;
SELECT try_sequence('renamed');
ROLLBACK;

-- A change that is rolled back hinders no longer, wherever it was nested; one that is kept does.
BEGIN;
SAVEPOINT a;
ALTER SEQUENCE lasting RESTART;
SELECT split_part(try_sequence('lasting'), ' | ', 1);
ROLLBACK TO a;
SELECT try_sequence('lasting');
ALTER SEQUENCE lasting MINVALUE 1;
SAVEPOINT b;
ALTER SEQUENCE lasting MINVALUE 1;
ROLLBACK TO b;
SELECT split_part(try_sequence('lasting'), ' | ', 1);
RELEASE b;
RELEASE a;
SELECT split_part(try_sequence('lasting'), ' | ', 1);
ROLLBACK;
SELECT idem_snowflake('lasting') > :last AS greater;
BEGIN;
ALTER SEQUENCE lasting MINVALUE 1;
COMMIT;
SELECT idem_snowflake('lasting') > :last AS greater;

-- A sequence that goes with its file may be used, but not after a change that can be undone alone.
BEGIN;
SELECT idem_snowflake_create('own');
ALTER SEQUENCE own MINVALUE 1;
SELECT try_sequence('own');
SAVEPOINT a;
SELECT try_sequence('own');
ALTER SEQUENCE own RESTART;
SELECT split_part(try_sequence('own'), ' | ', 1);
ROLLBACK TO a;
SELECT try_sequence('own');
ALTER SEQUENCE own MINVALUE 1;
RELEASE a;
SELECT try_sequence('own');
SAVEPOINT b;
SELECT idem_snowflake_create('nested');
ALTER SEQUENCE nested MINVALUE 1;
SELECT try_sequence('nested');
RELEASE b;
SELECT try_sequence('nested');
COMMIT;
SELECT try_sequence('own'), try_sequence('nested');

-- Not one of many comes twice.
DO $$
DECLARE
    x bigint;
    repeated integer := 0;
    refused integer := 0;
BEGIN
    FOR i IN 1..100 LOOP
        x := 0;
        BEGIN
            EXECUTE 'ALTER SEQUENCE lasting MINVALUE 1';
            x := idem_snowflake('lasting');
            RAISE EXCEPTION 'undo' USING ERRCODE = 'ID000';
        EXCEPTION
            WHEN SQLSTATE '55000' THEN refused := refused + 1;
            WHEN SQLSTATE 'ID000' THEN NULL;
        END;
        IF x >= idem_snowflake('lasting') THEN repeated := repeated + 1; END IF;
    END LOOP;
    ASSERT repeated = 0 AND refused = 100, format('%s repeated, %s refused', repeated, refused);
END $$;
DROP TABLE owner;
DROP SEQUENCE own, nested;
DROP FUNCTION try_sequence;
