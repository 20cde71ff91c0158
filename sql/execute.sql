-- Claim, statement and result in one call.
CREATE TABLE execute_orders (id integer PRIMARY KEY, customer text, total numeric(10, 2), placed date);
SELECT outcome, token > 0 AS token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    lease_expires_at > clock_timestamp() AS lease, expires_at > clock_timestamp() + '23 h' AS retained, retry_after
FROM idem_execute('first', 'INSERT INTO execute_orders VALUES ($1, $2, $3, $4) RETURNING id, total',
    '[1, "Ada", 9.5, "2024-02-29"]', 'execute', owner => 'shop');
-- The second call does not run it.
SELECT outcome, token, attempt, code, result, body, failed, owner, retry_after
FROM idem_execute('first', 'INSERT INTO execute_orders VALUES ($1, $2, $3, $4) RETURNING id, total',
    '[1, "Ada", 9.5, "2024-02-29"]', 'execute');
SELECT outcome, result FROM idem_begin('first', 'execute');
SELECT status, code, result FROM idem_get('first', 'execute');
SELECT * FROM execute_orders;

-- What a statement gives: rows, no rows, a count.
SELECT key, result FROM (VALUES
    ('rows', 'SELECT i AS "Number", i % 2 = 0 AS even FROM generate_series(1, 3) AS i'),
    ('no rows', 'SELECT 1 WHERE false'),
    ('values', 'VALUES (1, NULL), (2, ''b'')'),
    ('no columns', 'SELECT'),
    ('one value', 'SELECT jsonb ''{"a": [1]}'' AS value'),
    ('types',
    'SELECT 1.50 AS n, date ''2024-02-29'' AS d, ARRAY[1,2] AS a, ROW(1) AS r, ''\x01''::bytea AS b, true AS t'),
    ('insert', 'INSERT INTO execute_orders VALUES (2), (3)'),
    ('update', 'UPDATE execute_orders SET total = 1 WHERE id IN (2, 3)'),
    ('update nothing', 'UPDATE execute_orders SET total = 1 WHERE false'),
    ('update returning', 'UPDATE execute_orders SET total = 2 WHERE id = 2 RETURNING total'),
    ('delete', 'DELETE FROM execute_orders WHERE id > 1'),
    ('cte', 'WITH gone AS (DELETE FROM execute_orders RETURNING id) SELECT count(*) FROM gone'),
    ('do', 'DO ''BEGIN END'''),
    ('create', 'CREATE TEMPORARY TABLE execute_made (a integer)'),
    ('create as', 'CREATE TEMPORARY TABLE execute_copied AS SELECT 1 AS a'),
    ('show', 'SHOW integer_datetimes'),
    ('semicolon', 'SELECT 1 AS a;'),
    ('comment', '/* only */ SELECT 1 AS a -- this')) AS s(key, statement),
    idem_execute(key, statement, scope => 'execute');

