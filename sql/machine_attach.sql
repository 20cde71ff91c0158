-- Attaching a machine to a column: what can hold states, what is refused, and what attaching again or by hand means.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION attach(rel text, col text DEFAULT 'status', machine text DEFAULT 'order', more text DEFAULT '')
    RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT idem_machine_attach(%L, %L, %L %s)', rel, col, machine, more))
$$;
CREATE VIEW triggers AS
    SELECT tgrelid::regclass AS rel, tgname, tgenabled, (tgtype & 1)::boolean AS row FROM pg_trigger
    WHERE tgname LIKE '\_idem%' ORDER BY tgrelid::regclass::text COLLATE "C", tgname;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel}}');
SELECT idem_machine_define('number', '{1}', '{{1,2,pay},{2,30,ship},{1,4,cancel}}');

-- What can hold states: each type is judged at birth and on change, by UPDATE and by event.
CREATE TYPE status AS ENUM ('new', 'paid', 'shipped', 'cancelled', 'unused');
CREATE DOMAIN status_text AS text NOT NULL CHECK (VALUE <> 'shipped');
CREATE DOMAIN status_domain AS status;
CREATE DOMAIN domain_over_domain AS status_domain CHECK (VALUE::text <> 'unused');
CREATE DOMAIN number_domain AS smallint;
CREATE TABLE types (type text PRIMARY KEY, machine text, birth text, target text, other text);
INSERT INTO types SELECT type, 'order', 'new', 'paid', 'shipped' FROM unnest(ARRAY['text', 'varchar', 'varchar(9)',
    'text COLLATE "C"', 'status', 'status_text', 'status_domain', 'domain_over_domain']) AS type
UNION ALL SELECT type, 'number', '1', '2', '30' FROM unnest(ARRAY['smallint', 'integer', 'bigint',
    'number_domain']) AS type;
CREATE FUNCTION use(type text, machine text, birth text, target text, other text) RETURNS TABLE (step text, answer text)
    LANGUAGE plpgsql AS $$
DECLARE
    steps text[] := ARRAY['attach', format('SELECT idem_machine_attach(''typed'', ''status'', %L)', machine),
        'birth', format('INSERT INTO typed VALUES (1, %L), (2, %1$L)', birth),
        'birth elsewhere', format('INSERT INTO typed VALUES (3, %L)', target),
        'jump', format('UPDATE typed SET status = %L WHERE id = 1', other),
        'change', format('UPDATE typed SET status = %L WHERE id = 1', target),
        'same', format('UPDATE typed SET status = %L WHERE id = 1', target),
        'null', 'UPDATE typed SET status = NULL WHERE id = 1',
        'event', 'SELECT idem_fire(''typed'', ''2'', ''pay'')', 'again', 'SELECT idem_fire(''typed'', ''2'', ''pay'')',
        'on', 'SELECT idem_fire(''typed'', ''2'', ''ship'')', 'allowed', 'SELECT idem_allowed_events(''typed'', ''1'')',
        'rows', 'SELECT string_agg(format(''%s %s'', id, status), '', '' ORDER BY id) FROM typed'];
BEGIN
    EXECUTE format('CREATE TABLE typed (id integer PRIMARY KEY, status %s)', type);
    FOR i IN 1..cardinality(steps) BY 2 LOOP
        step := steps[i];
        answer := attempt(steps[i + 1]);
        RETURN NEXT;
    END LOOP;
    DROP TABLE typed;
END $$;
SELECT step, answer, string_agg(type, ', ' ORDER BY type COLLATE "C") AS types
FROM types, LATERAL use(type, machine, birth, target, other) WITH ORDINALITY AS u (step, answer, place)
GROUP BY place, step, answer ORDER BY place, answer COLLATE "C";
-- A label that is added, or renamed, is another state; so is the text of a number that is written otherwise.
CREATE TABLE labels (id integer PRIMARY KEY, status status);
SELECT attach('labels');
INSERT INTO labels VALUES (1, 'new'), (2, 'new');
ALTER TYPE status ADD VALUE 'held';
UPDATE labels SET status = 'held' WHERE id = 1;
\echo :SQLSTATE
SELECT idem_machine_define('order', '{new}',
    '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel},{new,held,hold}}');
UPDATE labels SET status = 'held' WHERE id = 1;
SELECT * FROM idem_fire('labels', '2', 'hold');
-- A label that is not committed yet is not written by events either: an index that had it would outlive it.
CREATE INDEX ON labels (status);
INSERT INTO labels SELECT i, 'new' FROM generate_series(3, 9) AS i;
BEGIN;
ALTER TYPE status ADD VALUE 'lost' BEFORE 'paid';
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel},
    {new,held,hold},{new,lost,lose}}');
