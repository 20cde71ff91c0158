-- Definitions of state machines: two ways to write one, versions, and what is refused.
\set SHOW_CONTEXT never

-- A diagram.
SELECT idem_machine_define('order', $$
stateDiagram-v2
    %% What a customer sees.
    direction LR
    [*] --> pending
    [*] --> paid
    pending --> paid : pay
    pending --> cancelled : cancel, expire
    pending --> cancelled : reject
    paid --> shipped
    shipped --> [*]
    state "On its way" as shipped
    note right of paid : money is here
$$);
SELECT * FROM idem_machine_states('order');
SELECT * FROM idem_machine_transitions('order');
-- The same by arrays is another text of the same machine; what is drawn is read back as the same.
SELECT idem_machine_define('by arrays', '{pending,paid}', '{{pending,paid,pay},{pending,cancelled,cancel},
    {pending,cancelled,expire},{pending,cancelled,reject},{paid,shipped,NULL}}');
SELECT * FROM idem_machine_transitions('order') EXCEPT SELECT * FROM idem_machine_transitions('by arrays');
SELECT idem_machine_define('by arrays', idem_machine_diagram('by arrays'));
SELECT idem_machine_define('by arrays', '{pending}', '{{pending,paid},{paid,shipped}}');
SELECT * FROM idem_machine_transitions('by arrays');
SELECT idem_machine_define('alone', '{only}', '{}');
SELECT * FROM idem_machine_states('alone');

-- Versions are kept, and counted for each machine. The same text, or one that differs in looks only, is no new version,
-- so that a deployment may define its machines every time.
SELECT name, version, defined_by = current_user AS by_me, defined_at <= clock_timestamp() AS in_time
FROM idem_machines ORDER BY name, version;
SELECT idem_machine_define('order', $$stateDiagram-v2
    [*] --> pending
    [*] --> paid
    pending --> paid : pay
    pending --> cancelled : cancel,expire , reject
    paid --> shipped
    state "On its way" as shipped
$$);
SELECT idem_machine_define('order', '{pending}', '{{pending,paid,pay},{pending,cancelled,cancel},{paid,shipped,ship},
    {shipped,delivered,deliver}}');
SELECT version, string_agg(state || CASE WHEN initial THEN ' i' ELSE '' END || CASE WHEN final THEN ' f' ELSE '' END,
    ', ') AS states
FROM generate_series(1, 2) AS version, idem_machine_states('order', version) GROUP BY version ORDER BY version;
-- Back to a former text is a version of its own: the number only grows.
SELECT idem_machine_define('order', (SELECT diagram FROM idem_machines WHERE name = 'order' AND version = 1));
SELECT idem_machine_define('order', (SELECT diagram FROM idem_machines WHERE name = 'order' AND version = 2));

-- Questions to a machine: a birth is a transition from NULL, the same state again is always allowed.
SELECT f AS from_state, t AS to_state, attempt(format('SELECT idem_can_transition(''order'', %L, %L)', f, t)) AS can,
    attempt(format('SELECT idem_check_transition(''order'', %L, %L)', f, t)) AS checked
FROM (VALUES ('pending', 'paid'), ('paid', 'pending'), ('paid', 'paid'), ('delivered', 'delivered'),
    ('delivered', 'paid'), (NULL, 'pending'), (NULL, 'paid'), (NULL, NULL), ('paid', NULL), ('paid', 'lost'),
    ('lost', 'paid'), ('lost', 'lost'), ('Paid', 'shipped'), ('', 'paid')) AS v (f, t);
SELECT idem_can_transition('order', NULL, 'paid', 1) AS in_version_1,
    idem_can_transition('order', NULL, 'paid', 2) AS in_version_2;
SELECT attempt(call) FROM unnest(ARRAY[$$SELECT idem_can_transition('order', 'paid', 'shipped', 5)$$,
    $$SELECT idem_can_transition('order', 'paid', 'shipped', 0)$$,
    $$SELECT idem_can_transition('order', 'paid', 'shipped', -1)$$,
    $$SELECT idem_can_transition('never', 'paid', 'shipped')$$, $$SELECT idem_can_transition(NULL, 'a', 'b')$$,
    $$SELECT idem_can_transition('', 'a', 'b')$$, $$SELECT idem_machine_diagram('never')$$,
    $$SELECT idem_machine_diagram('order', 'png')$$, $$SELECT * FROM idem_machine_states('order', 99)$$,
    $$SELECT * FROM idem_machine_transitions(NULL)$$]) AS call;

-- A mistake is placed by line and column.
SELECT replace(diagram, E'\n', ' ; ') AS diagram,
    attempt(format('SELECT idem_machine_define(''bad'', %L)', diagram)) AS answer