-- Arguments take the type that the statement gives their parameter.
SELECT key, outcome, result FROM (VALUES
    ('integer', 'SELECT $1::integer + 1 AS x', '[41]'),
    ('integer from text', 'SELECT $1::integer + 1 AS x', '["41"]'),
    ('null', 'SELECT $1::integer IS NULL AS x', '[null]'),
    ('text', 'SELECT $1::text AS x', '["a ''quoted\" text"]'),
    ('number as text', 'SELECT $1::text AS x', '[1.50]'),
    ('true as text', 'SELECT $1::text AS x', '[true]'),
    ('object as text', 'SELECT $1::text AS x', '[{"a": 1}]'),
    ('boolean', 'SELECT NOT $1::boolean AS x', '[false]'),
    ('timestamp', 'SELECT extract(year FROM $1::timestamp)::integer AS x', '["2024-02-29 12:00"]'),
    ('jsonb', 'SELECT $1::jsonb AS x', '[{"a": [1, null]}]'),
    ('jsonb string', 'SELECT $1::jsonb AS x', '["s"]'),
    ('json', 'SELECT json_typeof($1::json) AS x', '["s"]'),
    ('jsonb null', 'SELECT $1::jsonb IS NULL AS x', '[null]'),
    ('array', 'SELECT $1::integer[] AS x, cardinality($1) AS n', '[[1, null, 3]]'),
    ('empty array', 'SELECT cardinality($1::text[]) AS x', '[[]]'),
    ('array literal', 'SELECT $1::integer[] AS x', '["{1,2}"]'),
    ('array of jsonb', 'SELECT $1::jsonb[] AS x', '[[1, {"a": 2}, "s"]]'),
    ('bytea', 'SELECT $1::bytea AS x', '["\\x0001"]'),
    ('numeric', 'SELECT $1::numeric AS x', '[12345678901234567890.50]'),
    ('untyped', 'SELECT $1 AS x', '["text"]'),
    ('twice', 'SELECT $1::integer + $1 AS x', '[4]'),
    ('order', 'SELECT $2::text || $1::text AS x', '["b", "a"]'),
    ('skipped', 'SELECT $2::text AS x', '["unused", "a"]')) AS s(key, statement, args),
    idem_execute('argument: ' || key, statement, args::jsonb, 'execute');

-- What is refused leaves no claim behind.
CREATE FUNCTION refusal(statement text, args jsonb DEFAULT '[]') RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT FROM idem_execute(%L, %L, %L, %L)', 'refused', statement, args, 'execute'))
$$;
SELECT statement, args, refusal(statement, args) FROM (VALUES
    ('SELECT $1::integer, $2::integer', '[1]'::jsonb), ('SELECT 1', '[1]'), ('SELECT $1::integer', '[]'),
    ('SELECT 1', '{}'), ('SELECT 1', '1'), ('SELECT 1', 'null'), ('SELECT 1', NULL),
    ('SELECT 1; SELECT 2', '[]'), ('', '[]'), (NULL, '[]'), (' ', '[]'), ('-- nothing', '[]'), (';', '[]'),
    ('COMMIT', '[]'), ('ROLLBACK', '[]'), ('SAVEPOINT s', '[]'),
    ('COPY execute_orders TO STDOUT', '[]'),
    ('SELECT $1::integer[]', '[[[1, 2], [3, 4]]]')) AS s(statement, args);
-- The statement's own errors pass through.
SELECT statement, left(refusal(statement, args), 5) AS sqlstate FROM (VALUES
    ('SELECT 1/0', '[]'::jsonb), ('SELEC 1', '[]'), ('SELECT * FROM nowhere', '[]'), ('SELECT $1::integer', '["one"]'),
    ('SELECT $1::boolean', '["perhaps"]'), ('SELECT $1::integer[]', '["not an array"]'),
    ('SELECT $1::integer', '[1.5]'),
    ('INSERT INTO execute_orders VALUES (9), (9)', '[]'), ('VACUUM', '[]')) AS s(statement, args);
SELECT count(*) FROM idem_records WHERE scope = 'execute' AND key = 'refused';
SELECT count(*) FROM execute_orders WHERE id = 9;
DROP FUNCTION refusal;

-- The other outcomes are those of idem_begin.
SELECT outcome FROM idem_begin('busy', 'execute', '\x01', owner => 'other');
SELECT outcome, owner, result, retry_after > '0' AS retry_after
FROM idem_execute('busy', 'SELECT 1', scope => 'execute', fingerprint => '\x01');
SELECT outcome, result FROM idem_execute('busy', 'SELECT 1', scope => 'execute', fingerprint => '\x02');
SELECT outcome FROM idem_execute('busy', 'SELECT 1', scope => 'execute', strict => true, fingerprint => '\x02');
\echo :SQLSTATE
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'execute' AND key = 'busy';
SELECT outcome, attempt, result FROM idem_execute('busy', 'SELECT 1 AS a', scope => 'execute',
    fingerprint => '\x01', strict => true);