SELECT left(attempt($$UPDATE labels SET status = 'lost' WHERE id = 3$$), 5) AS by_update,
    left(attempt($$SELECT idem_fire('labels', '3', 'lose')$$), 5) AS by_event,
    left(attempt($$SELECT idem_machine_migrate('labels', 'status', '{"new": "lost"}')$$), 5) AS by_migration;
ROLLBACK;
SELECT attempt($$UPDATE labels SET status = 'paid' WHERE id > 3 AND status = 'new'$$);
DELETE FROM labels WHERE id > 2;
ALTER TYPE status RENAME VALUE 'held' TO 'on hold';
SELECT * FROM idem_machine_validate('labels', 'status');
UPDATE labels SET status = 'paid' WHERE id = 1;
\echo :SQLSTATE
SELECT attempt($$SELECT idem_fire('labels', '{"id": 2}', 'pay')$$);
DROP TABLE labels;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel}}');
DELETE FROM idem_machines WHERE name = 'order' AND version = 2;

-- What cannot hold them, and what no trigger of ours would be fired for.
CREATE TABLE refused (id integer PRIMARY KEY, status text, padded char(9),
    generated text GENERATED ALWAYS AS (status) STORED,
    flag boolean, list text[], at timestamptz, "char" "char", n numeric, j jsonb, tiny smallint,
    number integer);
CREATE TABLE partitioned (id integer, status text) PARTITION BY LIST (id);
CREATE TABLE partition_1 PARTITION OF partitioned FOR VALUES IN (1) PARTITION BY LIST (status);
CREATE TABLE partition_2 PARTITION OF partition_1 DEFAULT;
CREATE VIEW a_view AS SELECT * FROM refused;
CREATE MATERIALIZED VIEW a_materialized_view AS SELECT * FROM refused;
CREATE FOREIGN DATA WRAPPER regress_idem_wrapper;
CREATE SERVER regress_idem_server FOREIGN DATA WRAPPER regress_idem_wrapper;
CREATE FOREIGN TABLE a_foreign_table (id integer, status text) SERVER regress_idem_server;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_composite AS (status text);
CREATE TABLE parent (id integer PRIMARY KEY, status text);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE keyless (id integer UNIQUE DEFERRABLE, status text);
SELECT rel, col, attach(rel, col) AS answer
FROM (VALUES ('refused', 'padded'), ('refused', 'generated'), ('refused', 'flag'), ('refused', 'list'),
    ('refused', 'at'), ('refused', 'char'), ('refused', 'n'), ('refused', 'j'), ('refused', 'tiny'),
    ('refused', 'number'), ('refused', 'never'), ('refused', 'ctid'), ('refused', ''), ('refused', NULL), ('refused',
    'Status'),
    ('partition_1', 'status'), ('partition_2', 'status'), ('a_view', 'status'), ('a_materialized_view', 'status'),
    ('a_foreign_table', 'status'), ('a_sequence', 'last_value'), ('a_composite', 'status'), ('refused_pkey', 'id'),
    ('parent', 'status'), ('pg_class', 'relname'), ('pg_catalog.pg_authid', 'rolname'),
    ('information_schema.tables', 'table_name'), ('0', 'status'), ('4294967295',
    'status'), (NULL, 'status')) AS v (rel, col);
SELECT machine, more, attach('refused', 'status', machine, more) AS answer
FROM (VALUES ('never', ''), ('', ''), (NULL, ''), (repeat('x', 129), ''), (NULL, ', machine_col => ''never'''),
    (NULL, ', machine_col => ''tiny'''), ('order', ', machine_col => ''tiny'''), ('order', ', version_col => ''tiny'''),
    ('order', ', version_col => ''never'''), ('order', ', version_col => ''status'''), ('order', ', guards => ''[]'''),
    ('order', ', guards => ''1'''), ('order', ', guards => ''{"pay": 1}'''),
    ('order', ', guards => ''{"pay": "never"}'''), ('order', ', guards => ''{"pay": "now"}'''),
    ('order', ', guards => ''{"never": "now"}'''), ('order', ', guards => ''{"paid --> new": "now"}''')) AS v (machine,
    more);
SELECT attach('keyless', more => ', history => true'), attach('keyless') AS without;
-- An enumeration without a label that the machine has; numbers that the type cannot hold, or that are no numbers.
CREATE TYPE short_status AS ENUM ('new', 'paid');
ALTER TABLE refused ADD COLUMN short short_status;
SELECT idem_machine_define('big', '{1}', '{{1,40000}}'), idem_machine_define('odd', '{01}', '{{01,2}}');
SELECT attach('refused', 'short'), attach('refused', 'tiny', 'big'), attach('refused', 'number', 'big'),
    attach('refused', 'number', 'odd');
