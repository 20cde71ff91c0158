-- The frontier between C++ exceptions and the server's errors: whatever is thrown on one side arrives whole
-- on the other, every destructor runs, and the session lives on.
CREATE FUNCTION idem_test_throw(kind text) RETURNS void AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION idem_test_throw_inside(kind text) RETURNS void AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION idem_test_run(sql text, levels integer DEFAULT 1) RETURNS void AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION idem_test_return(value integer) RETURNS integer AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION idem_test_alive() RETURNS integer AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION idem_test_restored() RETURNS boolean AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE OR REPLACE FUNCTION idem_test_memory() RETURNS bigint AS 'pg_idem_test' LANGUAGE C STRICT;
SELECT pg_backend_pid() AS backend \gset
\set SHOW_CONTEXT never

-- Everything that an error carries.
CREATE TYPE diagnostics AS (
    sqlstate text, message text, detail text, hint text, schema_name text, table_name text, column_name text,
    datatype_name text, constraint_name text
);
CREATE FUNCTION diagnose(sql text) RETURNS diagnostics LANGUAGE plpgsql AS $$
DECLARE
    d diagnostics;
BEGIN
    EXECUTE sql;
    RETURN NULL;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS
        d.sqlstate = RETURNED_SQLSTATE, d.message = MESSAGE_TEXT, d.detail = PG_EXCEPTION_DETAIL,
        d.hint = PG_EXCEPTION_HINT, d.schema_name = SCHEMA_NAME, d.table_name = TABLE_NAME,
        d.column_name = COLUMN_NAME, d.datatype_name = PG_DATATYPE_NAME, d.constraint_name = CONSTRAINT_NAME;
    RETURN d;
END $$;
-- The same, and what the last inward guard left behind.
CREATE FUNCTION diagnose_guarded(sql text, OUT error diagnostics, OUT restored boolean, OUT alive integer)
LANGUAGE plpgsql AS $$
BEGIN
    error := diagnose(sql);
    restored := idem_test_restored();
    alive := idem_test_alive();
END $$;

-- Exceptions become errors.
SELECT sqlstate, message, detail, hint
FROM unnest(ARRAY['full', 'bare', 'format', 'empty', 'bad_alloc', 'runtime_error', 'int', 'text']) AS kind,
    diagnose(format('SELECT idem_test_throw(%L)', kind));
SELECT sqlstate, message <> '' AS has_message FROM diagnose('SELECT idem_test_throw(''exhausted'')');
SELECT idem_test_alive();

-- The same from inside an inward guard.
SELECT (error).sqlstate, (error).message, (error).detail, (error).hint, restored, alive
FROM unnest(ARRAY['full', 'bare', 'format', 'bad_alloc', 'runtime_error', 'int', 'text']) AS kind,
    diagnose_guarded(format('SELECT idem_test_throw_inside(%L)', kind));

-- A text that is too long ends with a whole character: 1023 bytes would split the last one, and so would 511.
SELECT octet_length(message) AS message_bytes, message = repeat('é', 511) AS message_whole,
    octet_length(detail) AS detail_bytes, detail = repeat('é', 511) AS detail_whole,
    octet_length(hint) AS hint_bytes, hint = repeat('é', 255) AS hint_whole
FROM diagnose('SELECT idem_test_throw(''long'')');
SELECT octet_length(message) AS message_bytes, message = repeat('é', 511) AS message_whole
FROM diagnose('SELECT idem_test_throw(''long_exception'')');

-- Errors of the server pass through, at any depth, as if the guards were not there.
CREATE TABLE payments (id integer CONSTRAINT payments_id_positive CHECK (id > 0), note varchar(3) NOT NULL);
CREATE UNIQUE INDEX payments_once ON payments (id);
INSERT INTO payments VALUES (1, 'one');
CREATE DOMAIN amount AS integer CHECK (VALUE > 0);
CREATE FUNCTION raise_everything() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'ZZ123', MESSAGE = 'the message', DETAIL = 'The detail.', HINT = 'The hint.',
        SCHEMA = 'a schema', TABLE = 'a table', COLUMN = 'a column', DATATYPE = 'a type', CONSTRAINT = 'a constraint';