SELECT outcome FROM idem_begin('failed', 'execute');
SELECT idem_fail('failed', '"no"', 'execute', code => 402);
SELECT outcome, failed, code, result FROM idem_execute('failed', 'SELECT 1', scope => 'execute');
SELECT outcome FROM idem_begin('failed', 'execute', retain => '1 h');
-- Its retention is its own.
SELECT expires_at BETWEEN now() + '1 h' AND clock_timestamp() + '1 h' AS retain
FROM idem_execute('retained', 'SELECT 1', scope => 'execute', retain => '1 h');

-- A result over the limit undoes the statement.
SELECT idem_scope_set('execute', max_result_bytes => 100);
SELECT outcome FROM idem_execute('large', 'INSERT INTO execute_orders VALUES (10) RETURNING repeat(''x'', 200)',
    scope => 'execute');
\echo :SQLSTATE
SELECT idem_scope_reset('execute');
SELECT count(*) FROM execute_orders WHERE id = 10;
SELECT outcome FROM idem_execute('large', 'INSERT INTO execute_orders VALUES (10) RETURNING repeat(''x'', 200)',
    scope => 'execute');

-- Calls within calls.
SELECT outcome, result
FROM idem_execute('outer', $$SELECT outcome, result FROM idem_execute('inner', 'SELECT 1 AS a', scope => 'execute')$$,
    scope => 'execute');
SELECT outcome, result FROM idem_begin('inner', 'execute');
SELECT outcome, result
FROM idem_execute('itself', $$SELECT outcome FROM idem_execute('itself', 'SELECT 1', scope => 'execute')$$,
    scope => 'execute');
-- A statement that settles its own claim otherwise does not get away with it.
SELECT outcome FROM idem_execute('settled inside', $$SELECT idem_finish('settled inside', '"mine"', 'execute')$$,
    scope => 'execute');
\echo :SQLSTATE
SELECT outcome FROM idem_execute('released inside', $$SELECT idem_release('released inside', 'execute')$$,
    scope => 'execute');
\echo :SQLSTATE
SELECT outcome FROM idem_execute('forgotten inside', $$SELECT idem_forget('forgotten inside', 'execute', true)$$,
    scope => 'execute');
\echo :SQLSTATE
SELECT count(*) FROM idem_records WHERE scope = 'execute' AND key LIKE '% inside';

-- Plans are kept; they follow changes of tables, and of what a name means.
SELECT result FROM idem_execute('plan 1', 'SELECT * FROM execute_orders WHERE id = 10', scope => 'execute');
ALTER TABLE execute_orders ADD COLUMN note text DEFAULT 'new', DROP COLUMN placed;
SELECT result FROM idem_execute('plan 2', 'SELECT * FROM execute_orders WHERE id = 10', scope => 'execute');
CREATE SCHEMA execute_other;
CREATE TABLE execute_other.execute_orders AS SELECT 10 AS id, 'other schema' AS which;
SET search_path = execute_other, public;
SELECT result FROM idem_execute('plan 3', 'SELECT * FROM execute_orders WHERE id = 10', scope => 'execute');
RESET search_path;
SELECT result FROM idem_execute('plan 4', 'SELECT * FROM execute_orders WHERE id = 10', scope => 'execute');
ALTER TABLE execute_orders ALTER COLUMN id TYPE text;
SELECT result FROM idem_execute('plan 5', 'SELECT note FROM execute_orders WHERE id = $1', '["10"]', 'execute');
ALTER TABLE execute_orders ALTER COLUMN id TYPE integer USING id::integer;
SELECT result FROM idem_execute('plan 6', 'SELECT note FROM execute_orders WHERE id = $1', '[10]', 'execute');
-- More statements than are kept.
SELECT count(*), sum((result #>> '{0,x}')::integer) FROM generate_series(1, 200) AS i,
    idem_execute('statement ' || i, 'SELECT ' || i || ' AS x', scope => 'execute');
DROP SCHEMA execute_other CASCADE;
DROP TABLE execute_orders;
