-- Tables whose rows are messages: a row of a message that the stream has accepted before is left out.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
CREATE TABLE orders (id serial PRIMARY KEY, message text, body text);
SELECT idem_stream_attach('orders', 'shop', 'message');
SELECT * FROM idem_stream_attachments;
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'orders'::regclass ORDER BY tgname;

-- The count and RETURNING show what was stored.
INSERT INTO orders (message, body) VALUES ('m1', 'a'), ('m2', 'b') RETURNING message;
INSERT INTO orders (message, body) VALUES ('m1', 'a'), ('m3', 'c'), ('m3', 'c'), ('m2', 'b') RETURNING message;
INSERT INTO orders (message, body) VALUES ('m1', 'a') RETURNING message;
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('m1'), ('m4')$$);
COPY orders (message, body) FROM stdin;
m1	again
m5	new
m5	twice in one
m6	newer
\.
SELECT message, body FROM orders ORDER BY message;
-- What idem_accept_id knows the table knows, and the other way round.
SELECT outcome FROM idem_accept_id('shop', 'm5');
SELECT outcome FROM idem_accept_id('shop', 'm7');
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('m7')$$);
SELECT idem_accept_forget('shop', 'm7');
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('m7')$$);

-- A row must say which message it is.
SELECT attempt_rows('INSERT INTO orders (message) VALUES (NULL)');
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('')$$);
SELECT attempt_rows(format('INSERT INTO orders (message) VALUES (%L)', repeat('x', 513)));
SELECT attempt_rows(format('INSERT INTO orders (message) VALUES (%L)', repeat('x', 450) || repeat(':/%', 7)));
SELECT attempt_rows(format('INSERT INTO orders (message) VALUES (%L)', repeat('x', 500)));
SELECT attempt_rows(format('INSERT INTO orders (message) VALUES (%L)', repeat('x', 500)));
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('Größe ☃'), ('Größe ☃')$$);
DELETE FROM orders WHERE length(message) > 4;
-- The padding of char(n) is no part of the id.
CREATE DOMAIN padded AS char(20);
CREATE TABLE padded_10 (id char(10));
CREATE TABLE padded_20 (id padded);
SELECT idem_stream_attach('padded_10', 'padding', 'id'), idem_stream_attach('padded_20', 'padding', 'id');
SELECT attempt_rows($$INSERT INTO padded_10 VALUES (' m1')$$), attempt_rows($$INSERT INTO padded_20 VALUES (' m1'), ('m1')$$);
SELECT outcome FROM idem_accept_id('padding', 'm1');
SELECT idem_accept_forget('padding', 'm1'), attempt_rows($$INSERT INTO padded_10 VALUES ('m1')$$);
SELECT attempt_rows($$INSERT INTO padded_10 VALUES ('  ')$$);
DROP TABLE padded_10, padded_20;
DROP DOMAIN padded;

-- What an error or a savepoint takes back was not accepted.
SELECT attempt_rows($$INSERT INTO orders (id, message) VALUES (100, 'e1'), (101, 'e2'), (100, 'e3')$$);
SELECT attempt_rows($$INSERT INTO orders (id, message) VALUES (100, 'e1'), (101, 'e2')$$);
BEGIN;
SAVEPOINT s;
INSERT INTO orders (message) VALUES ('s1');
ROLLBACK TO s;
INSERT INTO orders (message) VALUES ('s1'), ('s2');
SAVEPOINT t;
SELECT attempt_rows($$INSERT INTO orders (message) VALUES ('s2'), ('s3')$$);
RELEASE t;
COMMIT;
SELECT message FROM orders WHERE message ~ '^[se]\d' ORDER BY message;

