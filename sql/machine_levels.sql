-- State machines at every isolation level: each step in a transaction of its own, and all in one.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
CREATE TABLE answers (level text, in_one boolean, step integer, answer text);
CREATE TABLE levels (level text PRIMARY KEY, status text NOT NULL DEFAULT 'new', v integer);
CREATE PROCEDURE live(in_one boolean) LANGUAGE plpgsql AS $$
DECLARE
    level text := current_setting('transaction_isolation');
    k text := level || in_one;
    steps text[] := ARRAY[
        $s$SELECT idem_machine_define(%1$L, '{new}', '{{new,paid,pay},{paid,shipped,ship},{paid,held,hold}}')$s$,
        $s$SELECT idem_machine_define(%1$L, '{new}', '{{new,paid,pay},{paid,shipped,ship},{paid,held,hold}}')$s$,
        $s$SELECT length(idem_machine_diagram(%1$L))$s$,
        $s$SELECT count(*) FROM idem_machine_states(%1$L)$s$,
        $s$SELECT count(*) FROM idem_machine_transitions(%1$L)$s$,
        $s$SELECT idem_can_transition(%1$L, 'new', 'paid')$s$,
        $s$SELECT idem_check_transition(%1$L, 'new', 'shipped')$s$,
        $s$SELECT idem_machine_attach('levels', 'status', %1$L, history => true, version_col => 'v')$s$,
        $s$INSERT INTO levels VALUES (%1$L) RETURNING status, v$s$,
        $s$INSERT INTO levels VALUES (%1$L || ' 2', 'paid') RETURNING status, v$s$,
        $s$SELECT event, to_state FROM idem_allowed_events('levels', to_jsonb(%1$L::text))$s$,
        $s$SELECT outcome FROM idem_fire('levels', to_jsonb(%1$L::text), 'pay', 'e', '1')$s$,
        $s$SELECT outcome FROM idem_fire('levels', to_jsonb(%1$L::text), 'pay', 'e', '1')$s$,
        $s$SELECT outcome FROM idem_fire('levels', to_jsonb(%1$L::text), 'pay', 'e', '2')$s$,
        $s$SELECT outcome FROM idem_fire('levels', to_jsonb(%1$L::text), 'pay')$s$,
        $s$UPDATE levels SET status = 'new' RETURNING status, v$s$,
        $s$UPDATE levels SET status = 'held' RETURNING status, v$s$,
        $s$SELECT idem_machine_define(%1$L, '{new}', '{{new,paid,pay},{paid,shipped,ship}}')$s$,
        $s$SELECT state, rows, problem ~ 'machine' FROM idem_machine_validate('levels')$s$,
        $s$SELECT idem_machine_migrate('levels', 'status', '{"held": "paid"}')$s$,
        $s$UPDATE levels SET status = 'shipped' RETURNING status, v$s$,
        $s$SELECT string_agg(concat(from_state, '>', to_state), ' ')
        FROM idem_history_of('levels', to_jsonb(%1$L::text))$s$,
        $s$SELECT machine = %1$L, history, version_col FROM idem_machine_attachments$s$,
        $s$SELECT idem_machine_detach('levels', 'status')$s$,
        $s$SELECT idem_machine_detach('levels', 'status')$s$,
        $s$UPDATE levels SET status = 'anything' RETURNING status, v$s$,
        $s$DELETE FROM levels RETURNING status$s$];
    answer text;
BEGIN
    FOR i IN 1..cardinality(steps) LOOP
        BEGIN
            EXECUTE 'WITH a AS (' || format(steps[i], k) || ') SELECT a::text FROM a' INTO STRICT answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLSTATE || ' ' || replace(SQLERRM, k, 'machine');
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
SELECT attachment, count(*), count(DISTINCT key) AS keys FROM idem_history GROUP BY attachment;
DROP PROCEDURE live;
DROP TABLE answers, levels;
DELETE FROM idem_machines;
DELETE FROM idem_history;
DELETE FROM idem_records;

-- A transaction that may not write: writers are refused before they look at anything else, readers work.
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text DEFAULT 'new');
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
INSERT INTO orders VALUES (1), (2);
SELECT outcome FROM idem_fire('orders', '1', 'pay', 'e');
BEGIN READ ONLY;
SELECT call, attempt('SELECT a::text FROM ' || call || ' AS a') FROM unnest(ARRAY[
    $$idem_machine_define('order', '{}', '{}')$$, $$idem_machine_define(NULL, NULL::text)$$,
    $$idem_machine_attach('orders', 'status', 'order')$$, $$idem_machine_attach(NULL, NULL, NULL)$$,
    $$idem_machine_detach('orders', 'status')$$, $$idem_machine_detach(NULL, NULL)$$,
    $$idem_machine_migrate('orders', 'status', '{"new": "paid"}')$$, $$idem_machine_migrate(NULL, NULL)$$,
    $$idem_fire('orders', '2', 'pay')$$, $$idem_fire('orders', '1', 'pay')$$, $$idem_fire('orders', '1', 'pay', 'e')$$,
    $$idem_fire(NULL, NULL, NULL)$$,
    $$idem_allowed_events('orders', '2')$$, $$idem_machine_validate('orders')$$,
    $$(SELECT count(*) FROM idem_history_of('orders', '1'))$$,
    $$idem_can_transition('order', 'new', 'paid')$$, $$idem_check_transition('order', 'new', 'paid')$$,
    $$length(idem_machine_diagram('order', rel => 'orders'))$$, $$(SELECT count(*) FROM idem_machine_states('order'))$$,
    $$(SELECT count(*) FROM idem_machine_transitions('order'))$$,
    $$(SELECT count(*) FROM idem_machine_attachments)$$]) AS call;
COMMIT;
DROP TABLE orders;
DELETE FROM idem_machines;
DELETE FROM idem_history;
DELETE FROM idem_records;
SELECT idem_cleanup_resume();
