-- Rows that name their machine, and rows that keep the version of it under which they were born.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('loan', '{applied}', '{{applied,granted,grant},{granted,repaid,repay}}'),
    idem_machine_define('lease', '{applied}', '{{applied,running,start},{running,ended,end}}');
-- Tenants: a column names the row's machine; where it is empty, the one that was attached is meant, if any.
CREATE TABLE deals (id integer PRIMARY KEY, status text, kind varchar(200));
SELECT idem_machine_attach('deals', 'status', 'loan', machine_col => 'kind', history => true);
SELECT machine, machine_col, version_col FROM idem_machine_attachments;
INSERT INTO deals VALUES (1, 'applied', 'loan'), (2, 'applied', 'lease'), (3, 'applied', NULL);
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO deals VALUES (4, ''applied'', ''never'')',
    'INSERT INTO deals VALUES (4, ''applied'', '''')',
    'INSERT INTO deals VALUES (4, ''applied'', repeat(''x'', 129))',
    'INSERT INTO deals VALUES (4, ''running'', ''lease'')',
    'UPDATE deals SET status = ''granted''', 'UPDATE deals SET status = ''running''',
    'UPDATE deals SET status = ''granted'' WHERE id <> 2',
    'SELECT idem_fire(''deals'', ''2'', ''start'')', 'SELECT idem_fire(''deals'', ''2'', ''repay'')',
    'SELECT idem_fire(''deals'', ''3'', ''repay'')']) AS call;
-- A row goes over to another machine if it is in a state that this has as well; with a change in the same statement,
-- that is one of the former machine.
SELECT attempt(call) FROM unnest(ARRAY['UPDATE deals SET kind = ''lease'' WHERE id = 1',
    'UPDATE deals SET kind = ''lease'', status = ''running'' WHERE id = 1',
    'UPDATE deals SET kind = ''never'' WHERE id = 1',
    'UPDATE deals SET kind = ''loan'' WHERE id = 3']) AS call;
INSERT INTO deals VALUES (5, 'applied', 'loan');
UPDATE deals SET kind = 'lease' WHERE id = 5;
UPDATE deals SET status = 'running' WHERE id = 5;
SELECT key, machine, machine_version, from_state, to_state, event FROM idem_history ORDER BY id;
SELECT * FROM idem_machine_validate('deals');
SELECT idem_machine_diagram('lease', rel => 'deals');
-- The definition of one machine is its own rows' business.
SELECT attempt($$SELECT idem_machine_define('lease', '{applied}', '{}')$$);
SELECT idem_machine_define('lease', '{applied}', '{{applied,running,start},{running,ended,end},{ended,running,renew}}');
SELECT attempt($$SELECT idem_machine_migrate('deals', 'status', '{"running": "ended"}')$$) AS of_no_machine,
    attempt($$SELECT idem_machine_migrate('deals', 'status', '{"running": "ended"}',
    machine => 'loan')$$) AS of_the_other,
    attempt($$SELECT idem_machine_migrate('deals', 'status', '{"running": "ended"}',
    machine => 'lease')$$) AS of_its_own;
-- No machine for rows that name none.
SELECT attempt($$SELECT idem_machine_attach('deals', 'status', NULL, machine_col => 'kind')$$);
UPDATE deals SET kind = 'loan' WHERE kind IS NULL;
SELECT idem_machine_attach('deals', 'status', NULL, machine_col => 'kind', history => true);
SELECT attempt('INSERT INTO deals VALUES (6, ''applied'', NULL)'), attempt('UPDATE deals SET kind = NULL WHERE id = 2');
SELECT id, status, kind FROM deals ORDER BY id;
-- The column is renamed along with the other.
ALTER TABLE deals RENAME COLUMN kind TO machine;
ALTER TABLE deals RENAME COLUMN status TO kind;
SELECT attempt('UPDATE deals SET kind = ''applied'' WHERE id = 2');
SELECT col, machine_col FROM idem_machine_attachments;
DROP TABLE deals;
DELETE FROM idem_history;

-- A new row gets the newest version, and keeps it; other rows have other ones.
CREATE TABLE loans (id integer PRIMARY KEY, status text, v integer);
SELECT idem_machine_attach('loans', 'status', 'loan', version_col => 'v', history => true);
INSERT INTO loans VALUES (1, 'applied'), (2, 'applied');
SELECT idem_machine_define('loan', '{applied}',
    '{{applied,checked,check},{checked,granted,grant},{granted,repaid,repay}}');