END $$;
CREATE TABLE statements (number integer, sql text);
INSERT INTO statements VALUES
    (1, 'SELECT raise_everything()'),
    (2, 'INSERT INTO payments VALUES (1, ''two'')'),
    (3, 'INSERT INTO payments VALUES (-1, ''two'')'),
    (4, 'INSERT INTO payments VALUES (2, NULL)'),
    (5, 'SELECT 0::amount'),
    (6, 'SELECT 1/0'),
    (7, 'SELECT nothing FROM nowhere'),
    (8, 'SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(60)'),
    (9, 'SELECT idem_finish(''never claimed'')'),
    (10, 'SELECT idem_test_throw(''full'')'),
    (11, 'SELECT idem_test_throw_inside(''int'')');
SELECT number, levels, (error).sqlstate, error = plain AS unchanged, restored, alive
FROM statements, unnest(ARRAY[1, 2, 10]) AS levels,
    diagnose(sql) AS plain,
    diagnose_guarded(format('SELECT idem_test_run(%L, %s)', sql, levels))
ORDER BY number, levels;
SELECT * FROM diagnose('SELECT idem_test_run(''SELECT raise_everything()'', 3)');
\set SHOW_CONTEXT errors
SELECT idem_test_run('SELECT raise_everything()', 3);
\set SHOW_CONTEXT never

-- Without an error everything goes on: values, rows, notices.
SELECT idem_test_return(42), idem_test_return(-1);
SELECT idem_test_run($$DO 'BEGIN RAISE NOTICE ''still talking''; END'$$, 3);
SELECT idem_test_run('INSERT INTO payments VALUES (3, ''new'')', 3);
SELECT id FROM payments ORDER BY id;
SELECT idem_test_alive(), idem_test_restored();

-- A subtransaction takes back what the failed call did, and the rest of the transaction goes on.
BEGIN;
INSERT INTO payments VALUES (4, 'bef');
SAVEPOINT attempt;
SELECT idem_test_run('INSERT INTO payments VALUES (5, ''in''), (1, ''dup'')', 2);
ROLLBACK TO attempt;
INSERT INTO payments VALUES (6, 'aft');
DO $$
BEGIN
    PERFORM idem_test_run('INSERT INTO payments VALUES (7, ''in'')', 2);
    PERFORM idem_test_throw('full');
EXCEPTION WHEN SQLSTATE 'ID499' THEN
    RAISE NOTICE 'caught: %', SQLERRM;
END $$;
COMMIT;
SELECT id FROM payments ORDER BY id;

-- Failures leave nothing behind. The first rounds fill the server's own caches.
CREATE FUNCTION fail_often(times integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        BEGIN
            CASE i % 4
                WHEN 0 THEN PERFORM idem_test_throw('long');
                WHEN 1 THEN PERFORM idem_test_throw_inside('runtime_error');
                WHEN 2 THEN PERFORM idem_test_run('SELECT 1/0', 3);
                ELSE PERFORM idem_test_run('SELECT idem_test_throw(''full'')', 2);
            END CASE;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT fail_often(1000);
SELECT idem_test_memory() AS before \gset
SELECT fail_often(10000);
-- An error of a hundred bytes kept each time would come to a megabyte.
SELECT idem_test_memory() - :before < 100000 AS memory_unchanged;
DO $$
DECLARE
    before bigint;
BEGIN
    PERFORM fail_often(1000);
    before := idem_test_memory();
    PERFORM fail_often(10000);
    IF idem_test_memory() - before >= 100000 THEN
        RAISE 'memory grew by % bytes within one statement', idem_test_memory() - before;
    END IF;
END $$;
SELECT idem_test_alive(), pg_backend_pid() = :backend AS same_backend;
