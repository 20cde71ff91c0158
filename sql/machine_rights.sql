-- Whose rights a state machine needs, and what it gives to nobody.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_writer;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_operator;
SELECT idem_grant('regress_idem_app'), idem_grant('regress_idem_operator', true);
CREATE SCHEMA shop AUTHORIZATION regress_idem_owner;
GRANT USAGE ON SCHEMA shop TO regress_idem_writer, regress_idem_app, regress_idem_operator;
CREATE TABLE shop.orders (id integer PRIMARY KEY, status text DEFAULT 'new');
ALTER TABLE shop.orders OWNER TO regress_idem_owner;
SELECT idem_machine_attach('shop.orders', 'status', 'order', history => true);
GRANT SELECT, INSERT, UPDATE, DELETE ON shop.orders TO regress_idem_writer, regress_idem_app;

-- Whoever may write the table may write it: judged, with a history, and without any right to the extension.
SET ROLE regress_idem_writer;
INSERT INTO shop.orders VALUES (1), (2);
UPDATE shop.orders SET status = 'paid' WHERE id = 1;
SELECT attempt('UPDATE shop.orders SET status = ''shipped'' WHERE id = 2');
SELECT call, left(attempt(call), 5) AS answer FROM unnest(ARRAY['SELECT count(*) FROM idem_history',
    'SELECT count(*) FROM idem_machines',
    'DELETE FROM idem_machines', 'INSERT INTO idem_history SELECT * FROM idem_history',
    'SELECT nextval(''idem_history_ids'')',
    'SELECT idem_fire(''shop.orders'', ''1'', ''ship'')', 'SELECT idem_machine_define(''order'', ''{a}'', ''{}'')',
    'SELECT idem_machine_attach(''shop.orders'', ''status'', ''order'')',
    'SELECT idem_machine_detach(''shop.orders'', ''status'')',
    'SELECT idem_machine_validate(''shop.orders'')',
    'SELECT idem_machine_migrate(''shop.orders'', ''status'', ''{"new": "paid"}'')',
    'SELECT idem_allowed_events(''shop.orders'', ''1'')', 'SELECT idem_history_of(''shop.orders'', ''1'')',
    'SELECT idem_can_transition(''order'', ''new'', ''paid'')', 'SELECT idem_machine_diagram(''order'')',
    'SELECT idem_machine_states(''order'')',
    'SELECT count(*) FROM idem_machine_attachments', 'CREATE TEMPORARY TABLE own (status text)',
    'CREATE TRIGGER own AFTER UPDATE ON own FOR EACH ROW EXECUTE FUNCTION idem_transition_check(''order'', ''status'')',
    'ALTER TABLE shop.orders DISABLE TRIGGER _idem_status_change', 'SET session_replication_role = replica']) AS call;
-- Tables of one's own in front of ours change nothing.
CREATE TEMPORARY TABLE idem_machines AS SELECT 'order'::text AS name, 9 AS version,
    E'stateDiagram-v2\n[*] --> x'::text AS diagram;
CREATE TEMPORARY TABLE idem_history (a integer);
CREATE TEMPORARY TABLE idem_changes (a integer);
SELECT attempt('UPDATE shop.orders SET status = ''x'' WHERE id = 2');
UPDATE shop.orders SET status = 'paid' WHERE id = 2;
DROP TABLE pg_temp.idem_machines, pg_temp.idem_history, idem_changes, own;
-- Events are for applications, definitions for operators; tables for their owners.
SET ROLE regress_idem_app;
SELECT call, left(attempt(call), 5) AS answer FROM unnest(ARRAY['SELECT idem_fire(''shop.orders'', ''1'', ''ship'')',
    'SELECT count(*) FROM idem_allowed_events(''shop.orders'', ''1'')',
    'SELECT count(*) FROM idem_history_of(''shop.orders'', ''1'')',
    'SELECT idem_machine_diagram(''order'')', 'SELECT idem_machine_diagram(''order'', rel => ''shop.orders'')',
    'SELECT idem_machine_define(''order'', ''{a}'', ''{}'')', 'SELECT idem_machine_validate(''shop.orders'')',
    'SELECT count(*) FROM idem_machine_attachments', 'SELECT count(*) FROM idem_history']) AS call;
