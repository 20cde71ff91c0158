-- Guards: functions that are asked whether a transition may happen, with the row as it was and as it is.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{new,paid,waive},{paid,shipped,ship},
    {shipped,paid,return},{new,cancelled,cancel},{paid,cancelled,cancel},{paid,lost,NULL}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text DEFAULT 'new', amount numeric, paid numeric DEFAULT 0,
    address text);
CREATE FUNCTION is_paid(r orders) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN r.paid < r.amount THEN format('%s of %s paid', r.paid, r.amount) END
$$;
CREATE FUNCTION has_address(r orders) RETURNS boolean LANGUAGE sql AS $$ SELECT r.address <> '' $$;
CREATE FUNCTION same_amount(old orders, new orders) RETURNS varchar LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN old.amount <> new.amount THEN 'the amount changed from ' || old.amount || ' to ' || new.amount END;
END $$;
CREATE FUNCTION never(r orders) RETURNS text LANGUAGE sql AS $$ SELECT ''::text $$;
SELECT idem_machine_attach('orders', 'status', 'order', history => true,
    guards => '{"pay": "is_paid", "ship": "has_address",
    "paid --> shipped": "same_amount", "paid --> lost": "public.never(public.orders)"}');
SELECT guards FROM idem_machine_attachments;
INSERT INTO orders (id, amount) SELECT i, 10 FROM generate_series(1, 4) AS i;

