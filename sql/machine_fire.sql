-- Events: what one does to a row, once.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
CREATE FUNCTION fire(arguments text) RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT idem_fire(%s)', arguments))
$$;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel},
    {paid,cancelled,cancel},{shipped,back,move},{back,new,move},{new,held,NULL}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text NOT NULL DEFAULT 'new', code text UNIQUE, a integer, b integer,
    note text, UNIQUE (b, a));
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
INSERT INTO orders (id, code, a, b) SELECT i, 'code ' || i, i, i FROM generate_series(1, 20) AS i;
DELETE FROM idem_history;

-- Applied, and then nothing to do; three outcomes that can be told apart, the third of them being a refusal.
SELECT * FROM idem_fire('orders', '1', 'pay');
SELECT * FROM idem_fire('orders', '1', 'pay');
SELECT * FROM idem_fire('orders', '1', 'cancel');
SELECT * FROM idem_fire('orders', '1', 'cancel');
SELECT * FROM idem_fire('orders', '1', 'pay');
\echo :SQLSTATE
SELECT * FROM idem_fire('orders', '2', 'ship');
\echo :SQLSTATE
SELECT * FROM idem_fire('orders', '2', 'never');
\echo :SQLSTATE
SELECT * FROM idem_fire('orders', '99', 'pay');
\echo :SQLSTATE
UPDATE orders SET status = 'held' WHERE id = 3;
SELECT fire($$'orders', '3', 'pay'$$);
-- An event that leads on takes the next step, unless its id is known.
UPDATE orders SET status = 'paid' WHERE id = 4;
UPDATE orders SET status = 'shipped' WHERE id = 4;
SELECT * FROM idem_fire('orders', '4', 'move', event_id => 'm1');
SELECT * FROM idem_fire('orders', '4', 'move', event_id => 'm1');
SELECT * FROM idem_fire('orders', '4', 'move');
SELECT * FROM idem_fire('orders', '4', 'move', event_id => 'm1');
SELECT * FROM idem_fire('orders', '4', 'move', event_id => 'm2');
SELECT event, to_state, refusal FROM idem_allowed_events('orders', '4');
SELECT key, from_state, to_state, event, event_id FROM idem_history ORDER BY id;

-- The answer to an event id stays what it was, whatever the row does meanwhile and however its key is given; with
-- another event or other data it is refused.
SELECT * FROM idem_fire('orders', '{"id": 5}', 'pay', 'e1', '{"amount": 10.50, "by": ["card", null]}');
SELECT * FROM idem_fire('orders', '{"code": "code 5"}', 'pay', 'e1', '{"by": ["card", null], "amount": 10.50}');
SELECT * FROM idem_fire('orders', '{"a": 5, "b": 5}', 'ship');
SELECT * FROM idem_fire('orders', '5', 'pay', 'e1', '{"amount": 10.50, "by": ["card", null]}');
SELECT fire($$'orders', '5', 'pay', 'e1'$$), fire($$'orders', '5', 'pay', 'e1', '{"amount": 11}'$$),
    fire($$'orders', '5', 'move', 'e1', '{"amount": 10.50, "by": ["card", null]}'$$);
SELECT id, status FROM orders WHERE id = 5;
-- The id is known for the row only: another row's event is another.
SELECT * FROM idem_fire('orders', '6', 'pay', 'e1');
-- What did nothing is remembered as well; what was refused is not, and may succeed later.
SELECT * FROM idem_fire('orders', '6', 'pay', 'e2');
SELECT * FROM idem_fire('orders', '6', 'ship');
SELECT * FROM idem_fire('orders', '6', 'pay', 'e2');
SELECT fire($$'orders', '7', 'ship', 'e3'$$);
SELECT * FROM idem_fire('orders', '7', 'pay');
SELECT * FROM idem_fire('orders', '7', 'ship', 'e3');
SELECT * FROM idem_fire('orders', '7', 'ship', 'e3');
-- A replay needs neither the state nor the machine of then, nor the row, if that is named by its primary key.
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay2},{paid,shipped,ship},{new,cancelled,cancel},
    {paid,cancelled,cancel},{shipped,back,move},{back,new,move},{new,held,NULL}}');