-- ON CONFLICT sees only what is new; a row that conflicts is a message that has come.
ALTER TABLE orders ADD UNIQUE (body);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('c1', 'a') ON CONFLICT DO NOTHING$$);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('c1', 'other') ON CONFLICT DO NOTHING$$);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('c2', 'a')
    ON CONFLICT (body) DO UPDATE SET message = EXCLUDED.message$$);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('c2', 'a')
    ON CONFLICT (body) DO UPDATE SET message = 'never'$$);
SELECT message, body FROM orders WHERE body IN ('a', 'other');
-- Changing a row is no delivery.
UPDATE orders SET message = 'm3' WHERE body = 'a';
SELECT count(*) FROM orders WHERE message = 'm3';
TRUNCATE orders;

-- Triggers of users come first: they may give the row its id, or leave it out, which accepts nothing.
CREATE FUNCTION name_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body = 'unwanted' THEN
        RETURN NULL;
    END IF;
    NEW.message := coalesce(NEW.message, 'from ' || NEW.body);
    RETURN NEW;
END $$;
CREATE TRIGGER zz_before BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION name_message();
ALTER TRIGGER zz_before ON orders RENAME TO name_message;
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('t1', 'unwanted')$$);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('t1', 'wanted'), (NULL, 't2')$$);
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('t1', 'wanted'), (NULL, 't2')$$);
SELECT message, body FROM orders ORDER BY message;
DROP TRIGGER name_message ON orders;

-- A trigger that writes to another attached table, and to its own.
CREATE TABLE copies (message text, body text);
SELECT idem_stream_attach('copies', 'copies', 'message');
CREATE FUNCTION copy_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO copies VALUES (NEW.message, NEW.body), (left(NEW.message, 1), 'first');
    IF NEW.message !~ 'derived' THEN
        INSERT INTO orders (message, body) VALUES ('derived ' || NEW.message, 'derived ' || NEW.body);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION copy_order();
SELECT attempt_rows($$INSERT INTO orders (message, body) VALUES ('n1', 'n1'), ('n2', 'n2'), ('n1', 'n1')$$);
SELECT message FROM orders WHERE message ~ 'n\d' ORDER BY message;
SELECT message, count(*) FROM copies GROUP BY message ORDER BY message;
DROP TRIGGER a ON orders;
DROP TABLE copies;

-- The names of columns may change, the attachment follows; attaching again replaces it.
ALTER TABLE orders RENAME COLUMN message TO "Message id";
ALTER TABLE orders RENAME TO "Orders";
SELECT attempt_rows($$INSERT INTO "Orders" ("Message id") VALUES ('n1'), ('r1')$$);
SELECT * FROM idem_stream_attachments;
SELECT idem_stream_attach('"Orders"', 'other', 'Message id');
SELECT attempt_rows($$INSERT INTO "Orders" ("Message id") VALUES ('n1'), ('r1')$$);
SELECT * FROM idem_stream_attachments;
SELECT idem_stream_detach('"Orders"');
SELECT idem_stream_detach('"Orders"');
SELECT attempt_rows($$INSERT INTO "Orders" ("Message id") VALUES ('r1'), ('r1'), (NULL)$$);
SELECT count(*) FROM pg_trigger WHERE tgrelid = '"Orders"'::regclass;
DROP TABLE "Orders";

-- Ids of other types.
CREATE DOMAIN message_number AS bigint;
CREATE TABLE kinds (u uuid, i integer, b bigint, s smallint, d message_number, v varchar(20), c char(5), j jsonb,
    t timestamptz, n numeric, g text GENERATED ALWAYS AS ('x') STORED);
CREATE FUNCTION try(col text, value text) RETURNS TABLE (attached text, first text, second text) LANGUAGE plpgsql AS $$
BEGIN
    attached := attempt(format('SELECT idem_stream_attach(%L, %L, %L)', 'kinds', 'kind of ' || col, col));
    first := attempt_rows(format('INSERT INTO kinds (%I) VALUES (%L)', col, value));
    second := attempt_rows(format('INSERT INTO kinds (%I) VALUES (%L)', col, value));
    PERFORM idem_stream_detach('kinds');
    RETURN NEXT;