INSERT INTO loans VALUES (3, 'applied');
COPY loans (id, status) FROM stdin;
4	applied
\.
INSERT INTO loans (id, status) VALUES (1, 'applied') ON CONFLICT (id) DO UPDATE SET status = 'granted';
SELECT attempt(call) FROM unnest(ARRAY['UPDATE loans SET status = ''granted'' WHERE id = 3',
    'UPDATE loans SET status = ''checked'' WHERE id = 2',
    'UPDATE loans SET status = ''checked'' WHERE id = 3', 'SELECT idem_fire(''loans'', ''2'', ''grant'')',
    'SELECT idem_fire(''loans'', ''2'', ''check'')', 'SELECT idem_fire(''loans'', ''4'', ''check'')']) AS call;
SELECT event, to_state FROM idem_allowed_events('loans', '3');
-- A row may be born under an older version on purpose, but not under one that does not exist.
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO loans VALUES (5, ''applied'', 1)',
    'INSERT INTO loans VALUES (6, ''applied'', 3)',
    'INSERT INTO loans VALUES (7, ''applied'', -1)',
    'INSERT INTO loans VALUES (8, ''checked'', 1)', 'INSERT INTO loans VALUES (6, ''applied'', 2)']) AS call;
SELECT left(attempt('INSERT INTO loans VALUES (7, ''applied'', 0)'), 5);
-- The version may be changed like a column, if the row's state exists there.
SELECT attempt(call) FROM unnest(ARRAY['UPDATE loans SET v = 2 WHERE id = 5', 'UPDATE loans SET v = 1 WHERE id = 3',
    'UPDATE loans SET v = 7 WHERE id = 5', 'UPDATE loans SET v = NULL WHERE id = 5']) AS call;
SELECT * FROM loans ORDER BY id;
SELECT key, machine_version, from_state, to_state, event FROM idem_history ORDER BY id;
SELECT * FROM idem_machine_validate('loans');
-- A state that the newest version has no longer stays where rows are pinned.
SELECT idem_machine_define('loan', '{applied}', '{{applied,granted,grant},{granted,closed,close}}');
UPDATE loans SET status = 'granted' WHERE id = 3;
SELECT id, status, v FROM loans ORDER BY id;

-- Migration to the newest version, or to another one: all rows, or some at a time; states that are gone are mapped, and
-- nothing else may go with them.
UPDATE loans SET status = 'repaid' WHERE id = 1;
DELETE FROM idem_history;
SELECT attempt(call) FROM unnest(ARRAY['SELECT idem_machine_migrate(''loans'', ''status'')',
    'SELECT idem_machine_migrate(''loans'', ''status'', ''{"repaid": "nonsense"}'')',
    'SELECT idem_machine_migrate(''loans'', ''status'', ''[]'')',
    'SELECT idem_machine_migrate(''loans'', ''status'', ''{"repaid": 1}'')',
    'SELECT idem_machine_migrate(''loans'', ''status'', ''{"repaid": null}'')',
    'SELECT idem_machine_migrate(''loans'', ''status'', version => 9)',
    'SELECT idem_machine_migrate(''loans'', ''status'', version => 0)',
    'SELECT idem_machine_migrate(''loans'', ''status'', max_rows => 0)',
    'SELECT idem_machine_migrate(''loans'', ''status'', max_rows => -1)',
    'SELECT idem_machine_migrate(''loans'', ''status'', machine => ''lease'')',
    'SELECT idem_machine_migrate(''loans'', ''v'')',
    'SELECT idem_machine_migrate(''loans'', NULL)', 'SELECT idem_machine_migrate(NULL, ''status'')']) AS call;
SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "checked": "applied"}', max_rows => 2);
SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "checked": "applied"}', max_rows => 2);
SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "checked": "applied"}');
SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "checked": "applied"}') AS again;
SELECT id, status, v FROM loans ORDER BY id;
SELECT key, machine_version, from_state, to_state, event FROM idem_history ORDER BY key, id;
SELECT idem_machine_migrate('loans', 'status', '{"closed": "repaid"}', version => 1) AS back;
SELECT id, status, v FROM loans ORDER BY id;
-- A migration asks no guard and takes no arrow, but only its own rows go where it says.
CREATE FUNCTION never(loans) RETURNS text LANGUAGE sql AS $$ SELECT 'never'::text $$;
SELECT idem_machine_attach('loans', 'status', 'loan', version_col => 'v', guards => '{"grant": "never"}');
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE loans SET status = 'applied' WHERE id = 2 AND status = 'granted';
    RETURN NULL;
