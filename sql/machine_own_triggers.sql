-- Triggers of one's own with idem_transition_check: when they may fire, and what they must say.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text, other text, number integer);
CREATE FUNCTION with_trigger(definition text) RETURNS TABLE (birth text, jump text, pay text, null_state text)
    LANGUAGE plpgsql AS $$
BEGIN
    birth := attempt('CREATE TRIGGER own ' || definition);
    IF birth <> 'ok' THEN
        RETURN NEXT;
        RETURN;
    END IF;
    birth := attempt('INSERT INTO orders VALUES (1, ''shipped'')');
    DELETE FROM orders;
    SET LOCAL session_replication_role = replica;
    INSERT INTO orders VALUES (1, 'new');
    SET LOCAL session_replication_role = origin;
    jump := attempt('UPDATE orders SET status = ''shipped''');
    pay := attempt('UPDATE orders SET status = ''paid''');
    null_state := attempt('UPDATE orders SET status = NULL');
    DELETE FROM orders;
    RETURN NEXT;
    DROP TRIGGER own ON orders;
END $$;

-- After the fact, or before a change; not before a birth, nor for a statement, where nothing would be judged.
SELECT definition, t.* FROM unnest(ARRAY[
    $$AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$AFTER UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION idem_transition_check('order')$$,
    $$AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status',
    'allow_null')$$,
    $$BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$BEFORE UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order')$$,
    $$BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$AFTER UPDATE ON orders EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$BEFORE INSERT ON orders FOR EACH STATEMENT EXECUTE FUNCTION idem_transition_check('order', 'status')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check()$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order')$$,
    $$AFTER UPDATE OF status, other ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'never')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('never', 'status')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status', 'nonsense')$$,
    $$AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status', 'guard:pay')$$,
    $$BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status',
    'history')$$]) AS definition,
    with_trigger(definition) AS t;
SELECT attempt('SELECT idem_transition_check()');
DROP TABLE orders;

-- Deferred to the commit: each change is judged by itself, and what was refused takes the transaction back.
CREATE TABLE orders (id integer PRIMARY KEY, status text);
CREATE CONSTRAINT TRIGGER own AFTER INSERT OR UPDATE ON orders DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status');
BEGIN;
INSERT INTO orders VALUES (1, 'new');
UPDATE orders SET status = 'paid';
UPDATE orders SET status = 'shipped';
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2, 'new');
UPDATE orders SET status = 'shipped' WHERE id = 2;
UPDATE orders SET status = 'paid' WHERE id = 2;
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2, 'paid');
SAVEPOINT s;
DELETE FROM orders WHERE id = 2;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2, 'new');
SAVEPOINT s;
UPDATE orders SET status = 'shipped' WHERE id = 2;
ROLLBACK TO s;
UPDATE orders SET status = 'paid' WHERE id = 2;
COMMIT;
SELECT * FROM orders ORDER BY id;
DROP TABLE orders;
-- With history, which is written at the commit as well.
CREATE TABLE orders (id integer PRIMARY KEY, status text);
CREATE CONSTRAINT TRIGGER own AFTER INSERT OR UPDATE ON orders DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status', 'history');
CREATE TABLE with_month (id integer PRIMARY KEY, status text);
SELECT idem_machine_attach('with_month', 'status', 'order', history => true);
BEGIN;
INSERT INTO orders VALUES (1, 'new');
UPDATE orders SET status = 'paid';
SELECT count(*) FROM idem_history;
COMMIT;
SELECT attachment, key, from_state, to_state FROM idem_history ORDER BY id;
-- Such a table is known like another, and is not attached beside its own trigger.
SELECT rel, col, machine, history, attachment FROM idem_machine_attachments ORDER BY rel::text;
SELECT outcome, from_state, to_state FROM idem_fire('orders', '1', 'ship');
SELECT from_state, to_state, event FROM idem_history_of('orders', '1');
SELECT attempt($$SELECT idem_machine_attach('orders', 'status', 'order')$$),
    attempt($$SELECT idem_machine_detach('orders', 'status')$$);
SELECT * FROM idem_machine_validate('orders');
DROP TABLE orders, with_month;

-- Before other triggers have had their say the row is judged as it is then; an attached machine does it after them.
CREATE TABLE orders (id integer PRIMARY KEY, status text);
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.status := 'nonsense'; RETURN NEW; END $$;
CREATE TRIGGER a_judge BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status');
CREATE TRIGGER b_change BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION late();
INSERT INTO orders VALUES (1, 'new');
SELECT attempt('UPDATE orders SET status = ''paid'' RETURNING status');
SELECT * FROM idem_machine_validate('orders');
DROP TRIGGER b_change ON orders;
-- The column is renamed, or goes, or becomes something else.
UPDATE orders SET status = 'new';
ALTER TABLE orders RENAME COLUMN status TO state;
SELECT attempt('UPDATE orders SET state = ''paid''');
ALTER TABLE orders ADD COLUMN status boolean;
SELECT attempt('UPDATE orders SET state = ''paid''');
-- A trigger that is wrong bothers its own table only.
CREATE TABLE others (id integer PRIMARY KEY, status text);
SELECT idem_machine_attach('others', 'status', 'order');
SELECT rel, col FROM idem_machine_attachments;
INSERT INTO others VALUES (1, 'new');
SELECT attempt($$SELECT idem_machine_define('order', '{paid}', '{{paid,shipped}}')$$);
DROP TABLE orders, others;
-- A view cannot be judged.
CREATE TABLE orders (id integer PRIMARY KEY, status text);
CREATE VIEW a_view AS SELECT * FROM orders;
CREATE TRIGGER own INSTEAD OF UPDATE ON a_view FOR EACH ROW EXECUTE FUNCTION idem_transition_check('order', 'status');
INSERT INTO orders VALUES (1, 'new');
SELECT attempt('UPDATE a_view SET status = ''paid''');
DROP TABLE orders CASCADE;
-- What gives new rows their version is fired before they are stored, by attaching.
CREATE TABLE orders (id integer PRIMARY KEY, status text, v integer);
CREATE TRIGGER own AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION idem_pin_version('order', 'status',
    'row_version');
SELECT attempt('INSERT INTO orders VALUES (1, ''new'')');
DROP TRIGGER own ON orders;
CREATE TRIGGER own BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION idem_pin_version();
SELECT attempt('INSERT INTO orders VALUES (1, ''new'')');
DROP TRIGGER own ON orders;
CREATE TRIGGER own BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION idem_pin_version('order', 'status');
SELECT left(attempt('INSERT INTO orders VALUES (1, ''new'')'), 5);
DROP TABLE orders;
DROP FUNCTION with_trigger, late;
DELETE FROM idem_machines;
DELETE FROM idem_history;