FROM unnest(ARRAY['', ' ', E'[*] --> a', E'stateDiagram-v2', E'stateDiagram-v2\na --> b',
    E'stateDiagram-v2\n[*] --> a\na -> b', E'stateDiagram-v2\n[*] --> a\n   a --> b : pay\n   a --> c : pay',
    E'stateDiagram-v2\n[*] --> a\na --> [*]\na --> b',
    E'stateDiagram-v2\n[*] --> a\na --> b :', E'stateDiagram-v2\n[*] --> a\na --> b : x,,y',
    E'stateDiagram-v2\n[*] --> a\nstate a {', E'stateDiagram-v2\n[*] --> a\na --> b c',
    E'stateDiagram-v2\n[*] --> a\nstate f <<fork>>', E'stateDiagram-v2\n[*] --> [*]',
    E'stateDiagram-v2\n[*] --> a\na --> state', E'stateDiagram-v2\n[*] --> größe\ngröße --> b : ö, é;',
    E'stateDiagram-v2\n[*] --> a\n\x01a --> b', E'flowchart LR\na --> b']) AS diagram;
SELECT initial, transitions, attempt(format('SELECT idem_machine_define(''bad'', %L::text[], %L::text[])', initial,
    transitions)) AS answer
FROM (VALUES ('{}', '{}'), ('{a}', '{a,b}'), ('{a}', '{{a}}'), ('{a}', '{{a,b,c,d}}'), ('{a}', '{{{a,b}}}'),
    ('{NULL}', '{{a,b}}'), ('{a}', '{{a,NULL}}'), ('{a}', '{{"",b}}'), ('{a}', '{{a,b,"x,y"}}'), ('{"a b"}',
    '{{"a b",b}}'),
    ('{b}', '{{a,b,x},{a,c,x}}'), ('{note}', '{{note,b}}'), (NULL, '{{a,b}}'),
    ('{a}', NULL)) AS v (initial, transitions);
SELECT name, attempt(format('SELECT idem_machine_define(%L, ''{a}'', ''{}'')', name)) AS answer
FROM unnest(ARRAY[NULL, '', repeat('x', 129), repeat('ß', 65)]) AS name;
SELECT attempt('SELECT idem_machine_define(''bad'', NULL::text)');
SELECT name FROM idem_machines WHERE name = 'bad';

-- Names take what a name may be: long, beyond ASCII, with quotes, backslashes and line ends.
SELECT idem_machine_define(repeat('ß', 64), '{größe.1}', '{{größe.1,日本,"schön grün"}}');
SELECT * FROM idem_machine_transitions(repeat('ß', 64));
SELECT idem_machine_define(E'it''s "a\\b"\n%s $1', '{a}', '{{a,b}}');
SELECT idem_can_transition(E'it''s "a\\b"\n%s $1', 'a', 'b');
SELECT attempt(format('SELECT idem_machine_define(''long'', %L, ''{}'')', ARRAY[repeat('x', n)])) AS answer
FROM unnest(ARRAY[128, 129]) AS n;
-- A thousand states, and not one more; a large diagram, and not a larger one.
SELECT idem_machine_define('thousand', '{s1}', array_agg(ARRAY['s' || i, 's' || i + 1, 'next']))
FROM generate_series(1, 999) AS i;
SELECT count(*), count(*) FILTER (WHERE initial) AS initial, count(*) FILTER (WHERE final) AS final
FROM idem_machine_states('thousand');
SELECT idem_can_transition('thousand', 's64', 's65') AND idem_can_transition('thousand', 's999', 's1000') AS near,
    idem_can_transition('thousand', 's64', 's66') OR idem_can_transition('thousand', 's1000', 's1') AS far;
SELECT attempt($$SELECT idem_machine_define('thousand', '{s1}', array_agg(ARRAY['s' || i, 's' || i + 1]))
    FROM generate_series(1, 1000) AS i$$);
SELECT attempt(format('SELECT idem_machine_define(''large'', %L)',
    rpad(E'stateDiagram-v2\n[*] --> a\n', bytes, '%'))) FROM unnest(ARRAY[262144, 262145]) AS bytes;
SELECT idem_machine_define('dense', '{s1}', array_agg(ARRAY['s' || a, 's' || b]))
FROM generate_series(1, 100) AS a, generate_series(1, 100) AS b WHERE a <> b;
SELECT count(*) FROM idem_machine_transitions('dense');
SELECT attempt($$SELECT idem_machine_define('dense', '{s1}', array_agg(ARRAY['s' || a, 's' || b]))
    FROM generate_series(1, 142) AS a, generate_series(1, 142) AS b WHERE a <> b$$);