SELECT * FROM idem_fire('orders', '6', 'pay', 'e1');
SELECT fire($$'orders', '8', 'pay'$$), fire($$'orders', '8', 'pay2'$$);
DELETE FROM orders WHERE id = 6;
SELECT fire($$'orders', '6', 'pay', 'e1'$$), fire($$'orders', '{"code": "code 6"}', 'pay', 'e1'$$) AS other_key,
    fire($$'orders', '6', 'pay', 'e0'$$) AS other_event;
-- Rolled back, it never was: by a savepoint, an exception, the transaction.
BEGIN;
SAVEPOINT s;
SELECT * FROM idem_fire('orders', '9', 'pay2', 'e4');
ROLLBACK TO s;
SELECT status FROM orders WHERE id = 9;
SELECT * FROM idem_fire('orders', '9', 'pay2', 'e4');
SELECT * FROM idem_fire('orders', '9', 'pay2', 'e4');
ROLLBACK;
SELECT * FROM idem_fire('orders', '9', 'pay2', 'e4');
DO $$
DECLARE
    answer record;
BEGIN
    BEGIN
        PERFORM idem_fire('orders', '10', 'pay2', 'e5');
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    FOR i IN 1..2 LOOP
        SELECT * FROM idem_fire('orders', '10', 'pay2', 'e5') INTO answer;
        RAISE WARNING '%', answer;
    END LOOP;
END $$;
SELECT key, from_state, to_state, event, event_id FROM idem_history WHERE key IN ('{"id": 9}',
    '{"id": 10}') ORDER BY id;
-- Many at once, in one statement: each sees what the one before has done.
SELECT e, f.* FROM unnest(ARRAY['pay2', 'pay2', 'ship', 'move', 'move']) AS e, idem_fire('orders', '11', e) AS f;
SELECT count(*) FILTER (WHERE (f).outcome = 'applied') AS applied,
    count(*) FILTER (WHERE (f).outcome = 'replayed') AS replayed
FROM (SELECT idem_fire('orders', to_jsonb(i), 'pay2', 'e6') AS f
    FROM generate_series(12, 14) AS i, generate_series(1, 3)) AS f;
SELECT fire($$'orders', '15', e) FROM unnest(ARRAY['pay2', 'never']) AS e -- $$);
SELECT status FROM orders WHERE id = 15;

-- Ids of events: any text of 1 to 512 bytes.
SELECT left(id, 9) AS id, fire(format($$'orders', '15', 'cancel', %L$$, id)) AS answer
FROM unnest(ARRAY['', ' ', 'größe 日本', E'\n''"\\', repeat('x', 512), repeat('x', 513), repeat('ß', 257), NULL]) AS id;
SELECT to_state, event, left(event_id, 9) AS event_id, length(event_id), data FROM idem_history_of('orders', '15');
SELECT fire($$'orders', '16', 'pay2', 'e7', NULL$$), fire($$'orders', '16', 'pay2',
    'e7', jsonb_build_object('big', repeat('x', 1000000))$$),
    fire($$'orders', '17', 'pay2', 'e7', jsonb_build_object('big', repeat('x', 1000000))$$),
    fire($$'orders', '17', 'pay2', 'e7', jsonb_build_object('big', repeat('x', 1000000))$$);
SELECT length(data ->> 'big') FROM idem_history_of('orders', '17');

-- Keys: what names no row, or names none in a way that could mean one.
SELECT key, fire(format($$'orders', %L, 'cancel'$$, key)) AS answer
FROM unnest(ARRAY['18', '"18"', '{"id": 18}', '{"id": "18"}', '{"code": "code 18"}', '{"b": 18, "a": 18}', '[18]', '{}',
    '[]', 'null', '""',
    'true', '18.0', '18.5', '1e9', '1e10', '{"id": null}', '{"id": [18]}', '{"id": {}}', '{"note": "x"}', '{"a": 18}',
    '{"id": 18, "code": "code 18"}', '{"ID": 18}', '{"id ": 18}', '"code 18"', NULL]) AS key;