END $$;
SELECT col, t.* FROM (VALUES ('u', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'), ('i', '-7'), ('b', '9223372036854775807'),
    ('s', '3'), ('d', '5'), ('v', 'x'), ('c', 'x')) AS v (col, value), try(col, value) AS t ORDER BY col;
SELECT key FROM idem_records WHERE key ~ '^kind of' ORDER BY key;
SELECT attempt(format('SELECT idem_stream_attach(%L, %L, %L)', 'kinds', 's', col))
FROM unnest('{j,t,n,g,missing,ctid}'::text[]) AS col;

-- Arguments that make no sense, and relations that cannot be attached.
SELECT attempt($$SELECT idem_stream_attach('kinds', 's')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', 's', 'u', 'b', 'i', 'd')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', 's', NULL, 'b', 'i')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', 's', NULL, 'b', 'i', 'b')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', 's', NULL, 'v', 'i', 'b')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', NULL, 'u')$$);
SELECT attempt($$SELECT idem_stream_attach('kinds', '', 'u')$$);
SELECT attempt($$SELECT idem_stream_attach(NULL, 's', 'u')$$);
SELECT attempt($$SELECT idem_stream_attach('pg_class', 's', 'relname')$$);
CREATE VIEW kinds_view AS SELECT * FROM kinds;
SELECT attempt($$SELECT idem_stream_attach('kinds_view', 's', 'u')$$);

-- Triggers by hand.
CREATE TRIGGER mine BEFORE INSERT ON kinds FOR EACH ROW WHEN (NEW.v IS NOT NULL)
    EXECUTE FUNCTION idem_accept_row('by hand', 'v');
SELECT attempt_rows($$INSERT INTO kinds (v) VALUES ('h1'), ('h1'), (NULL), (NULL)$$);
SELECT * FROM idem_stream_attachments;
SELECT attempt($$SELECT idem_stream_attach('kinds', 's', 'u')$$);
SELECT attempt($$SELECT idem_stream_detach('kinds')$$);
DROP TRIGGER mine ON kinds;
CREATE FUNCTION by_hand(definition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER mine %s', definition);
    RETURN attempt_rows($i$INSERT INTO kinds (v) VALUES ('b1')$i$);
END $$;
CREATE FUNCTION drop_mine() RETURNS text LANGUAGE sql AS 'SELECT attempt($$DROP TRIGGER mine ON kinds$$)';
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row()$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s')$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('', 'v')$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'w')$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'v', 'u')$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'j')$$), drop_mine();
SELECT by_hand($$AFTER INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'v')$$), drop_mine();
SELECT by_hand($$BEFORE INSERT ON kinds FOR EACH STATEMENT EXECUTE FUNCTION idem_accept_row('s', 'v')$$), drop_mine();
CREATE TRIGGER mine BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'nonsense');
SELECT * FROM idem_stream_attachments;
DROP TRIGGER mine ON kinds;
CREATE TRIGGER mine BEFORE UPDATE ON kinds FOR EACH ROW EXECUTE FUNCTION idem_accept_row('s', 'v');
SELECT attempt_rows('UPDATE kinds SET i = 0');
DROP TABLE kinds CASCADE;
DROP FUNCTION drop_mine;

