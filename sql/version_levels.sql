-- Versions at every isolation level, in partitions, and together with a state machine.
\set SHOW_CONTEXT never
CREATE TABLE answers (level text, in_one boolean, step integer, answer text);
CREATE TABLE levels (k text PRIMARY KEY, note text, version integer NOT NULL DEFAULT 1);
CREATE PROCEDURE live(in_one boolean) LANGUAGE plpgsql AS $$
DECLARE
    level text := current_setting('transaction_isolation');
    key text := level || in_one;
    steps text[] := ARRAY[
        $s$SELECT idem_version_attach('levels')$s$,
        $s$INSERT INTO levels VALUES (%1$L) RETURNING version$s$,
        $s$UPDATE levels SET note = 'a' WHERE k = %1$L RETURNING version$s$,
        $s$UPDATE levels SET version = 9 WHERE k = %1$L RETURNING version$s$,
        $s$SELECT idem_cas('levels', to_jsonb(%1$L::text), 2, '{"note": "b"}')$s$,
        $s$SELECT idem_cas('levels', to_jsonb(%1$L::text), 2, '{"note": "c"}')$s$,
        $s$SELECT idem_cas('levels', '"none"', 2, '{"note": "c"}')$s$,
        $s$SELECT idem_version_attach('levels', mode => 'client')$s$,
        $s$UPDATE levels SET note = 'd' WHERE k = %1$L RETURNING version$s$,
        $s$UPDATE levels SET note = 'd', version = 4 WHERE k = %1$L RETURNING version$s$,
        $s$SELECT idem_cas('levels', to_jsonb(%1$L::text), 4, '{}')$s$,
        $s$SELECT mode FROM idem_version_attachments$s$,
        $s$SELECT idem_version_detach('levels')$s$,
        $s$DELETE FROM levels RETURNING version$s$];
    answer text;
BEGIN
    FOR i IN 1..cardinality(steps) LOOP
        BEGIN
            EXECUTE 'WITH a AS (' || format(steps[i], key) || ') SELECT a::text FROM a' INTO STRICT answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLSTATE || ' ' || replace(SQLERRM, key, 'key');
        END;
        INSERT INTO answers VALUES (level, in_one, i, answer);
        IF NOT in_one THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;
CALL live(false);
CALL live(true);
SET default_transaction_isolation = 'repeatable read';
CALL live(false);
CALL live(true);
SET default_transaction_isolation = 'serializable';
CALL live(false);
CALL live(true);
RESET default_transaction_isolation;
SELECT step, answer, count(*) AS times FROM answers GROUP BY step, answer ORDER BY step, answer;
DROP PROCEDURE live;
DROP TABLE answers, levels;

-- Partitions: those there are, those that come later, with their columns in other places.
CREATE TABLE doc (id integer, place text, note text, version integer, seen text, PRIMARY KEY (id, place))
    PARTITION BY LIST (place);