END $$;
CREATE TRIGGER meddle AFTER UPDATE ON loans FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION meddle();
SELECT attempt($$SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "applied": "granted"}')$$);
DROP TRIGGER meddle ON loans;
SELECT idem_machine_migrate('loans', 'status', '{"repaid": "closed", "applied": "granted"}');
SELECT id, status, v FROM loans ORDER BY id;
-- Rows of before the column was there follow the newest version until they are migrated.
CREATE TABLE old (id integer PRIMARY KEY, status text);
INSERT INTO old VALUES (1, 'applied'), (2, 'applied');
ALTER TABLE old ADD COLUMN v integer;
SELECT idem_machine_attach('old', 'status', 'loan', version_col => 'v');
UPDATE old SET status = 'granted' WHERE id = 1;
SELECT idem_machine_migrate('old', 'status', version => 1);
SELECT attempt('UPDATE old SET status = ''repaid'' WHERE id = 1'),
    attempt('UPDATE old SET status = ''closed'' WHERE id = 2');
DROP TABLE loans, old CASCADE;
DROP FUNCTION meddle;

-- Without a version column only states are moved, each row once, and all of them in the newest version.
CREATE TABLE steps (id integer PRIMARY KEY, status text) PARTITION BY HASH (id);
CREATE TABLE steps_0 PARTITION OF steps FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE steps_1 PARTITION OF steps FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT idem_machine_define('steps', '{a,b,c}', '{{a,b},{b,c}}'),
    idem_machine_attach('steps', 'status', 'steps', history => true);
INSERT INTO steps VALUES (1, 'a'), (2, 'b'), (3, 'c');
DELETE FROM idem_history;
SELECT attempt($$SELECT idem_machine_migrate('steps', 'status')$$),
    attempt($$SELECT idem_machine_migrate('steps', 'status', '{}')$$),
    attempt($$SELECT idem_machine_migrate('steps', 'status', '{"a": "b"}', version => 1)$$);
SELECT idem_machine_migrate('steps', 'status', '{"a": "b", "b": "c", "c": "a"}');
SELECT * FROM steps ORDER BY id;
SELECT idem_machine_migrate('steps', 'status', '{"nowhere": "b"}');
SELECT key, from_state, to_state FROM idem_history ORDER BY key;
SELECT idem_machine_migrate('steps', 'status', '{"a": "c"}', max_rows => 1) AS one,
    idem_machine_migrate('steps', 'status', '{"a": "c"}') AS none;
-- Definition and migration in one transaction leave nobody behind.
BEGIN;
SELECT idem_machine_define('steps', '{a,b,c}', '{{a,b},{b,c},{c,d}}');
SELECT idem_machine_migrate('steps', 'status', '{"b": "d", "c": "d"}');
SELECT idem_machine_define('steps', '{a}', '{{a,d}}');
COMMIT;
SELECT * FROM steps ORDER BY id;
SELECT * FROM idem_machine_validate('steps');
DROP TABLE steps;

-- Both columns at once, on a table whose partitions have them in another order.
CREATE TABLE both_columns (id integer, status text, kind text, v integer) PARTITION BY LIST (id);
CREATE TABLE both_1 (v integer, kind text, gone text, id integer, status text);
ALTER TABLE both_1 DROP COLUMN gone;
ALTER TABLE both_columns ATTACH PARTITION both_1 FOR VALUES IN (1);
CREATE TABLE both_2 PARTITION OF both_columns FOR VALUES IN (2);
SELECT idem_machine_attach('both_columns', 'status', 'loan', machine_col => 'kind', version_col => 'v');
INSERT INTO both_columns VALUES (1, 'applied', NULL, NULL), (2, 'applied', 'lease', NULL), (1, 'applied', 'lease', 1);
SELECT * FROM both_columns ORDER BY id, v;
UPDATE both_columns SET id = 3 - id;
SELECT attempt('UPDATE both_columns SET status = ''running'''),
    attempt('UPDATE both_columns SET status = ''running'' WHERE kind = ''lease''');
SELECT * FROM both_columns ORDER BY id, v;
SELECT * FROM idem_machine_validate('both_columns');
-- A trigger of the user that says which machine it is comes before the version.
CREATE FUNCTION to_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.kind := 'lease'; RETURN NEW; END $$;
CREATE TRIGGER to_lease BEFORE INSERT ON both_2 FOR EACH ROW EXECUTE FUNCTION to_lease();
INSERT INTO both_columns VALUES (2, 'applied', 'loan', NULL) RETURNING kind, v;
DROP TABLE both_columns;
DROP FUNCTION to_lease;
DELETE FROM idem_machines;
DELETE FROM idem_history;