SELECT idem_machine_detach('refused', 'number'), idem_machine_detach('refused', 'number') AS again,
    idem_machine_detach('refused', 'status') AS never;
SELECT attempt(call) FROM unnest(ARRAY[$$SELECT idem_machine_detach('refused', 'never')$$,
    $$SELECT idem_machine_detach('refused', NULL)$$, $$SELECT idem_machine_detach(NULL, 'status')$$,
    $$SELECT idem_machine_detach('a_view', 'status')$$, $$SELECT * FROM idem_machine_validate('refused')$$,
    $$SELECT * FROM idem_machine_validate('refused', 'status')$$]) AS call;
SELECT count(*) FROM triggers WHERE rel::text <> 'keyless';
DROP TABLE keyless;
-- Only the owner, and those who may act as the owner.
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_member IN ROLE regress_idem_owner;
CREATE ROLE regress_idem_other;
SELECT idem_grant('regress_idem_owner', true), idem_grant('regress_idem_other', true);
CREATE TABLE owned (id integer PRIMARY KEY, status text);
ALTER TABLE owned OWNER TO regress_idem_owner;
GRANT ALL ON owned TO regress_idem_other;
SET ROLE regress_idem_other;
SELECT attach('owned'), attempt($$SELECT idem_machine_detach('owned', 'status')$$) AS detach,
    attempt($$SELECT count(*) FROM idem_machine_validate('owned', 'status')$$) AS validate,
    attempt($$SELECT idem_machine_migrate('owned', 'status', '{"new": "paid"}')$$) AS migrate;
SET ROLE regress_idem_member;
SELECT attach('owned', more => ', history => true');
SET ROLE regress_idem_owner;
SELECT attach('owned', more => ', history => true'), attempt($$SELECT count(*)
    FROM idem_machine_validate('owned')$$) AS validate;
RESET ROLE;
DROP TABLE owned;
DROP OWNED BY regress_idem_owner, regress_idem_other;
DROP ROLE regress_idem_member, regress_idem_owner, regress_idem_other;

-- Children do not inherit triggers, so they come first; later ones are reported.
SELECT attach('child'), attach('parent');
CREATE TABLE grandchild () INHERITS (child);
SELECT * FROM idem_machine_validate('parent', 'status');
INSERT INTO child VALUES (1, 'new');
UPDATE parent SET status = 'shipped';
\echo :SQLSTATE
DROP TABLE parent CASCADE;
-- A temporary table has a machine as long as it lives.
CREATE TEMPORARY TABLE passing (id integer PRIMARY KEY, status text) ON COMMIT DELETE ROWS;
SELECT attach('passing');
INSERT INTO passing VALUES (1, 'paid');
\echo :SQLSTATE
DROP TABLE passing;

-- Rows that are there already are counted by state; what is not declared is refused, unless it is to be looked
-- at later.
INSERT INTO refused (id, status) VALUES (1, 'new'), (2, 'lost'), (3, 'lost'), (4, NULL), (5, 'shipped');
SELECT attach('refused');
SELECT attach('refused', more => ', allow_null => true');
SELECT attach('refused', more => ', validate => false');
SELECT * FROM idem_machine_validate('refused');
-- Such rows keep what they have: other columns may change, and the same value may be written.
UPDATE refused SET flag = true;
UPDATE refused SET status = status;
UPDATE refused SET status = 'lost' WHERE status = 'lost';
SELECT attempt('UPDATE refused SET status = ''paid'' WHERE id = 2'),
    attempt('UPDATE refused SET status = ''paid'' WHERE id = 4');
SELECT attempt('UPDATE refused SET status = ''new'' WHERE id = 4'),
    attempt('UPDATE refused SET status = NULL WHERE id = 2');
DELETE FROM refused;
-- What is wrong with triggers is said as well.
ALTER TABLE refused DISABLE TRIGGER _idem_status_birth;
ALTER TABLE refused ENABLE REPLICA TRIGGER _idem_status_change;
SELECT * FROM idem_machine_validate('refused');
DROP TRIGGER _idem_status_birth ON refused;
ALTER TABLE refused ENABLE TRIGGER _idem_status_change;
SELECT * FROM idem_machine_validate('refused');

-- Attaching again replaces the triggers, and mends them. The name under which history is kept stays that of the first
-- time, whatever the table and the column are called by then.
SELECT attach('refused', more => ', always => true, history => true');
SELECT * FROM triggers;
SELECT rel, col, history, always FROM idem_machine_attachments;
-- Then replicas judge as well, and keep a history.
SET session_replication_role = replica;
SELECT attempt('INSERT INTO refused (id, status) VALUES (70, ''paid'')'),
    attempt('INSERT INTO refused (id, status) VALUES (70, ''new'')'),
    attempt('UPDATE refused SET status = ''shipped''');
