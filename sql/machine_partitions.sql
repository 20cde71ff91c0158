-- Rows that move between partitions change, and are not born; whichever partition holds a row, it is judged.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{shipped,back,return},
    {back,new,renew},{new,cancelled,cancel}}');
CREATE VIEW history AS
    SELECT substring(attachment FROM '[^.]*.[^.]*$') AS attachment, key, from_state, to_state, event FROM idem_history
    ORDER BY id;

-- Partitioned by the status itself: each change is a move. Sub-partitions, columns in another order, dropped columns.
CREATE TABLE by_status (id integer, gone text, status text, note text, PRIMARY KEY (id, status))
    PARTITION BY LIST (status);
ALTER TABLE by_status DROP COLUMN gone;
CREATE TABLE fresh PARTITION OF by_status FOR VALUES IN ('new', 'back');
CREATE TABLE paid (note text, status text NOT NULL, gone_too integer, id integer NOT NULL);
ALTER TABLE paid DROP COLUMN gone_too;
ALTER TABLE by_status ATTACH PARTITION paid FOR VALUES IN ('paid');
CREATE TABLE done PARTITION OF by_status FOR VALUES IN ('shipped', 'cancelled') PARTITION BY RANGE (id);
CREATE TABLE done_low (status text NOT NULL, id integer NOT NULL, note text);
ALTER TABLE done ATTACH PARTITION done_low FOR VALUES FROM (0) TO (10);
CREATE TABLE done_high PARTITION OF done FOR VALUES FROM (10) TO (100);
SELECT idem_machine_attach('by_status', 'status', 'order', history => true);
INSERT INTO by_status VALUES (1, 'new', 'a'), (2, 'new', 'b'), (12, 'new', 'c'), (13, 'new', 'd');
SELECT attempt('INSERT INTO by_status VALUES (3, ''paid'')'),
    attempt('INSERT INTO paid (id, status) VALUES (3, ''paid'')') AS direct,
    attempt('INSERT INTO done VALUES (3, ''shipped'')') AS in_between;
UPDATE by_status SET status = 'paid' WHERE id IN (1, 2, 12);
SELECT attempt(call) FROM unnest(ARRAY['UPDATE by_status SET status = ''new'' WHERE id = 1',
    'UPDATE by_status SET status = ''cancelled'' WHERE id = 1',
    'UPDATE by_status SET status = ''shipped'' WHERE id IN (1, 13)',
    'UPDATE paid SET status = ''new''', 'UPDATE by_status SET status = ''nonsense'' WHERE id = 1']) AS call;
UPDATE by_status SET status = 'shipped' WHERE id <> 13;
SELECT * FROM idem_fire('by_status', '{"id": 1, "status": "shipped"}', 'return');
SELECT * FROM idem_fire('by_status', '{"id": 1}', 'renew', event_id => 'e1');
SELECT * FROM idem_fire('by_status', '{"id": 1}', 'renew', event_id => 'e1');
SELECT * FROM idem_fire('by_status', '1', 'pay');
UPDATE by_status SET status = 'back', id = 14 WHERE id = 12;
SELECT tableoid::regclass, * FROM by_status ORDER BY id;
SELECT * FROM history;
SELECT from_state, to_state, event FROM idem_history_of('by_status', '{"id": 1}');
DELETE FROM idem_history;
-- A move that the other key asks for is no transition, nor is one within a partition that only the key changes.
UPDATE by_status SET id = 50 WHERE id = 2;
UPDATE by_status SET id = 5 WHERE id = 50;
UPDATE by_status SET id = 51, status = 'back' WHERE id = 5;
SELECT * FROM history;

-- By another column, into partitions that are made and attached later, which have no statement trigger.
CREATE TABLE by_region (id integer, status text DEFAULT 'new', region integer DEFAULT 1, PRIMARY KEY (id, region))
    PARTITION BY LIST (region);
CREATE TABLE region_1 PARTITION OF by_region FOR VALUES IN (1);
SELECT idem_machine_attach('by_region', 'status', 'order', history => true);
CREATE TABLE region_2 PARTITION OF by_region FOR VALUES IN (2);
CREATE TABLE region_3 (region integer NOT NULL, id integer NOT NULL, status text);
INSERT INTO region_3 VALUES (3, 30, 'shipped'), (3, 31, 'lost');
ALTER TABLE by_region ATTACH PARTITION region_3 FOR VALUES IN (3);
SELECT * FROM idem_machine_validate('by_region');
INSERT INTO by_region (id) SELECT i FROM generate_series(1, 5) AS i;
INSERT INTO region_2 VALUES (20, 'new', 2);
SELECT attempt('INSERT INTO region_2 VALUES (21, ''paid'', 2)'),
    attempt('INSERT INTO region_3 VALUES (3, 32, ''paid'')');
