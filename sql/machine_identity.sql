-- Which row an event and a history belong to, however it is named.
SELECT idem_machine_define('turn', '{a}', '{{a,b,next},{b,c,next},{c,a,next}}');

-- Without a primary key nothing says that two unique keys are one row's.
CREATE TABLE loose (id integer NOT NULL UNIQUE, email text UNIQUE, status text DEFAULT 'a');
SELECT idem_machine_attach('loose', 'status', 'turn');
INSERT INTO loose VALUES (1, 'x');
SELECT * FROM idem_fire('loose', '{"id": 1}', 'next', 'e1');
SELECT * FROM idem_fire('loose', '{"email": "x"}', 'next');

-- A key whose column is called something else now.
CREATE TABLE renamed (id integer PRIMARY KEY, status text DEFAULT 'a');
SELECT idem_machine_attach('renamed', 'status', 'turn', history => true);
INSERT INTO renamed VALUES (1);
SELECT * FROM idem_fire('renamed', '1', 'next', 'e1');
ALTER TABLE renamed RENAME id TO number;
SELECT * FROM idem_fire('renamed', '1', 'next', 'e1');
SELECT from_state, to_state, event_id FROM idem_history_of('renamed', '{"number": 1}');

-- A row of a child, by way of its parent.
CREATE TABLE parent (id integer PRIMARY KEY, status text DEFAULT 'a');
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT idem_machine_attach('child', 'status', 'turn', history => true);
SELECT idem_machine_attach('parent', 'status', 'turn', history => true);
INSERT INTO child VALUES (1);
INSERT INTO parent VALUES (2);
SELECT * FROM idem_fire('parent', '1', 'next', 'e1', '"data"');
SELECT * FROM idem_fire('child', '1', 'next', 'e1', '"data"');
SELECT * FROM idem_fire('parent', '2', 'next', 'e1', '"data"');
SELECT attachment, key, from_state, to_state, event_id, data FROM idem_history ORDER BY id;
SELECT from_state, to_state FROM idem_history_of('parent', '1');

-- Equal values that are written differently.
CREATE TABLE written (a numeric, b text, status text DEFAULT 'a', PRIMARY KEY (a, b));
SELECT idem_machine_attach('written', 'status', 'turn');
INSERT INTO written VALUES (1.50, 'q');
SELECT * FROM idem_fire('written', '{"a": 1.5, "b": "q"}', 'next', 'e1');
SELECT * FROM idem_fire('written', '{"a": "1.500", "b": "q"}', 'next', 'e1');

-- A WHEN clause that names what cannot be a machine or a status.
CREATE TABLE strange (id integer PRIMARY KEY, status text, number integer);
INSERT INTO strange VALUES (1, 'a', 5);
CREATE TRIGGER judge AFTER UPDATE ON strange FOR EACH ROW WHEN (NEW.status IS NOT NULL AND NEW.number IS NOT NULL)
    EXECUTE FUNCTION idem_transition_check('', '', 'row_machine');
UPDATE strange SET status = 'b';
DROP TRIGGER judge ON strange;
CREATE TRIGGER judge AFTER UPDATE ON strange FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION idem_transition_check('turn', '');
UPDATE strange SET status = 'b';
DROP TRIGGER judge ON strange;
CREATE TRIGGER judge AFTER UPDATE ON strange FOR EACH ROW WHEN (OLD.tableoid IS NOT NULL)
    EXECUTE FUNCTION idem_transition_check('turn', '');
UPDATE strange SET status = 'b';
SELECT rel FROM idem_machine_attachments WHERE rel = 'strange'::regclass;

DROP TABLE loose, renamed, child, parent, written, strange;
TRUNCATE idem_history;
DELETE FROM idem_records;
DELETE FROM idem_machines;
