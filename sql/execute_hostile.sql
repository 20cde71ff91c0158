-- Statements and arguments that try to break idem_execute.
-- A parameter with a high number: those that the statement skips take an argument too.
SELECT outcome, result FROM idem_execute('many', 'SELECT $40000::integer AS x',
    (SELECT jsonb_agg(i) FROM generate_series(1, 40000) AS i), 'hostile');

-- Binding an argument runs a CHECK that calls for more statements than are kept.
CREATE FUNCTION evict(i integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM idem_execute('evict ' || n, 'SELECT ' || n || ' AS evicting', scope => 'hostile')
        FROM generate_series(1, 128) AS n;
    RETURN i > 0;
END $$;
CREATE DOMAIN evicting AS integer CHECK (evict(VALUE));
SELECT outcome, result FROM idem_execute('evicted', 'SELECT $1::evicting AS x, $2::text AS y', '[1, "a"]', 'hostile');
SELECT outcome, result FROM idem_execute('again', 'SELECT $1::evicting AS x, $2::text AS y', '[2, "b"]', 'hostile');
SELECT count(*) FROM idem_records WHERE scope = 'hostile' AND key LIKE 'evict %';
DROP DOMAIN evicting;
DROP FUNCTION evict;

-- What a name means also decides the type of a parameter.
CREATE SCHEMA hostile_one;
CREATE SCHEMA hostile_two;
CREATE TABLE hostile_one.happened (at timestamp, what integer);
CREATE TABLE hostile_two.happened (at timestamptz, what text);
SET search_path = hostile_one, public;
SELECT outcome, result FROM idem_execute('one', 'INSERT INTO happened VALUES ($1, $2)',
    '["2024-02-29 12:00:00+05", "007"]', 'hostile');
SET search_path = hostile_two, public;
SELECT outcome, result FROM idem_execute('two', 'INSERT INTO happened VALUES ($1, $2)',
    '["2024-02-29 12:00:00+05", "007"]', 'hostile');
SET search_path = hostile_one, public;
SELECT outcome, result FROM idem_execute('one again', 'INSERT INTO happened VALUES ($1, $2)',
    '["2024-02-29 13:00:00+05", "008"]', 'hostile');
RESET search_path;
SELECT at = '2024-02-29 12:00:00' AS first, at = '2024-02-29 13:00:00' AS second, what FROM hostile_one.happened
ORDER BY at;
SELECT at = '2024-02-29 07:00:00+00' AS first, what FROM hostile_two.happened;
DROP TABLE hostile_one.happened, hostile_two.happened;
DROP SCHEMA hostile_one;
DROP SCHEMA hostile_two;

-- A domain over an array takes a JSON array, and checks it.
CREATE DOMAIN few AS integer[] CHECK (cardinality(VALUE) < 3);
SELECT outcome, result FROM idem_execute('few', 'SELECT $1::few AS x, cardinality($1) AS n', '[[1, null]]', 'hostile');
SELECT outcome, result FROM idem_execute('few as text', 'SELECT $1::few AS x, cardinality($1) AS n', '["{3}"]',
    'hostile');
SELECT outcome FROM idem_execute('many', 'SELECT $1::few AS x, cardinality($1) AS n', '[[1, 2, 3]]', 'hostile 2');
\echo :SQLSTATE
DROP DOMAIN few;

-- What is refused leaves no claim behind.
CREATE FUNCTION refusal(statement text, args jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT FROM idem_execute(%L, %L, %L, %L)', 'refused', statement, args, 'hostile'))
$$;
SELECT statement, refusal(statement, args) FROM (VALUES
    ('SELECT $1 IS NULL', '[1]'::jsonb), ('SELECT $1::text, $2 IS NULL', '["a", null]'),
    ('-- nothing', '[]'), ('/* nothing */', '[]'), (';;', '[]'), (' ; -- nothing', '[]')) AS s(statement, args);
-- A number that no client could send.
SELECT statement, refusal(statement, '[1]') FROM (VALUES
    ('SELECT $70000'), ('SELECT $70000::integer'), ('SELECT $65536::integer')) AS s(statement);
SELECT count(*) FROM idem_records WHERE scope = 'hostile' AND key = 'refused';
DROP FUNCTION refusal;

-- A statement that changes the table of records under its own claim.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_hostile;
\c regress_idem_hostile
CREATE EXTENSION pg_idem;
SELECT string_agg(format('ADD COLUMN c%s text', i), ', ' ORDER BY i) AS columns FROM generate_series(1, 40) AS i \gset
SELECT outcome, result FROM idem_execute('alter', 'ALTER TABLE idem_records ' || :'columns');
SELECT r.key, status, count(*) AS columns, bool_and(c.value = 'null') AS all_null
FROM idem_records AS r, jsonb_each(to_jsonb(r)) AS c WHERE c.key ~ '^c[0-9]' GROUP BY r.key, status;
SELECT outcome, result FROM idem_execute('alter', 'ALTER TABLE idem_records ' || :'columns');
SELECT outcome, result FROM idem_execute('after', 'SELECT 1 AS a');
SELECT r.key, status, count(*) AS columns, bool_and(c.value = 'null') AS all_null
FROM idem_records AS r, jsonb_each(to_jsonb(r)) AS c WHERE c.key ~ '^c[0-9]' GROUP BY r.key, status ORDER BY r.key;
-- One that removes it: all or nothing.
CREATE TABLE kept (a integer);
\set VERBOSITY sqlstate
SELECT outcome FROM idem_execute('drop', $$DO 'BEGIN DROP TABLE kept; DROP EXTENSION pg_idem; END'$$);
SELECT :'LAST_ERROR_MESSAGE' ~ 'idem_records' AS named, :'LAST_ERROR_MESSAGE' ~ '\(null\)' AS garbled;
SELECT outcome FROM idem_execute('drop', 'DROP EXTENSION pg_idem');
SELECT :'LAST_ERROR_MESSAGE' ~ 'idem_records' AS named, :'LAST_ERROR_MESSAGE' ~ '\(null\)' AS garbled;
\set VERBOSITY default
SELECT count(*) FROM kept;
SELECT extname FROM pg_extension WHERE extname = 'pg_idem';
SELECT outcome, result FROM idem_begin('after');
SELECT outcome, attempt FROM idem_begin('drop');
\c :home
DROP DATABASE regress_idem_hostile;
