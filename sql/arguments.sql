-- Every function with every argument NULL, and empty where its type has an empty value, in a subtransaction that
-- is rolled back. The list comes from the catalog, so a new function or argument shows up here.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_argument;
RESET client_min_messages;
CREATE ROLE regress_idem_argument;
CREATE TABLE plain_table (at timestamptz, note text);
CREATE INDEX ON plain_table (at);
CREATE TABLE plain_values (argument text, value text, function text DEFAULT '');
INSERT INTO plain_values VALUES
    ('key', 'k'), ('scope', 'arguments'), ('fingerprint', '\x01'), ('lease', '1 min'), ('retain', '1 h'), ('wait', '0'),
    ('owner', 'me'), ('committed', 'false'), ('strict', 'false'), ('result', '1'), ('token', NULL), ('code', '200'),
    ('body', '\x00'), ('name', 'c'), ('data', '1'), ('statement', 'SELECT 1'), ('args', '[]'), ('payload', '{}'),
    ('exclude', '{}'), ('parts', '{a}'), ('parent', 'p'), ('step', 's'), ('action', 'finish'), ('force', 'true'),
    ('max_rows', '1'), ('max_attempts', '3'), ('on_abandoned', 'retry'), ('max_result_bytes', '1000'),
    ('on_expiry', 'delete'), ('require_fingerprint', 'false'), ('member', 'regress_idem_argument'),
    ('role', 'regress_idem_argument'), ('operator', 'false'), ('rel', 'plain_table'), ('col', 'at'), ('after', '1 d'),
    ('batch', '10'), ('archive', NULL), ('diagram', E'stateDiagram-v2\n[*] --> a'), ('initial', '{a}'),
    ('transitions', '{{a,b}}'), ('machine', 'plain'), ('history', 'false'), ('guards', '{}'), ('allow_null', 'false'),
    ('always', 'false'), ('machine_col', 'machine'), ('version_col', 'v'), ('validate', 'true'),
    ('states', '{"new": "paid"}'), ('version', '1'), ('format', 'mermaid'), ('from_state', 'new'),
    ('to_state', 'paid'), ('event', 'pay'), ('event_id', 'e'), ('ttl', '1 min'), ('delay', '1 s'), ('at_least', '1 s');
INSERT INTO plain_values VALUES ('action', 'delete', 'idem_expire_attach');
INSERT INTO plain_values VALUES
    ('stream', 'arguments'), ('producer', 'p'), ('producer_id', '1'), ('epoch', '1'), ('seq', '1'), ('last_seq', '1'),
    ('msg_id', 'm'), ('hash', '\x01'), ('seqs', '{1}'), ('mode', 'strict'), ('remember', '5'),
    ('too_old', 'duplicate'), ('message_retain', '1 h'), ('refresh', 'false');
-- Ids are numbers, texts and UUIDs.
SET idem.node_id = 7;
INSERT INTO plain_values VALUES ('n', '2'), ('at', '2030-01-01'), ('shift', '1 d'), ('id', '1'), ('pool', 'p'), ('first', '0'),
    ('last', '1023');