DELETE FROM idem_history;
UPDATE by_region SET region = 2 WHERE id = 1;
UPDATE by_region SET region = 3, status = 'paid' WHERE id = 2;
UPDATE by_region SET region = region % 3 + 1, status = 'paid' WHERE id IN (1, 3);
UPDATE region_3 SET status = 'shipped' WHERE id = 2;
UPDATE region_2 SET status = 'paid' WHERE id = 20;
SELECT attempt('UPDATE by_region SET region = 3, status = ''shipped'' WHERE id = 4'),
    attempt('UPDATE by_region SET region = 1 WHERE id = 31'),
    attempt('UPDATE by_region SET region = 1, status = ''paid'' WHERE id = 31');
SELECT tableoid::regclass, id, status FROM by_region ORDER BY id;
SELECT * FROM history;
-- Births beside moves, in one statement; a row that is gone and comes again is born.
DELETE FROM idem_history;
WITH moved AS (UPDATE by_region SET region = 2 WHERE id IN (4, 5) RETURNING id)
INSERT INTO by_region SELECT id + 100, 'new', 1 FROM moved;
SELECT attempt('WITH moved AS (UPDATE by_region SET region = 3, status = ''paid'' WHERE id IN (4, 5) RETURNING id)
    INSERT INTO by_region SELECT id + 200, ''paid'', 1 FROM moved');
SELECT attempt('WITH gone AS (DELETE FROM by_region WHERE id = 3 RETURNING id)
    INSERT INTO by_region SELECT id, ''paid'', 1 FROM gone');
SELECT * FROM history;
-- A trigger that does not let the row arrive: it is lost, as the server has it, and no birth is taken for its arrival.
CREATE FUNCTION change_arrival() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id = 104 THEN
        RETURN NULL;
    END IF;
    NEW.status := CASE WHEN NEW.id = 105 THEN 'shipped' ELSE NEW.status END;
    RETURN NEW;
END $$;
CREATE TRIGGER change_arrival BEFORE INSERT ON region_3 FOR EACH ROW EXECUTE FUNCTION change_arrival();
UPDATE by_region SET status = 'paid' WHERE id IN (104, 105);
SELECT attempt('WITH moved AS (UPDATE by_region SET region = 3 WHERE id = 104 RETURNING id),
    lost AS (SELECT count(*) FROM moved)
    INSERT INTO by_region SELECT 300, ''paid'', 1 FROM lost');
UPDATE by_region SET region = 3 WHERE id IN (104, 4, 5);
-- What the trigger makes of the row on the way is judged.
DELETE FROM idem_history;
UPDATE by_region SET region = 3 WHERE id = 105;
SELECT attempt('UPDATE by_region SET region = 1, status = ''paid'' WHERE id = 105');
SELECT * FROM history;
SELECT tableoid::regclass, id, status FROM by_region WHERE id IN (4, 5, 104, 105) ORDER BY id;
-- Triggers of the user that fire in between, and move other rows in turn.
CREATE FUNCTION move_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE by_region SET region = 3 - region, status = 'paid' WHERE id = OLD.id + 1 AND status = 'new';
    RETURN NULL;
END $$;
CREATE TRIGGER "A first" AFTER DELETE ON by_region FOR EACH ROW EXECUTE FUNCTION move_next();
CREATE TRIGGER last AFTER DELETE ON by_region FOR EACH ROW EXECUTE FUNCTION move_next();
DELETE FROM by_region;
INSERT INTO by_region SELECT i FROM generate_series(1, 4) AS i;
DELETE FROM idem_history;
UPDATE by_region SET region = 2, status = 'paid' WHERE id IN (1, 3);
SELECT tableoid::regclass, id, status FROM by_region ORDER BY id;
SELECT * FROM history ORDER BY key;
-- The same with moves that savepoints take back.
DROP TRIGGER "A first" ON by_region;
CREATE OR REPLACE FUNCTION move_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE by_region SET region = 1, status = 'shipped' WHERE id = OLD.id + 1;
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
    RETURN NULL;
END $$;
DELETE FROM idem_history;
UPDATE by_region SET region = 1, status = 'shipped' WHERE id = 1;
SELECT tableoid::regclass, id, status FROM by_region ORDER BY id;
SELECT * FROM history;
DROP TABLE by_region, by_status;
DROP FUNCTION change_arrival, move_next;

-- A partition whose parent has no machine, and whose trigger is one's own.
CREATE TABLE half (id integer, status text) PARTITION BY LIST (id);
CREATE TABLE half_1 PARTITION OF half FOR VALUES IN (1);
CREATE TABLE half_2 PARTITION OF half FOR VALUES IN (2);
CREATE TRIGGER own AFTER INSERT OR UPDATE ON half_1 FOR EACH ROW
    EXECUTE FUNCTION idem_transition_check('order', 'status');
INSERT INTO half VALUES (2, 'shipped');
SELECT attempt('INSERT INTO half VALUES (1, ''shipped'')'), attempt('UPDATE half SET id = 1');
DROP TABLE half;

-- A table with a machine of its own becomes a partition once that is detached. Rows can be named through either table.
CREATE TABLE whole (id integer PRIMARY KEY, status text) PARTITION BY RANGE (id);
CREATE TABLE part (id integer PRIMARY KEY, status text);
SELECT idem_machine_attach(rel, 'status', 'order', history => true) FROM unnest('{whole,part}'::regclass[]) AS rel;
SELECT attempt('ALTER TABLE whole ATTACH PARTITION part DEFAULT');
SELECT idem_machine_detach('part', 'status');
ALTER TABLE whole ATTACH PARTITION part DEFAULT;
DELETE FROM idem_history;
INSERT INTO part VALUES (1, 'new');
SELECT * FROM idem_fire('part', '1', 'pay', 'e');
SELECT * FROM idem_fire('whole', '1', 'pay', 'e');
UPDATE part SET status = 'shipped';
SELECT from_state, to_state, event FROM idem_history_of('whole', '1') INTERSECT ALL
SELECT from_state, to_state, event FROM idem_history_of('part', '1') ORDER BY 2;
SELECT * FROM idem_machine_validate('part');
SELECT idem_machine_migrate('part', 'status', '{"shipped": "back"}');
SELECT * FROM history;
DROP TABLE whole;
DELETE FROM idem_history;

-- A foreign key that moves rows, two levels deep.
CREATE TABLE regions (id integer PRIMARY KEY);
INSERT INTO regions VALUES (1);
CREATE TABLE placed (id integer, status text DEFAULT 'new', region integer DEFAULT 1
    REFERENCES regions ON UPDATE CASCADE, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE placed_1 PARTITION OF placed FOR VALUES IN (1);
CREATE TABLE placed_2 PARTITION OF placed FOR VALUES IN (2);
SELECT idem_machine_attach('placed', 'status', 'order', history => true);
INSERT INTO placed VALUES (1), (2);
UPDATE placed SET status = 'paid';
DELETE FROM idem_history;
UPDATE regions SET id = 2;
SELECT tableoid::regclass, id, status FROM placed ORDER BY id;
SELECT * FROM history;
DROP TABLE placed, regions;

-- Guards see the row as the partitioned table has it.
CREATE TABLE guarded (id integer, gone integer, status text DEFAULT 'new', note text) PARTITION BY LIST (id);
ALTER TABLE guarded DROP COLUMN gone;
CREATE TABLE guarded_1 (note text, status text DEFAULT 'new', id integer);
ALTER TABLE guarded ATTACH PARTITION guarded_1 FOR VALUES IN (1);
CREATE TABLE guarded_2 PARTITION OF guarded FOR VALUES IN (2);
CREATE FUNCTION why_not(old guarded, new guarded) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN new.note IS DISTINCT FROM 'please' THEN format('%s to %s', old, new) END
$$;
SELECT idem_machine_attach('guarded', 'status', 'order', guards => '{"pay": "why_not"}');
INSERT INTO guarded VALUES (1), (2);
SELECT attempt('UPDATE guarded SET status = ''paid'' WHERE id = 1'),
    attempt('UPDATE guarded SET status = ''paid'', id = 2 WHERE id = 1') AS moving,
    attempt('UPDATE guarded SET status = ''paid'' WHERE id = 2') AS of_the_same_shape;
UPDATE guarded SET status = 'paid', note = 'please', id = 3 - id;
SELECT tableoid::regclass, * FROM guarded ORDER BY id;
DROP TABLE guarded CASCADE;

DROP VIEW history;
DELETE FROM idem_machines;
DELETE FROM idem_history;