-- The guard sees the row that is to be, and its reason is in the message; machine, states and row are in the details.
UPDATE orders SET status = 'paid' WHERE id = 1;
\echo :SQLSTATE
UPDATE orders SET status = 'paid', paid = 10 WHERE id = 1;
-- Only the events' own guards are asked where an event is named; an UPDATE names none, so all of the pair are asked.
SELECT * FROM idem_fire('orders', '2', 'waive');
SELECT attempt($$SELECT idem_fire('orders', '3', 'pay')$$);
SELECT event, to_state, refusal FROM idem_allowed_events('orders', '3');
SELECT * FROM idem_fire('orders', '3', 'cancel');
-- Text is the reason, an empty one is none and yet refuses; of a boolean only true lets pass; with the former row, too.
SELECT attempt(call) FROM unnest(ARRAY['UPDATE orders SET status = ''shipped'' WHERE id = 1',
    'UPDATE orders SET status = ''shipped'', address = '''' WHERE id = 1',
    'UPDATE orders SET status = ''shipped'', address = ''here'', amount = 9 WHERE id = 1',
    'UPDATE orders SET status = ''lost'' WHERE id = 1', 'SELECT idem_fire(''orders'', ''1'', ''ship'')']) AS call;
SELECT event, to_state, refusal FROM idem_allowed_events('orders', '1');
UPDATE orders SET status = 'shipped', address = 'here' WHERE id = 1;
-- The way back has no guard, nor has a birth, nor the same value again, nor what the machine refuses anyhow.
UPDATE orders SET status = 'paid' WHERE id = 1;
UPDATE orders SET address = '', status = 'paid' WHERE id = 1;
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id = 4');
-- One row of many takes all back.
UPDATE orders SET paid = 10, address = 'there' WHERE id <> 2;
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE status = ''paid''');
SELECT id, status FROM orders ORDER BY id;
SELECT key, from_state, to_state, event FROM idem_history ORDER BY id;

-- Who was refused by what can be told by program: code, reason, table and column.
DO $$
DECLARE
    code text; message text; detail text; hint text; table_name text; column_name text; schema_name text;
BEGIN
    UPDATE orders SET status = 'shipped' WHERE id = 2;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        table_name = TABLE_NAME, column_name = COLUMN_NAME, schema_name = SCHEMA_NAME;
    RAISE WARNING '% % (%) %.%.%', code, message, detail, schema_name, table_name, column_name;
END $$;

-- An error of the guard's own is the caller's; its effects go with the statement.
CREATE TABLE asked (id integer, from_state text, to_state text);
CREATE FUNCTION curious(old orders, new orders) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO asked VALUES (new.id, old.status, new.status);
    IF new.id = 5 THEN
        RAISE division_by_zero;
    ELSIF new.id = 6 THEN
        UPDATE orders SET status = 'cancelled' WHERE id = 7;
    END IF;
    RETURN NULL;
END $$;
SELECT idem_machine_attach('orders', 'status', 'order', history => true,
    guards => '{"pay": "curious", "ship": "curious"}');
INSERT INTO orders (id, amount) SELECT i, 10 FROM generate_series(5, 8) AS i;
SELECT attempt('UPDATE orders SET status = ''paid'' WHERE id IN (4, 5)');
SELECT count(*) FROM asked;
UPDATE orders SET status = 'paid' WHERE id IN (4, 6);
SELECT * FROM asked ORDER BY id;
SELECT id, status FROM orders WHERE id IN (4, 6, 7) ORDER BY id;
SELECT key, from_state, to_state, event FROM idem_history
WHERE key IN ('{"id": 4}', '{"id": 6}', '{"id": 7}') ORDER BY id;
-- What is allowed is asked without doing it; a guard that writes is still the guard's business.
SELECT event, refusal FROM idem_allowed_events('orders', '8');

-- A guard that went away refuses, and is reported; one that came back works, also in a session that knew
-- the former one.
SELECT idem_machine_attach('orders', 'status', 'order', guards => '{"ship": "has_address"}');
DROP FUNCTION has_address;
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id = 4');
UPDATE orders SET status = 'cancelled' WHERE id = 4;
SELECT problem FROM idem_machine_validate('orders');
SELECT idem_machine_attach('orders', 'status', 'order', guards => '{"ship": "is_paid"}');
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id = 6');
CREATE OR REPLACE FUNCTION is_paid(r orders) RETURNS text LANGUAGE sql AS $$ SELECT NULL::text $$;
UPDATE orders SET status = 'shipped' WHERE id = 6;
SELECT status FROM orders WHERE id = 6;
-- A column more, or less, does not confuse it.
ALTER TABLE orders DROP COLUMN paid, ADD COLUMN more text;
CREATE OR REPLACE FUNCTION is_paid(r orders) RETURNS text LANGUAGE sql AS $$ SELECT r.more $$;
SELECT attempt('UPDATE orders SET status = ''shipped'', more = ''no'' WHERE id = 2');
UPDATE orders SET status = 'shipped' WHERE id = 2;

-- The table is renamed, and goes to another schema.
CREATE SCHEMA elsewhere;
INSERT INTO orders (id, more) VALUES (21, 'no'), (22, NULL);
SELECT idem_machine_attach('orders', 'status', 'order', guards => '{"pay": "is_paid", "ship": "same_amount"}');
ALTER TABLE orders RENAME TO renamed;
SELECT attempt('UPDATE renamed SET status = ''paid'' WHERE id = 21') ~ '^ID005 .* refused "pay": no' AS refused,
    attempt('UPDATE renamed SET status = ''paid'' WHERE id = 22');
ALTER TABLE renamed SET SCHEMA elsewhere;
ALTER SCHEMA elsewhere RENAME TO "else where";
SELECT attempt('UPDATE "else where".renamed SET status = ''shipped'', amount = 11 WHERE id = 22') ~ '^ok' AS shipped;
SELECT problem FROM idem_machine_validate('"else where".renamed');
ALTER TABLE "else where".renamed SET SCHEMA public;
ALTER TABLE renamed RENAME TO orders;
DROP SCHEMA "else where";

-- What can be no guard.
CREATE FUNCTION "two; names"(orders) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION "two; names"(orders, orders) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION of_nothing() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION of_any(anyelement) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION of_record(record) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
CREATE FUNCTION of_asked(asked) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION of_both(orders, asked) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION of_three(orders, orders, orders) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION a_set(orders) RETURNS SETOF boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION a_number(orders) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION a_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE PROCEDURE a_procedure(orders) LANGUAGE sql AS $$ SELECT true $$;
SELECT guard, attempt(format('SELECT idem_machine_attach(''orders'', ''status'', ''order'', guards => %L)',
    jsonb_build_object('pay', guard))) AS answer
FROM unnest(ARRAY['"two; names"', '"two; names"(orders)', '"two; names"(orders,orders)', 'of_nothing', 'of_any',
    'of_record', 'of_asked', 'of_both', 'of_three', 'a_set', 'a_number', 'a_trigger', 'a_procedure',
    'no_schema.is_paid']) AS guard;
-- What is no name at all is said by the server itself up to 15.
SELECT guard, attempt(format('SELECT idem_machine_attach(''orders'', ''status'', ''order'', guards => %L)',
    jsonb_build_object('pay', guard))) ~ '^(ID400|22P02|42602) ' AS refused
FROM unnest(ARRAY['of_nothing(', 'is_paid; DROP TABLE orders', '', '(orders)']) AS guard;
SELECT guards FROM idem_machine_attachments;
-- One that the caller may not call.
CREATE ROLE regress_idem_app;
GRANT ALL ON orders TO regress_idem_app;
REVOKE EXECUTE ON FUNCTION "two; names"(orders, orders) FROM PUBLIC;
INSERT INTO orders (id) VALUES (9), (10);
SET ROLE regress_idem_app;
SELECT attempt('UPDATE orders SET status = ''paid'' WHERE id = 9'),
    attempt('UPDATE orders SET status = ''cancelled'' WHERE id = 9');
RESET ROLE;
GRANT EXECUTE ON FUNCTION "two; names"(orders, orders) TO regress_idem_app;
SET ROLE regress_idem_app;
UPDATE orders SET status = 'paid' WHERE id = 10;
RESET ROLE;
-- It runs as whoever writes, and what it means is not what the caller's search_path makes of its name.
CREATE FUNCTION who(orders) RETURNS text LANGUAGE sql AS $$ SELECT current_user::text $$;
SELECT idem_machine_attach('orders', 'status', 'order', guards => '{"ship": "who"}');
CREATE SCHEMA shadow;
CREATE FUNCTION shadow.who(orders) RETURNS text LANGUAGE sql AS $$ SELECT NULL::text $$;
GRANT USAGE ON SCHEMA shadow TO regress_idem_app;
SET ROLE regress_idem_app;
SET search_path = shadow, public;
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id = 10');
RESET search_path;
RESET ROLE;

DROP TABLE asked, orders CASCADE;
DROP SCHEMA shadow CASCADE;
DROP ROLE regress_idem_app;
DROP FUNCTION of_nothing, of_any, of_record, a_trigger;
DELETE FROM idem_machines;
DELETE FROM idem_history;
