-- The history: a row for each real change, in the order of the changes, and nothing that did not happen.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{shipped,paid,return},
    {new,cancelled,cancel}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text NOT NULL DEFAULT 'new', note text);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
CREATE VIEW changes AS
    SELECT substring(attachment FROM '[^.]*.[^.]*$') AS attachment, key, from_state, to_state, event, event_id, data
    FROM idem_history ORDER BY id;

-- What is in it.
SET application_name = 'shop';
BEGIN;
INSERT INTO orders VALUES (1);
UPDATE orders SET status = 'paid';
SELECT outcome FROM idem_fire('orders', '1', 'ship', 'evt 1', '{"by": "post"}');
SELECT attachment, key, machine, machine_version, from_state, to_state, event, event_id, data,
    xid = pg_current_xact_id() AS this_transaction, role = current_user AS me, application_name,
    at > transaction_timestamp() AND at <= clock_timestamp() AS in_time, lag(at) OVER (ORDER BY id) >= at AS not_later
FROM idem_history ORDER BY id;
SELECT from_state, to_state, event, event_id, data, machine, machine_version,
    xid = pg_current_xact_id() AS this_transaction,
    role = current_user AS me, application_name FROM idem_history_of('orders', '1');
COMMIT;
-- The present state is the column's, not the history's, which may be thinned out or wrong.
UPDATE idem_history SET to_state = 'new', from_state = 'cancelled';
SELECT outcome, from_state, to_state FROM idem_fire('orders', '1', 'return');
DELETE FROM idem_history;
SELECT outcome, from_state, to_state FROM idem_fire('orders', '1', 'ship');
SELECT attempt($$UPDATE orders SET status = 'new'$$);
SELECT * FROM changes;
DELETE FROM idem_history;

-- One row for each change: not for other columns, the same value, rows that a condition or a trigger keeps out, upserts
-- that do nothing, and what is rolled back.
INSERT INTO orders SELECT i FROM generate_series(2, 5) AS i;
UPDATE orders SET note = 'x';
UPDATE orders SET status = status;
INSERT INTO orders VALUES (2) ON CONFLICT DO NOTHING;
INSERT INTO orders VALUES (2) ON CONFLICT (id) DO UPDATE SET note = 'y';
INSERT INTO orders VALUES (2), (6) ON CONFLICT (id) DO UPDATE SET status = 'paid';
BEGIN;
UPDATE orders SET status = 'paid' WHERE id = 3;
ROLLBACK;
BEGIN;
SAVEPOINT a;
UPDATE orders SET status = 'paid' WHERE id = 3;
SAVEPOINT b;
UPDATE orders SET status = 'shipped' WHERE id = 3;
RELEASE b;
ROLLBACK TO a;
UPDATE orders SET status = 'cancelled' WHERE id = 3;
SAVEPOINT c;
UPDATE orders SET status = 'paid' WHERE id = 4;
RELEASE c;
COMMIT;
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id > 3');
SELECT key, from_state, to_state FROM changes;
SELECT count(*) = count(DISTINCT (key, from_state, to_state)) AS once FROM changes;
DELETE FROM orders;
DELETE FROM idem_history;

-- Triggers that change other rows, or the same one, in the middle: with subtransactions that stay and that do not.
CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'go on' AND NEW.status = 'paid' THEN
        UPDATE orders SET status = 'shipped' WHERE id = NEW.id;
    ELSIF NEW.note = 'go on in subtransaction' AND NEW.status = 'paid' THEN
        BEGIN
            UPDATE orders SET status = 'shipped' WHERE id = NEW.id;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    ELSIF NEW.note = 'fail' AND NEW.status = 'paid' THEN
        BEGIN
            UPDATE orders SET status = 'shipped' WHERE id = NEW.id;
            INSERT INTO orders VALUES (NEW.id + 1000);
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    ELSIF NEW.note = 'be refused' AND NEW.status = 'paid' THEN
        BEGIN
            UPDATE orders SET status = 'cancelled' WHERE id IN (NEW.id, NEW.id + 1);
        EXCEPTION WHEN SQLSTATE 'ID001' THEN
            UPDATE orders SET note = 'refused' WHERE id = NEW.id;
        END;
    ELSIF NEW.note = 'deep' AND TG_OP = 'INSERT' AND NEW.id < 160 THEN
        BEGIN
            INSERT INTO orders VALUES (NEW.id + 10, 'new', 'deep');
            IF NEW.id = 140 THEN
                RAISE division_by_zero;
            END IF;
        EXCEPTION WHEN division_by_zero THEN
            UPDATE orders SET status = 'cancelled' WHERE id = NEW.id - 10;
        END;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER nest AFTER INSERT OR UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION nest();