CREATE TABLE odd (id integer, status text DEFAULT 'new', x integer, y integer, UNIQUE (x) DEFERRABLE);
CREATE UNIQUE INDEX ON odd (abs(id));
CREATE UNIQUE INDEX ON odd (y) WHERE y > 0;
CREATE INDEX ON odd (id);
SELECT idem_machine_attach('odd', 'status', 'order');
INSERT INTO odd VALUES (1, 'new', 1, 1);
SELECT fire($$'odd', '1', 'pay2'$$), fire($$'odd', '{"id": 1}', 'pay2'$$), fire($$'odd', '{"x": 1}', 'pay2'$$),
    fire($$'odd', '{"y": 1}', 'pay2'$$);
CREATE UNIQUE INDEX ON odd (id) INCLUDE (y);
SELECT fire($$'odd', '1', 'pay2'$$), fire($$'odd', '{"id": 1}', 'pay2', 'e1'$$), fire($$'odd', '{"id": 1}', 'pay2',
    'e1'$$);
DROP TABLE odd;
-- Keys of every kind, whatever the session calls times and such: the id of an event is known by any spelling.
CREATE DOMAIN key_domain AS varchar(20) COLLATE "C" CHECK (VALUE <> '');
CREATE TYPE key_enum AS ENUM ('one', 'two');
CREATE TYPE key_composite AS (a integer, b date);
CREATE PROCEDURE fire_keys() LANGUAGE plpgsql AS $$
DECLARE
    kind text;
    value text;
    spelling text;
    other text;
    answer text;
BEGIN
    FOR kind, value, spelling, other IN VALUES
        ('uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"',
        '"{a0eebc999c0b4ef8bb6d6bb9bd380a11}"'),
        ('text', 'größe', '"größe"', NULL), ('date', '2020-01-31', '"2020-01-31"', '"20200131"'),
        ('timestamptz', '2020-01-31 12:00+00', '"2020-01-31T12:00:00Z"', '"2020-01-31T14:00:00+02:00"'),
        ('timestamp', '2020-01-31 12:00', '"2020-01-31T12:00:00"', '"2020-01-31 12:00"'),
        ('time', '12:00', '"12:00:00"', '"12:00 PM"'), ('interval', '1 day 2 hours', '"1 day 02:00:00"', '"P1DT2H"'),
        ('bytea', '\x0102ff', '"\\x0102ff"', '"\\001\\002\\377"'),
        ('float8', '0.30000000000000004', '0.30000000000000004', '"0.30000000000000004"'),
        ('numeric', '1.50', '1.50', '"1.5"'), ('numeric', 'NaN', '"NaN"', '"nan"'),
        ('boolean', 'true', 'true', '"yes"'),
        ('bigint', '9007199254740993', '9007199254740993', '"9007199254740993"'), ('smallint', '-5', '-5', '"-5"'),
        ('key_domain', 'a b', '"a b"', NULL), ('key_enum', 'two', '"two"', NULL),
        ('integer[]', '{1,2}', '"{1,2}"', '"[1:2]={1,2}"'),
        ('date[]', '{2020-01-31}', '"{2020-01-31}"', '"{20200131}"'),
        ('daterange', '[2020-01-31,2020-02-05)', '"[2020-01-31,2020-02-05)"', '"[2020-01-31,2020-02-04]"'),
        ('key_composite', '(1,2020-01-31)', '"(1,2020-01-31)"', NULL),
        ('inet', '10.0.0.1', '"10.0.0.1"', '"10.0.0.1/32"'), ('char(5)', 'ab', '"ab"', '"ab   "'),
        ('oid', '4294967295', '4294967295', NULL), ('name', 'a', '"a"', NULL), ('"char"', 'a', '"a"', NULL) LOOP
        EXECUTE format('CREATE TABLE keyed (k %s PRIMARY KEY, status text DEFAULT ''new'')', kind);
        PERFORM idem_machine_attach('keyed', 'status', 'order', history => true);
        EXECUTE format('INSERT INTO keyed VALUES (%L)', value);
        answer := fire(format('''keyed'', %L, ''pay2'', ''k''', spelling));
        SET LOCAL DateStyle = 'German';
        SET LOCAL TimeZone = 'Asia/Kathmandu';
        SET LOCAL IntervalStyle = 'iso_8601';
        SET LOCAL bytea_output = 'escape';
        SET LOCAL extra_float_digits = -5;
        answer := answer || fire(format('''keyed'', %L, ''pay2'', ''k''', coalesce(other, spelling)));
        EXECUTE 'UPDATE keyed SET status = ''shipped''';
        answer := answer || ' ' || attempt(format(
            'SELECT string_agg(to_state, '','') FROM idem_history_of(''keyed'', %L)', spelling));
        SET LOCAL DateStyle TO DEFAULT;
        SET LOCAL TimeZone TO DEFAULT;
        SET LOCAL IntervalStyle TO DEFAULT;
        SET LOCAL bytea_output TO DEFAULT;
        SET LOCAL extra_float_digits TO DEFAULT;
        RAISE WARNING '%: % %', kind, (SELECT key FROM idem_history WHERE from_state = 'paid'), answer;
        DROP TABLE keyed;
        DELETE FROM idem_history;
        DELETE FROM idem_records WHERE scope = 'idem.event';
    END LOOP;
