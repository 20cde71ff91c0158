-- What several tests use. It is made first, and stays to the end of the run.

-- Runs a statement and says what came of it: "ok", with the value if it returns one, or the error with all its parts.
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    detail text;
    hint text;
BEGIN
    IF statement ~ '^SELECT|SELECT 1$|RETURNING \S+$' THEN
        EXECUTE statement INTO answer;
    ELSE
        EXECUTE statement;
    END IF;
    RETURN concat_ws(' ', 'ok', nullif(answer, ''));
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
-- The same for statements that write rows: "ok" comes with their number.
CREATE FUNCTION attempt_rows(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    GET DIAGNOSTICS number = ROW_COUNT;
    RETURN 'ok ' || number;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;

-- Waits until the lease of a key is over by the server's clock.
CREATE PROCEDURE until_lapsed(k text, s text) LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + '1 min';
BEGIN
    WHILE (SELECT lease_expires_at > clock_timestamp() FROM idem_records WHERE scope = s AND key = k) LOOP
        IF clock_timestamp() > deadline THEN
            RAISE 'the lease of % does not end', k;
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END $$;
-- A trigger that leaves the row out.
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

CREATE TEMPORARY TABLE attempted (n integer PRIMARY KEY);
SELECT statement, attempt(statement) FROM unnest(ARRAY['SELECT 1', 'SELECT NULL', 'SELECT ''''', 'SELECT WHERE false',
    'SELECT FROM generate_series(1, 2)', 'INSERT INTO attempted VALUES (1)',
    'INSERT INTO attempted VALUES (2) RETURNING n', 'ANALYZE attempted', 'SELECT 1 / 0',
    'INSERT INTO attempted VALUES (3), (1)', 'SELECT idem_begin(repeat(''x'', 513))', 'nonsense']) AS statement;
SELECT statement, attempt_rows(statement) FROM unnest(ARRAY['INSERT INTO attempted VALUES (3), (4)',
    'DELETE FROM attempted WHERE n > 4', 'ANALYZE attempted', 'INSERT INTO attempted VALUES (5), (1)',
    'SELECT idem_begin(repeat(''x'', 513))']) AS statement;
SELECT n FROM attempted ORDER BY n;
DROP TABLE attempted;