-- Partitions: rows may be written to them directly, and moving from one to another is no delivery.
CREATE TABLE parted (day integer, message text, body text) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 (body text, gone text, message text, day integer);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (10) TO (20);
SELECT idem_stream_attach('parted', 'parted', 'message');
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (20) TO (30);
SELECT * FROM idem_stream_attachments;
SELECT attempt($$SELECT idem_stream_attach('parted_1', 's', 'message')$$);
SELECT attempt($$SELECT idem_stream_detach('parted_1')$$);
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'p1', 'x'), (11, 'p2', 'x'), (21, 'p3', 'x'), (12, 'p1', 'x')$$);
SELECT attempt_rows($$INSERT INTO parted_2 (day, message) VALUES (11, 'p1'), (12, 'p4'), (12, 'p4')$$);
SELECT attempt_rows($$INSERT INTO parted_3 (day, message) VALUES (21, 'p2'), (22, 'p5'), (22, 'p5')$$);
UPDATE parted SET day = (day + 10) % 30;
SELECT tableoid::regclass, day, message FROM parted ORDER BY message;
-- Also when it changes its id on the way, when triggers write in between, and after a deletion.
UPDATE parted SET day = (day + 10) % 30, message = 'p1' WHERE message = 'p2';
SELECT tableoid::regclass, day, message FROM parted WHERE message = 'p1' ORDER BY day;
CREATE FUNCTION write_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body = 'x' THEN
        INSERT INTO parted VALUES (5, 'p3', 'nested'), (5, 'nested in ' || NEW.day, 'nested');
        DELETE FROM parted WHERE body = 'nested' AND day = 5;
        INSERT INTO parted VALUES (5, 'p3', 'nested'), (25, 'nested after ' || NEW.day, 'nested');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_write_more BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION write_more();
UPDATE parted SET day = (day + 10) % 30;
SELECT tableoid::regclass, day, message, body FROM parted ORDER BY message, day;
DROP TRIGGER a_write_more ON parted;
DELETE FROM parted WHERE message = 'p3' OR body = 'nested';
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'p3', 'x')$$);
SELECT attempt_rows($$WITH d AS (DELETE FROM parted WHERE message = 'p4' RETURNING *)
    INSERT INTO parted SELECT 15, message, body FROM d$$);
BEGIN;
SAVEPOINT s;
UPDATE parted SET day = (day + 10) % 30;
ROLLBACK TO s;
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'p3', 'x')$$);
COMMIT;
SELECT count(*) FROM parted;
SELECT idem_stream_detach('parted');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('parted'));
-- By hand it takes both events.
CREATE TRIGGER mine BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION idem_accept_row('parted', 'message');
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'h1', 'x')$$);
DROP TRIGGER mine ON parted;
CREATE TRIGGER mine BEFORE INSERT OR DELETE ON parted FOR EACH ROW
    EXECUTE FUNCTION idem_accept_row('parted', 'message');
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'h1', 'x'), (11, 'h1', 'x')$$);
UPDATE parted SET day = (day + 10) % 30;
SELECT count(*) FROM parted;
-- Two streams are both told.
CREATE TRIGGER second BEFORE INSERT OR DELETE ON parted FOR EACH ROW
    EXECUTE FUNCTION idem_accept_row('second', 'message');
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'h2', 'x'), (11, 'h2', 'x')$$);
UPDATE parted SET day = (day + 10) % 30;
UPDATE parted SET day = (day + 10) % 30;
SELECT count(*) FROM parted;
SELECT attempt_rows($$INSERT INTO parted VALUES (1, 'h2', 'x'), (11, 'h2', 'x')$$);
-- A partition that is detached keeps nothing of it.
ALTER TABLE parted DETACH PARTITION parted_3;
SELECT attempt_rows($$INSERT INTO parted_3 (day, message) VALUES (1, 'h1')$$);
DROP TABLE parted, parted_3;
-- One that has a trigger of its own would have two judges, of which the second finds nothing new.
CREATE TABLE twice (day integer, message text) PARTITION BY LIST (day);
CREATE TABLE twice_1 (message text, day integer);
SELECT idem_stream_attach('twice', 'twice', 'message');
CREATE TRIGGER mine BEFORE INSERT ON twice_1 FOR EACH ROW EXECUTE FUNCTION idem_accept_row('twice', 'message');
ALTER TABLE twice ATTACH PARTITION twice_1 FOR VALUES IN (1);
SELECT attempt_rows($$INSERT INTO twice VALUES (1, 'm1')$$);
ALTER TABLE twice_1 DISABLE TRIGGER mine;
SELECT attempt_rows($$INSERT INTO twice VALUES (1, 'm1'), (1, 'm1')$$);
-- Two streams may both have their say.
DROP TRIGGER mine ON twice_1;
CREATE TRIGGER mine BEFORE INSERT ON twice_1 FOR EACH ROW EXECUTE FUNCTION idem_accept_row('another', 'message');
SELECT outcome FROM idem_accept_id('another', 'm2');
SELECT attempt_rows($$INSERT INTO twice VALUES (1, 'm1'), (1, 'm2'), (1, 'm3')$$);
DROP TABLE twice;