END $$;
DELETE FROM idem_history;
CALL fire_keys();
DROP PROCEDURE fire_keys;
DROP DOMAIN key_domain;
DROP TYPE key_enum, key_composite;

-- Other arguments.
SELECT arguments, fire(arguments) AS answer
FROM unnest(ARRAY['NULL, ''1'', ''pay2''', '''orders'', NULL, ''pay2''', '''orders'', ''18'', NULL',
    '''orders'', ''18'', ''''',
    '''orders'', ''18'', repeat(''x'', 129)', '''orders'', ''18'', '' cancel''', '''pg_class'', ''1'', ''pay2''',
    '0, ''1'', ''pay2''',
    '''orders_pkey'', ''18'', ''cancel''', '''idem_machine_attachments'', ''1'', ''cancel''',
    '''orders'', ''18'', ''cancel'', col => ''status''', '''orders'', ''18'', ''cancel'', col => ''id''',
    '''orders'', ''18'', ''cancel'', col => ''never''']) AS arguments;
SELECT attempt(call) FROM unnest(ARRAY['SELECT * FROM idem_allowed_events(''orders'', ''99'')',
    'SELECT * FROM idem_allowed_events(''orders'', NULL)',
    'SELECT * FROM idem_allowed_events(''orders'', ''{}'')', 'SELECT * FROM idem_history_of(''orders'', ''99'')',
    'SELECT * FROM idem_history_of(''orders'', ''18'', ''never'')',
    'SELECT count(*) FROM idem_history_of(''orders'', ''19'')']) AS call;

-- What triggers of the user make of it: the row is kept as it is, or goes elsewhere, or on.
CREATE FUNCTION interfere() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'keep' THEN
        RETURN NULL;
    ELSIF NEW.note = 'divert' AND NEW.status = 'paid' THEN
        NEW.status := 'cancelled';
    ELSIF NEW.note = 'jump' AND NEW.status = 'paid' THEN
        NEW.status := 'shipped';
    ELSIF NEW.note = 'key' THEN
        NEW.id := NEW.id + 100;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER interfere BEFORE UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION interfere();