INSERT INTO plain_values VALUES ('epoch', '2020-01-01', 'idem_snowflake_create'),
    ('id', '0000000000001', 'idem_snowflake_from_text'),
    ('id', '017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 'idem_uuid_time');
INSERT INTO plain_values SELECT 'seq', 'idem_snowflake_seq', proname
FROM pg_proc WHERE proname LIKE 'idem\_snowflake%';
-- A table's messages have an id or a number, not both.
INSERT INTO plain_values VALUES ('msg_id', 'note', 'idem_stream_attach'), ('producer_id', NULL, 'idem_stream_attach'),
    ('epoch', NULL, 'idem_stream_attach'), ('seq', NULL, 'idem_stream_attach');
-- Machines have a table and a name of their own.
SELECT idem_machine_define('plain', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
CREATE TABLE judged_table (id integer PRIMARY KEY, status text, machine text, v integer);
SELECT idem_machine_attach('judged_table', 'status', 'plain', machine_col => 'machine', version_col => 'v');
INSERT INTO judged_table VALUES (1, 'new');
INSERT INTO plain_values SELECT argument, value, proname
FROM pg_proc,
    (VALUES ('rel', 'judged_table'), ('col', 'status'), ('key', '1'), ('name', 'plain')) AS v (argument, value)
WHERE proname ~ '^idem_(machine_.*|fire|allowed_events|history_of)$' AND proname <> 'idem_machine_define';
-- So have versions.
CREATE TABLE versioned_table (id integer PRIMARY KEY, version integer NOT NULL DEFAULT 1, note text);
SELECT idem_version_attach('versioned_table');
INSERT INTO versioned_table VALUES (1);
INSERT INTO plain_values VALUES ('ignore', '{}'), ('fill', 'false'), ('expected', '1'),
    ('changes', '{"note": "n"}');
INSERT INTO plain_values SELECT argument, value, proname
FROM pg_proc,
    (VALUES ('rel', 'versioned_table'), ('col', 'version'), ('key', '1'), ('mode', 'where')) AS v (argument, value)
WHERE proname IN ('idem_version_attach', 'idem_version_detach', 'idem_cas');
CREATE TABLE empty_values (type regtype PRIMARY KEY, value text);
INSERT INTO empty_values VALUES ('text', ''), ('bytea', ''), ('jsonb', '""'), ('text[]', '{}'), ('integer', '0'),
    ('bigint', '0'), ('bigint[]', '{}'), ('name', ''), ('regclass', '0'), ('regrole', '0');
CREATE VIEW arguments AS
    SELECT p.oid, p.proname AS function, p.pronargs AS arguments, a.argument, a.type::oid::regtype AS type, a.place,
        (SELECT value FROM plain_values AS v WHERE v.argument = a.argument AND v.function IN ('', p.proname)
        ORDER BY v.function DESC LIMIT 1) AS value,
        p.provariadic <> 0 AND a.place = cardinality(p.proargtypes) AS is_variadic
    FROM pg_proc AS p
    JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'pg_idem'
    CROSS JOIN LATERAL ROWS FROM (unnest(p.proargnames), unnest(p.proargtypes)) WITH ORDINALITY AS a(argument, type,
        place)
    -- Functions for the planner and for triggers name no argument.
    WHERE a.argument IS NOT NULL AND a.type IS NOT NULL;
-- Everything here has a plain value.
SELECT function, argument FROM arguments WHERE value IS NULL AND argument NOT IN ('token', 'archive')
    AND function <> 'idem_stream_attach';

-- The call with one argument replaced.
CREATE FUNCTION call_with(f oid, replaced text, replacement text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('SELECT * FROM %s(%s)', f::regproc,
        string_agg(format('%s%I => %L::%s', CASE WHEN is_variadic THEN 'VARIADIC ' END,
        argument, CASE WHEN argument = replaced THEN replacement ELSE value END, type), ', ' ORDER BY place))
    FROM arguments WHERE oid = f
$$;
CREATE FUNCTION call_alone(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    -- Something for every function to work on: a claim of our own, which is abandoned where an operator is to decide.
    IF call !~ 'idem_(begin|execute)\(' THEN
        PERFORM idem_begin('k', 'arguments', lease => CASE WHEN call ~ 'idem_resolve' THEN interval '1 us' END);
        IF call !~ 'idem_lock\(' THEN
            PERFORM idem_lock('c', '1 min');
        END IF;
    END IF;
    IF call ~ 'idem_expire_run' THEN
        PERFORM idem_expire_attach('plain_table', 'at', '1 d');
    END IF;
    IF call ~ 'idem_accept' THEN
        PERFORM idem_producer('p', 'arguments');
        UPDATE idem_producers SET producer_id = 1 WHERE stream = 'arguments';
        IF call ~ 'idem_accept_result' THEN
            PERFORM idem_accept('arguments', 1, 1, 1);
        END IF;
    END IF;
    IF call ~ 'idem_session_unlock' THEN
        PERFORM idem_session_lock('c');
    END IF;
    EXECUTE call;
    RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN RETURN 'accepted';
    WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE VIEW answers AS
    SELECT a.function, a.arguments, a.argument, a.place, call_alone(call_with(a.oid, a.argument, NULL)) AS when_null,
        call_alone(call_with(a.oid, a.argument, e.value)) AS when_empty, e.type IS NULL AS never_empty
    FROM arguments AS a LEFT JOIN empty_values AS e USING (type);
SELECT function, call_alone(call_with(oid, NULL, NULL)) AS when_plain FROM arguments GROUP BY oid, function, arguments
ORDER BY function, arguments;
CREATE TABLE read_committed AS SELECT * FROM answers;
SELECT function, argument, when_null, CASE WHEN NOT never_empty THEN when_empty END AS when_empty
FROM read_committed ORDER BY function, arguments, place;
-- The other isolation levels give the same answers.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM answers EXCEPT SELECT * FROM read_committed;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM answers EXCEPT SELECT * FROM read_committed;
COMMIT;
-- Nothing of it is left.
SELECT count(*) FROM idem_records WHERE scope = 'arguments' OR key = 'k' AND scope = 'default';
SELECT count(*) FROM idem_scopes WHERE scope = 'arguments';
SELECT count(*) FROM idem_producers WHERE stream = 'arguments';
DROP VIEW answers;
DROP FUNCTION call_alone, call_with;
DROP VIEW arguments;
SELECT count(*) FROM idem_expiries;
SELECT version, count(*) FROM idem_machines GROUP BY version;
SELECT status, v FROM judged_table;
SELECT version, note FROM versioned_table;
DROP TABLE judged_table, versioned_table;
DELETE FROM idem_machines;
DROP TABLE plain_table, plain_values, empty_values, read_committed;
DROP ROLE regress_idem_argument;