-- Whoever may insert need not have rights here; whoever attaches must own the table and may use the stream.
CREATE ROLE regress_idem_writer;
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_member;
SELECT idem_grant('regress_idem_owner', operator => true);
CREATE SCHEMA regress_idem_place AUTHORIZATION regress_idem_owner;
SET ROLE regress_idem_owner;
CREATE TABLE regress_idem_place.inbox (message text);
GRANT USAGE ON SCHEMA regress_idem_place TO regress_idem_writer;
GRANT INSERT ON regress_idem_place.inbox TO regress_idem_writer;
SELECT idem_stream_attach('regress_idem_place.inbox', 'inbox', 'message');
SET ROLE regress_idem_writer;
SELECT attempt_rows($$INSERT INTO regress_idem_place.inbox VALUES ('w1'), ('w1')$$);
SELECT attempt($$SELECT idem_stream_attach('regress_idem_place.inbox', 'inbox', 'message')$$);
SELECT attempt($$SELECT idem_stream_detach('regress_idem_place.inbox')$$);
RESET ROLE;
SELECT idem_stream_set('inbox', member => 'regress_idem_member');
SET ROLE regress_idem_writer;
SELECT attempt_rows($$INSERT INTO regress_idem_place.inbox VALUES ('w2')$$);
SET ROLE regress_idem_owner;
SELECT attempt($$SELECT idem_stream_attach('regress_idem_place.inbox', 'inbox', 'message')$$);
RESET ROLE;
GRANT regress_idem_member TO regress_idem_owner;
SET ROLE regress_idem_writer;
SELECT attempt_rows($$INSERT INTO regress_idem_place.inbox VALUES ('w2'), ('w1')$$);
RESET ROLE;
SELECT idem_stream_reset('inbox');
CREATE TABLE not_theirs (message text);
SET ROLE regress_idem_owner;
SELECT attempt($$SELECT idem_stream_attach('not_theirs', 's', 'message')$$);
SELECT attempt($$SELECT idem_stream_detach('not_theirs')$$);
RESET ROLE;
DROP TABLE not_theirs;
DROP SCHEMA regress_idem_place CASCADE;
DROP OWNED BY regress_idem_owner;
DROP ROLE regress_idem_writer, regress_idem_owner, regress_idem_member;

-- Every isolation level, and nothing in a read-only transaction.
CREATE TEMP TABLE inbox (message text);
SELECT idem_stream_attach('inbox', 'levels', 'message');
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO inbox VALUES ('rr'), ('rr') RETURNING message;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO inbox VALUES ('rr'), ('ser'), ('ser') RETURNING message;
COMMIT;
BEGIN READ ONLY;
SELECT attempt_rows($$INSERT INTO inbox VALUES ('ro')$$);
COMMIT;
-- Not fired for what replication brings.
SET session_replication_role = replica;
INSERT INTO inbox VALUES ('rr') RETURNING message;
RESET session_replication_role;
SELECT attempt('SELECT idem_accept_row()');
DROP TABLE inbox;
DELETE FROM idem_records;
DROP FUNCTION name_message, copy_order, try, by_hand, write_more;
DROP DOMAIN message_number;