CREATE FUNCTION go_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'on' AND NEW.status = 'paid' THEN
        PERFORM idem_fire('orders', to_jsonb(NEW.id), 'ship', 'ship ' || NEW.id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER go_on AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION go_on();
INSERT INTO orders (id, note) VALUES (31, 'keep'), (32, 'divert'), (33, 'jump'), (34, 'key'), (35, 'on');
SELECT note, fire(format($$'orders', '%s', 'pay2', 'n'$$, id)) AS answer FROM orders
    WHERE id > 30 AND note <> 'key' ORDER BY id;
SELECT note, fire(format($$'orders', '%s', 'pay2', 'n'$$, id)) AS answer FROM orders
    WHERE id > 30 AND note <> 'key' ORDER BY id;
SELECT fire($$'orders', '34', 'pay2', 'n'$$), fire($$'orders', '34', 'pay2', 'n'$$) AS gone, fire($$'orders', '134',
    'pay2', 'n'$$) AS other_key;
SELECT key, from_state, to_state, event, event_id FROM idem_history
WHERE (key ->> 'id')::integer > 30 AND from_state IS NOT NULL ORDER BY id;
DROP TRIGGER go_on ON orders;
DROP TRIGGER interfere ON orders;

-- With the caller's rights: columns, policies.
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
GRANT SELECT ON orders TO regress_idem_app;
INSERT INTO orders (id, note) VALUES (41, 'app'), (42, 'other');
SET ROLE regress_idem_app;
SELECT fire($$'orders', '41', 'pay2'$$);
SELECT event FROM idem_allowed_events('orders', '41');
RESET ROLE;
GRANT UPDATE (note) ON orders TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT fire($$'orders', '41', 'pay2'$$);
RESET ROLE;
GRANT UPDATE (status) ON orders TO regress_idem_app;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON orders TO regress_idem_app USING (note = 'app');
CREATE POLICY kept ON orders AS RESTRICTIVE FOR UPDATE TO regress_idem_app WITH CHECK (status <> 'shipped');
SET ROLE regress_idem_app;
SELECT fire($$'orders', '41', 'pay2', 'e'$$), fire($$'orders', '41', 'pay2', 'e'$$), fire($$'orders', '41', 'ship'$$);
SELECT fire($$'orders', '42', 'pay2', 'e'$$), attempt($$SELECT count(*) FROM idem_allowed_events('orders',
    '42')$$) AS allowed,
    attempt($$SELECT count(*) FROM idem_history_of('orders', '42')$$) AS history,
    attempt($$SELECT count(*) FROM idem_history_of('orders', '41')$$) AS own_history;
-- Refusals do not tell the key of a row to somebody who need not see it.
SELECT attempt($$UPDATE orders SET status = 'new' WHERE id = 41$$);
RESET ROLE;
-- What was answered for a row that is hidden now, or of a table that may not be read, is not told either.
UPDATE orders SET note = 'hidden' WHERE id = 41;
SET ROLE regress_idem_app;
SELECT fire($$'orders', '41', 'pay2', 'e'$$), fire($$'orders', '41', 'cancel', 'e'$$);
RESET ROLE;
ALTER TABLE orders DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON orders FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT fire($$'orders', '41', 'pay2', 'e'$$), fire($$'orders', '41', 'cancel', 'e'$$);
RESET ROLE;
DROP TABLE orders;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;

-- What remembers ids are records in a scope of its own, which can be set and whose records expire.
CREATE TABLE orders (id integer PRIMARY KEY, status text NOT NULL DEFAULT 'new');
SELECT idem_machine_attach('orders', 'status', 'order');
INSERT INTO orders VALUES (1), (2), (3);
DELETE FROM idem_records;
SELECT idem_scope_set('idem.event', retain => '3 days');
SELECT * FROM idem_fire('orders', '1', 'pay2', 'e');
SELECT scope, status, expires_at > now() + interval '71 hours' AND expires_at < now() + interval '73 hours' AS in_3_days
FROM idem_records;
UPDATE idem_records SET expires_at = '-infinity';
SELECT * FROM idem_fire('orders', '1', 'pay2', 'e');
SELECT idem_scope_reset('idem.event');
-- Somebody who claims the record is in the way.
SELECT key FROM idem_records \gset
SELECT idem_forget(:'key', 'idem.event', true);
SELECT outcome FROM idem_begin(:'key', 'idem.event');
SELECT left(fire($$'orders', '1', 'pay2', 'e'$$), 5);
DROP TABLE orders;
DELETE FROM idem_records;
DROP FUNCTION interfere, go_on, fire;
DELETE FROM idem_machines;
DELETE FROM idem_history;
SELECT idem_cleanup_resume();