SET ROLE regress_idem_operator;
SELECT call, left(attempt(call), 5) AS answer FROM unnest(ARRAY[
    'SELECT idem_machine_define(''theirs'', ''{a}'', ''{}'')',
    'SELECT count(*) FROM idem_machine_attachments', 'SELECT count(*) FROM idem_machines',
    'SELECT count(*) FROM idem_history',
    'DELETE FROM idem_history', 'UPDATE idem_machines SET diagram = ''''',
    'SELECT idem_fire(''shop.orders'', ''1'', ''ship'')',
    'SELECT idem_machine_attach(''shop.orders'', ''status'', ''order'')',
    'SELECT idem_machine_detach(''shop.orders'', ''status'')',
    'SELECT idem_machine_migrate(''shop.orders'', ''status'', ''{"new": "paid"}'')',
    'SELECT idem_machine_validate(''shop.orders'')',
    'SELECT idem_allowed_events(''shop.orders'', ''1'')', 'SELECT idem_history_of(''shop.orders'', ''1'')',
    'SELECT idem_machine_diagram(''order'', rel => ''shop.orders'')']) AS call;
-- What an operator must not read is not told when a state cannot go either, but that and how many rows there are.
SELECT attempt('SELECT idem_machine_define(''order'', ''{new}'', ''{{new,paid}}'')');
RESET ROLE;
SELECT name, version, replace(defined_by, current_user, 'superuser') AS defined_by
    FROM idem_machines ORDER BY name, version;
SELECT key, from_state, to_state, role FROM idem_history ORDER BY id;

-- A function with its owner's rights gives them to those who may call it.
SET ROLE regress_idem_owner;
CREATE FUNCTION shop.ship(id integer) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_temp AS $$
    UPDATE shop.orders SET status = 'shipped' WHERE id = $1 RETURNING status
$$;
REVOKE ALL ON shop.orders FROM regress_idem_writer;
SET ROLE regress_idem_writer;
SELECT shop.ship(2), attempt('UPDATE shop.orders SET status = ''shipped''') AS direct;
RESET ROLE;
SELECT role FROM idem_history WHERE key = '{"id": 2}' AND to_state = 'shipped';
-- The owner of a table that was taken the right to write it, or who has row security forced upon, keeps being judged.
SET ROLE regress_idem_owner;
INSERT INTO shop.orders VALUES (5), (6);
ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one ON shop.orders USING (id <> 6);
SELECT attempt('UPDATE shop.orders SET status = ''shipped'' WHERE id = 5');
-- Rows that its owner does not see are counted nevertheless, since the machine is theirs too.
RESET ROLE;
GRANT EXECUTE ON FUNCTION idem_machine_validate(regclass, name), idem_transition_check(), idem_machine_attach(regclass,
    name, text, boolean, jsonb, boolean, boolean, name, name, boolean) TO regress_idem_owner;
SET session_replication_role = replica;
UPDATE shop.orders SET status = 'lost' WHERE id = 6;
RESET session_replication_role;
SELECT * FROM idem_machine_validate('shop.orders');
SET ROLE regress_idem_owner;
SELECT * FROM idem_machine_validate('shop.orders');
SELECT attempt($$SELECT idem_machine_attach('shop.orders', 'status', 'order', history => true)$$);
RESET ROLE;
UPDATE shop.orders SET status = status WHERE id = 6;
DELETE FROM shop.orders WHERE id = 6;
SET ROLE regress_idem_owner;
SELECT attempt($$SELECT idem_machine_attach('shop.orders', 'status', 'order', history => true)$$);
UPDATE shop.orders SET status = 'paid' WHERE id = 5;
RESET ROLE;
SELECT key, from_state, to_state, role FROM idem_history WHERE key = '{"id": 5}' ORDER BY id;
DROP SCHEMA shop CASCADE;
DROP OWNED BY regress_idem_owner, regress_idem_app, regress_idem_operator, regress_idem_writer;
DROP ROLE regress_idem_owner, regress_idem_writer, regress_idem_app, regress_idem_operator;
DELETE FROM idem_machines;
DELETE FROM idem_history;