RESET session_replication_role;
SELECT key, to_state FROM idem_history;
DELETE FROM refused;
DELETE FROM idem_history;
SELECT attach('refused', more => ', allow_null => true');
SELECT * FROM triggers;
ALTER TABLE refused RENAME TO renamed;
ALTER TABLE renamed RENAME COLUMN status TO state;
SELECT attach('renamed', 'state', 'order', ', history => true');
INSERT INTO renamed (id, state) VALUES (1, 'new');
UPDATE renamed SET state = 'paid';
SELECT attempt('UPDATE renamed SET state = ''cancelled''');
SELECT rel, col, machine, history, allow_null, guards, attachment FROM idem_machine_attachments;
CREATE TABLE refused (id integer PRIMARY KEY, status text);
SELECT attach('refused', more => ', history => true');
INSERT INTO refused VALUES (1, 'new');
SELECT attachment, key, from_state, to_state FROM idem_history WHERE attachment ~ 'refused' ORDER BY id;
SELECT idem_machine_detach('refused', 'status'), idem_machine_detach('renamed', 'state');
SELECT count(*) FROM triggers;
UPDATE refused SET status = 'nonsense';
DROP TABLE refused;
-- The column went and came back, with its triggers and without; another took its name.
CREATE TABLE refused (id integer PRIMARY KEY, status text);
SELECT attach('refused', more => ', history => true');
ALTER TABLE refused DROP COLUMN status CASCADE;
ALTER TABLE refused ADD COLUMN status text;
SELECT attach('refused', more => ', history => true');
ALTER TABLE refused RENAME COLUMN status TO former_status;
ALTER TABLE refused ADD COLUMN status text;
SELECT attach('refused', more => ', history => true');
INSERT INTO refused VALUES (1, 'new', 'new');
SELECT attempt('UPDATE refused SET status = ''shipped'''), attempt('UPDATE refused SET former_status = ''shipped''');
-- A column with a machine keeps its type, and goes with the machine only.
SELECT left(attempt('ALTER TABLE refused ALTER COLUMN status TYPE varchar(20)'), 5) AS type,
    left(attempt('ALTER TABLE refused DROP COLUMN status'), 5) AS column;
DROP TABLE refused;

-- A partition that is taken off can have a machine of its own; its triggers of before are gone.
SELECT attempt('ALTER TABLE partitioned ADD PRIMARY KEY (id)') ~ '^0A000' AS refused_by_the_sub_partition;
SELECT idem_machine_detach('partitioned', 'status') AS never;
CREATE TABLE pieces (id integer PRIMARY KEY, status text) PARTITION BY RANGE (id);
CREATE TABLE piece_1 PARTITION OF pieces FOR VALUES FROM (0) TO (10);
CREATE TABLE piece_2 PARTITION OF pieces FOR VALUES FROM (10) TO (20);
SELECT attach('pieces', more => ', history => true');
SELECT rel, tgname, row FROM triggers;
ALTER TABLE pieces DETACH PARTITION piece_1;
SELECT attach('piece_1', more => ', history => true');
INSERT INTO piece_1 VALUES (1, 'new');
SELECT attempt('INSERT INTO piece_1 VALUES (2, ''paid'')');
SELECT idem_machine_detach('piece_1', 'status'), idem_machine_detach('pieces', 'status');
SELECT * FROM triggers;
DROP TABLE pieces, piece_1;

-- Attaching adds no index, so that a change of the status stays on its page.
CREATE TABLE hot (id integer PRIMARY KEY, status text, more text) WITH (fillfactor = 50);
SELECT attach('hot', more => ', history => true');
SELECT count(*) AS indexes FROM pg_index WHERE indrelid = 'hot'::regclass;
BEGIN;
INSERT INTO hot VALUES (1, 'new');
UPDATE hot SET status = 'paid';
UPDATE hot SET status = 'shipped';
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'hot';
COMMIT;
DROP TABLE hot;

DROP VIEW a_view;
DROP MATERIALIZED VIEW a_materialized_view;
DROP TABLE partitioned, types, renamed;
DROP FOREIGN DATA WRAPPER regress_idem_wrapper CASCADE;
DROP SEQUENCE a_sequence;
DROP TYPE a_composite, short_status;
DROP FUNCTION use;
DROP DOMAIN status_text, domain_over_domain, status_domain, number_domain;
DROP TYPE status;
DROP VIEW triggers;
DROP FUNCTION attach;
DELETE FROM idem_machines;
DELETE FROM idem_history;