CREATE TABLE doc_here (seen text, gone integer, version integer, note text, place text NOT NULL, id integer NOT NULL);
ALTER TABLE doc_here DROP COLUMN gone;
ALTER TABLE doc ATTACH PARTITION doc_here FOR VALUES IN ('here');
INSERT INTO doc VALUES (1, 'here');
SELECT idem_version_attach('doc', ignore => '{seen}');
SELECT idem_version_attach('doc', ignore => '{seen}', fill => true);
CREATE TABLE doc_there PARTITION OF doc FOR VALUES IN ('there');
CREATE TABLE doc_rest (LIKE doc_here INCLUDING ALL);
ALTER TABLE doc ATTACH PARTITION doc_rest DEFAULT;
INSERT INTO doc VALUES (2, 'there'), (3, 'elsewhere');
UPDATE doc SET note = 'a' RETURNING tableoid::regclass, id, version;
UPDATE doc SET seen = 'a' RETURNING tableoid::regclass, id, version;
-- A move keeps the version and raises it by one.
UPDATE doc SET place = 'there' WHERE id = 1 RETURNING tableoid::regclass, id, version;
UPDATE doc SET place = 'here', version = version + 1 RETURNING tableoid::regclass, id, version;
UPDATE doc SET place = 'elsewhere', version = version - 1 WHERE id = 2;
UPDATE doc_here SET note = 'direct' WHERE id = 1 RETURNING id, version;
UPDATE doc_here SET version = 1 WHERE id = 1;
SELECT idem_cas('doc', '{"id": 1, "place": "here"}', 5, '{"place": "nowhere"}');
SELECT idem_cas('doc', '{"id": 1, "place": "nowhere"}', 6, '{"seen": "x"}'), idem_cas('doc', '{"id": 1, "place": "nowhere"}', 6, '{}');
SELECT idem_cas('doc_rest', '{"id": 1, "place": "nowhere"}', 7, '{"note": "direct"}');
SELECT idem_version_attach('doc_here');
SELECT idem_version_detach('doc_here');
SELECT * FROM idem_version_attachments;
-- Checked already, a table does not become a partition.
CREATE TABLE doc_apart (LIKE doc INCLUDING ALL);
SELECT idem_version_attach('doc_apart');
ALTER TABLE doc ATTACH PARTITION doc_apart FOR VALUES IN ('apart');
-- Unless its check has another name; then it is rid of it on its own.
ALTER TRIGGER zzz_idem_version_version ON doc_apart RENAME TO zzz_other;
ALTER TABLE doc ATTACH PARTITION doc_apart FOR VALUES IN ('apart');
SELECT idem_version_detach('doc_apart');
ALTER TABLE doc DETACH PARTITION doc_apart;
SELECT rel, mode FROM idem_version_attachments ORDER BY rel::text;
SELECT idem_version_detach('doc_apart');
ALTER TABLE doc ATTACH PARTITION doc_apart FOR VALUES IN ('apart');
ALTER TABLE doc DETACH PARTITION doc_here;
SELECT rel, mode FROM idem_version_attachments;
SELECT idem_version_attach('doc', mode => 'client');
UPDATE doc SET note = 'x';
SELECT idem_version_detach('doc');
UPDATE doc SET version = 0 RETURNING id, version;
DROP TABLE doc, doc_here;

-- A machine has the first word.
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text NOT NULL DEFAULT 'new', version integer, note text);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
SELECT idem_version_attach('orders', mode => 'expect');
INSERT INTO orders VALUES (1), (2);
UPDATE orders SET status = 'paid', version = 1 WHERE id = 1 RETURNING status, version;
SELECT outcome, to_state FROM idem_fire('orders', '1', 'ship');
SELECT version FROM orders WHERE id = 1;
-- Refused by both: the machine says so.
UPDATE orders SET status = 'paid', version = 1 WHERE id = 1;
UPDATE orders SET status = 'nonsense', version = 1 WHERE id = 1;
-- By one of them.
UPDATE orders SET status = 'shipped', version = 1 WHERE id = 1;
UPDATE orders SET status = 'new' WHERE id = 1;
SELECT version FROM orders WHERE id = 1;
-- A refusal of the machine's leaves the version, and the other way round nothing is in the history.
SELECT idem_cas('orders', '2', 1, '{"status": "shipped"}');
SELECT idem_cas('orders', '2', 7, '{"status": "paid"}');
SELECT idem_cas('orders', '2', 1, '{"status": "paid"}');
SELECT id, status, version FROM orders ORDER BY id;
SELECT key, from_state, to_state FROM idem_history ORDER BY id;
-- Guards are asked as well; a trigger that does not fire has no word.
CREATE FUNCTION may_ship(orders) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN $1.note IS NULL THEN 'no note' END $$;
SELECT idem_machine_attach('orders', 'status', 'order', history => true, guards => '{"ship": "may_ship"}');
UPDATE orders SET status = 'shipped', version = 1 WHERE id = 2;
UPDATE orders SET status = 'shipped', version = 1, note = 'n' WHERE id = 2;
UPDATE orders SET status = 'shipped', note = 'n' WHERE id = 2 RETURNING version;
ALTER TABLE orders DISABLE TRIGGER _idem_status_change;
UPDATE orders SET status = 'new', version = 1 WHERE id = 2;
DROP FUNCTION may_ship CASCADE;
DROP TABLE orders;
DELETE FROM idem_machines;
DELETE FROM idem_history;