INSERT INTO orders VALUES (101, 'new', 'go on'), (102, 'new', 'go on in subtransaction'), (103, 'new', 'fail'),
    (104, 'new', 'be refused'), (105, 'new', 'go on');
DELETE FROM idem_history;
UPDATE orders SET status = 'paid';
INSERT INTO orders VALUES (110, 'new', 'deep');
SELECT key, from_state, to_state FROM changes;
SELECT id, status, note FROM orders ORDER BY id;
-- Each row's history is a chain that ends in its state.
SELECT key, string_agg(coalesce(from_state, '.') || '>' || to_state, ' ' ORDER BY id) AS chain,
    (SELECT status FROM orders WHERE orders.id = (key ->> 'id')::integer) AS state
FROM idem_history GROUP BY key ORDER BY key;
DROP TRIGGER nest ON orders;
DELETE FROM orders;
DELETE FROM idem_history;

-- A function that writes to several tables, as several roles: who wrote what, and all of it before the commit.
CREATE TABLE others (id integer PRIMARY KEY, state text DEFAULT 'new');
SELECT idem_machine_attach('others', 'state', 'order', history => true);
CREATE ROLE regress_idem_app;
GRANT ALL ON orders TO regress_idem_app;
CREATE FUNCTION as_owner() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET application_name = 'definer' AS $$
BEGIN
    INSERT INTO others VALUES (NEW.id);
    PERFORM count(*) FROM idem_history_of('others', to_jsonb(NEW.id)) HAVING count(*) <> 1;
    IF FOUND THEN
        RAISE 'history of % is not there yet', NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER as_owner AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION as_owner();
SET ROLE regress_idem_app;
INSERT INTO orders VALUES (1), (2);
RESET ROLE;
SELECT substring(attachment FROM '[^.]*.[^.]*$') AS attachment, key, replace(role, current_user, 'owner') AS role,
    application_name
FROM idem_history ORDER BY id;
DROP TRIGGER as_owner ON orders;
DROP TABLE others;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
DELETE FROM orders;
DELETE FROM idem_history;

-- Writes that name another table than the one whose rows change: parents, and what no statement trigger speaks of.
CREATE TABLE parent (id integer PRIMARY KEY, status text DEFAULT 'new');
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT idem_machine_attach('child', 'status', 'order', history => true);
SELECT idem_machine_attach('parent', 'status', 'order');
INSERT INTO child VALUES (1), (2);
BEGIN;
UPDATE parent SET status = 'paid' WHERE id = 1;
SELECT from_state, to_state FROM idem_history_of('child', '1');
SAVEPOINT s;
UPDATE parent SET status = 'paid' WHERE id = 2;
ROLLBACK TO s;
UPDATE parent SET status = 'cancelled' WHERE id = 2;
COMMIT;
SELECT key, from_state, to_state FROM changes;
ALTER TABLE child DISABLE TRIGGER _idem_status_history;
UPDATE child SET status = 'shipped' WHERE id = 1;
SELECT key, from_state, to_state FROM changes WHERE to_state = 'shipped';
DROP TABLE parent CASCADE;
DELETE FROM idem_history;
-- Statements in a function behind a cursor, and transactions that a procedural block ends.
CREATE FUNCTION pay_all() RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE
    k integer;
BEGIN
    FOR k IN SELECT id FROM orders ORDER BY id LOOP
        UPDATE orders SET status = 'paid' WHERE id = k;
        RETURN NEXT k;
    END LOOP;
END $$;
INSERT INTO orders VALUES (1), (2), (3);
BEGIN;
DECLARE c CURSOR FOR WITH u AS (SELECT pay_all() AS id) SELECT id FROM u;
FETCH 1 FROM c;
CLOSE c;
COMMIT;
DO $$
BEGIN
    UPDATE orders SET status = 'shipped' WHERE id = 1;
    COMMIT;
    UPDATE orders SET status = 'shipped' WHERE id = 2;
    ROLLBACK;
    UPDATE orders SET status = 'shipped' WHERE id = 3;
END $$;
SELECT key, from_state, to_state FROM changes ORDER BY key, from_state DESC;
SELECT id, status FROM orders ORDER BY id;
DROP FUNCTION pay_all;
DELETE FROM idem_history;
-- Many rows, and rows with much in them, in one statement.
INSERT INTO orders SELECT i FROM generate_series(10, 20009) AS i;
SET work_mem = '64kB';
UPDATE orders SET status = 'paid' WHERE id >= 10;
RESET work_mem;
SELECT from_state, to_state, count(*), count(DISTINCT key) AS keys, bool_and(id > before) AS in_order
FROM (SELECT *, lag(id, 1, 0::bigint) OVER (PARTITION BY from_state ORDER BY (key ->> 'id')::integer) AS before
    FROM idem_history) AS h GROUP BY 1, 2 ORDER BY 1, 2;