-- A state that rows are in cannot be taken away: every such table, state and number is listed. Rows that are pinned to
-- a version, rows of other machines, and rows that have left the state do not stand in the way.
SELECT idem_machine_define('life', '{egg}', '{{egg,larva},{larva,pupa},{pupa,moth},{egg,eaten},{larva,eaten}}');
CREATE TABLE moths (id integer PRIMARY KEY, state text);
CREATE TABLE "More moths" (id integer PRIMARY KEY, "The state" text) PARTITION BY RANGE (id);
CREATE TABLE more_1 PARTITION OF "More moths" FOR VALUES FROM (0) TO (2);
CREATE TABLE more_2 PARTITION OF "More moths" DEFAULT;
CREATE TABLE pinned (id integer PRIMARY KEY, state text, v integer);
CREATE TABLE many (id integer PRIMARY KEY, state text, machine text);
SELECT idem_machine_attach('moths', 'state', 'life'), idem_machine_attach('"More moths"', 'The state', 'life'),
    idem_machine_attach('pinned', 'state', 'life', version_col => 'v'),
    idem_machine_attach('many', 'state', 'alone', machine_col => 'machine');
SET session_replication_role = replica;
INSERT INTO moths SELECT i, CASE WHEN i < 4 THEN 'pupa' WHEN i < 9 THEN 'larva' ELSE 'egg' END
FROM generate_series(1, 9) AS i;
INSERT INTO "More moths" VALUES (1, 'pupa'), (2, 'pupa'), (3, 'egg');
INSERT INTO pinned VALUES (1, 'pupa', 1);
INSERT INTO many VALUES (1, 'pupa', 'life'), (2, 'only', NULL), (3, 'pupa', 'other');
RESET session_replication_role;
SELECT regexp_split_to_table(attempt($$SELECT idem_machine_define('life', '{egg}', '{{egg,moth},{egg,eaten}}')$$),
    E' \\| |\n') AS answer ORDER BY answer COLLATE "C";
SELECT max(version) FROM idem_machines WHERE name = 'life';
-- Rows may only lose transitions, and a state that no row is in.
SELECT idem_machine_define('life', '{egg}', '{{egg,larva},{larva,pupa},{larva,eaten}}');
DROP TABLE "More moths";
DELETE FROM many WHERE id = 1;
SELECT idem_machine_define('life', '{egg}', '{{egg,larva}}');
DELETE FROM moths WHERE state = 'pupa';
SELECT idem_machine_define('life', '{egg}', '{{egg,larva}}');
SELECT id, state FROM pinned;
UPDATE pinned SET state = 'moth' RETURNING state, v;
-- A detached table is nobody's business.
SELECT idem_machine_detach('moths', 'state');
SELECT idem_machine_define('life', '{seed}', '{}');

-- A definition is rolled back with its transaction, and the number is used again, for another text; no session
-- remembers what never was.
BEGIN;
SELECT idem_machine_define('plan', '{a}', '{{a,b}}');
SAVEPOINT s;
SELECT idem_machine_define('plan', '{a}', '{{a,b},{b,c}}');
SELECT idem_can_transition('plan', 'b', 'c') AS newest, idem_can_transition('plan', 'b', 'c', 2) AS by_number;
ROLLBACK TO s;
SELECT attempt($$SELECT idem_can_transition('plan', 'b', 'c')$$) AS newest,
    attempt($$SELECT idem_can_transition('plan', 'b', 'c', 2)$$) AS by_number;
SELECT idem_machine_define('plan', '{a}', '{{a,b},{b,d}}');
SELECT idem_can_transition('plan', 'b', 'd') AS newest, idem_can_transition('plan', 'b', 'd', 2) AS by_number,
    attempt($$SELECT idem_can_transition('plan', 'b', 'c', 2)$$) AS former;
ROLLBACK;
SELECT attempt($$SELECT idem_can_transition('plan', 'a', 'b')$$);
SELECT idem_machine_define('plan', '{x}', '{}');
SELECT * FROM idem_machine_states('plan');

-- Drawings, with what is in a table.
CREATE TABLE drawn (id integer PRIMARY KEY, state text);
SELECT idem_machine_attach('drawn', 'state', 'order');
INSERT INTO drawn SELECT i, 'pending' FROM generate_series(1, 3) AS i;
UPDATE drawn SET state = 'paid' WHERE id = 1;
SELECT idem_machine_diagram('order', rel => 'drawn');
SELECT idem_machine_diagram('order', 'dot', rel => 'drawn', col => 'state');
SELECT attempt(call) FROM unnest(ARRAY[$$SELECT idem_machine_diagram('plan', rel => 'drawn')$$,
    $$SELECT idem_machine_diagram('order', rel => 'drawn', col => 'id')$$,
    $$SELECT idem_machine_diagram('order', rel => 'many')$$]) AS call;

DROP TABLE moths, pinned, many, drawn;
DELETE FROM idem_machines;