DELETE FROM orders;
DELETE FROM idem_history;

-- The key is the primary key, as an object: that of the row as it is stored. Renamed tables and columns keep their
-- history.
CREATE TABLE "Odd ""names" ("the key" text, b timestamptz, status text DEFAULT 'new', PRIMARY KEY (b, "the key"));
SELECT idem_machine_attach('"Odd ""names"', 'status', 'order', history => true);
INSERT INTO "Odd ""names" VALUES ('a', '2020-01-01 00:00+00'), (E'\n"\\é', '-infinity');
UPDATE "Odd ""names" SET status = 'paid', b = '2020-01-02 00:00+00' WHERE "the key" = 'a';
SELECT key, from_state, to_state FROM changes;
SELECT to_state FROM idem_history_of('"Odd ""names"', '{"the key": "a", "b": "2020-01-02T01:00:00+01:00"}');
SELECT to_state FROM idem_history_of('"Odd ""names"', '{"the key": "\n\"\\é", "b": "-infinity"}');
ALTER TABLE "Odd ""names" RENAME TO even;
ALTER TABLE even RENAME COLUMN status TO state;
UPDATE even SET state = 'shipped' WHERE state = 'paid';
SELECT to_state FROM idem_history_of('even', '{"the key": "a", "b": "2020-01-02T00:00:00Z"}');
SELECT count(DISTINCT attachment) AS attachments FROM idem_history;
DROP TABLE even;
-- Without a primary key, what replicas identify rows by will do.
CREATE TABLE identified (id integer NOT NULL, status text DEFAULT 'new', other integer);
CREATE UNIQUE INDEX identity ON identified (id);
SELECT left(attempt('SELECT idem_machine_attach(''identified'', ''status'', ''order'', history => true)'), 5);
ALTER TABLE identified REPLICA IDENTITY USING INDEX identity;
SELECT idem_machine_attach('identified', 'status', 'order', history => true);
INSERT INTO identified VALUES (1);
SELECT to_state FROM idem_history_of('identified', '{"id": 1}');
-- The primary key goes, or changes, while history is kept.
DROP INDEX identity;
SELECT attempt('INSERT INTO identified VALUES (2)');
ALTER TABLE identified ADD PRIMARY KEY (id);
INSERT INTO identified VALUES (3);
SELECT key FROM changes WHERE attachment ~ 'identified';
DROP TABLE identified;
-- The status may be a part of the key, and is left out of it, or be all of it.
CREATE TABLE whole (status text PRIMARY KEY);
SELECT idem_machine_attach('whole', 'status', 'order', history => true);
INSERT INTO whole VALUES ('new');
UPDATE whole SET status = 'paid';
SELECT * FROM idem_fire('whole', '"paid"', 'ship');
SELECT key, from_state, to_state FROM changes WHERE attachment ~ 'whole';
SELECT from_state, to_state FROM idem_history_of('whole', '"shipped"');
DROP TABLE whole, orders;

-- Two machines of one table have a history each, and one event is of one of them.
CREATE TABLE twice (id integer PRIMARY KEY, a text DEFAULT 'new', b text DEFAULT 'new');
SELECT idem_machine_attach('twice', col, 'order', history => true) FROM unnest('{a,b}'::name[]) AS col;
DELETE FROM idem_history;
INSERT INTO twice VALUES (1);
UPDATE twice SET a = 'paid', b = 'cancelled';
SELECT * FROM idem_fire('twice', '1', 'ship', 'e', col => 'a');
SELECT attempt($$SELECT idem_fire('twice', '1', 'ship')$$),
    attempt($$SELECT idem_fire('twice', '1', 'pay', 'e', col => 'b')$$),
    attempt($$SELECT * FROM idem_history_of('twice', '1')$$);
CREATE FUNCTION copy_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.b := NEW.a; RETURN NEW; END $$;
CREATE TRIGGER copy_state BEFORE UPDATE ON twice FOR EACH ROW EXECUTE FUNCTION copy_state();
INSERT INTO twice VALUES (2);
SELECT * FROM idem_fire('twice', '2', 'pay', 'e', '1', 'a');
SELECT * FROM changes;
SELECT from_state, to_state FROM idem_history_of('twice', '1', 'b');
SELECT idem_machine_detach('twice', 'a');
SELECT from_state, to_state FROM idem_history_of('twice', '1');
DROP TABLE twice;
DROP VIEW changes;
DROP FUNCTION nest, as_owner, copy_state;
DELETE FROM idem_machines;
DELETE FROM idem_history;
DELETE FROM idem_records;
