-- The owner may put a partitioned table in the place of idem_records: SQL then does what direct access did.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_partitioned;
\c regress_idem_partitioned
CREATE EXTENSION pg_idem;
CREATE FUNCTION live(k text) RETURNS TABLE (step integer, answer text) LANGUAGE plpgsql AS $$
DECLARE
    calls text[] := ARRAY[
        $c$row(outcome, attempt, token > 0, owner) FROM idem_begin(%1$L, 'life', '\x01', lease => '1 h', owner => 'a')$c$,
        $c$row(outcome, attempt, owner, retry_after > '59 min') FROM idem_begin(%1$L, 'life', '\x01')$c$,
        $c$row(outcome, attempt) FROM idem_begin(%1$L, 'life', '\x01', wait => '2 ms')$c$,
        $c$row(outcome, attempt) FROM idem_begin(%1$L, 'life', '\x02')$c$,
        $c$idem_checkpoint(%1$L, 'half', '1', 'life')$c$,
        $c$idem_extend(%1$L, 'life', lease => '2 h') > now() + '1 h'$c$,
        $c$row(status, checkpoint, checkpoint_data, owner) FROM idem_get(%1$L, 'life')$c$,
        $c$idem_finish(%1$L, '{"a": 1}', 'life', code => 200, body => '\x00')$c$,
        $c$idem_finish(%1$L, '{"a": 1}', 'life', code => 200, body => '\x00')$c$,
        $c$row(outcome, code, result, body, failed) FROM idem_begin(%1$L, 'life', '\x01')$c$,
        $c$idem_forget(%1$L, 'life')$c$, $c$count(*) FROM idem_get(%1$L, 'life')$c$,
        $c$row(outcome, result) FROM idem_execute(%1$L, 'SELECT 1 AS a', scope => 'life')$c$,
        $c$row(outcome, result) FROM idem_execute(%1$L, 'SELECT 1 AS a', scope => 'life')$c$,
        $c$outcome FROM idem_begin(%1$L, 'released')$c$, $c$idem_release(%1$L, 'released')$c$,
        $c$row(outcome, attempt) FROM idem_begin(%1$L, 'released')$c$,
        $c$idem_fail(%1$L, '2', 'released')$c$, $c$row(outcome, failed, result) FROM idem_begin(%1$L, 'released')$c$];
BEGIN
    FOR i IN 1..cardinality(calls) LOOP
        step := i;
        EXECUTE 'SELECT ' || format(calls[i], k) INTO answer;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE FUNCTION answer_to(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE 'SELECT ' || call INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE TABLE plain AS SELECT * FROM live('k');
SELECT * FROM plain ORDER BY step;
SELECT token AS kept FROM idem_begin('kept', 'moved', '\x01') \gset

-- The exchange, with what was stored, under a session that knows the old table.
BEGIN;
ALTER EXTENSION pg_idem DROP TABLE idem_records;
ALTER TABLE idem_records RENAME TO idem_records_before;
CREATE TABLE idem_records (LIKE idem_records_before INCLUDING CONSTRAINTS,
    PRIMARY KEY (scope, key)) PARTITION BY HASH (scope, key);
SELECT format('CREATE TABLE idem_records_%s PARTITION OF idem_records FOR VALUES WITH (MODULUS 4, REMAINDER %s) WITH (fillfactor = 70)', i, i)
FROM generate_series(0, 3) AS i \gexec
CREATE INDEX ON idem_records (expires_at);
INSERT INTO idem_records SELECT * FROM idem_records_before;
DROP TABLE idem_records_before;
ALTER EXTENSION pg_idem ADD TABLE idem_records;
COMMIT;
SELECT outcome, result FROM idem_begin('k', 'life');
SELECT outcome, attempt FROM idem_begin('kept', 'moved', '\x01');
SELECT idem_finish('kept', '1', 'moved', :kept);
SELECT count(*) AS differences FROM (SELECT * FROM live('another') EXCEPT SELECT * FROM plain) AS d;
\c -
SELECT count(*) AS differences FROM (SELECT * FROM live('in a new session') EXCEPT SELECT * FROM plain) AS d;
SELECT count(outcome) FROM generate_series(1, 100) AS i, idem_begin('spread ' || i, 'spread');
SELECT count(DISTINCT tableoid) AS partitions, count(*) FROM idem_records WHERE scope = 'spread';

-- Take-over, stale tokens, decisions, expiry.
SELECT token AS first FROM idem_begin('lease', 'lease', lease => '1 us') \gset
SELECT outcome, attempt, token > :first AS newer FROM idem_begin('lease', 'lease', lease => '1 us');
SELECT answer_to(format('idem_finish(''lease'', token => %s, scope => ''lease'')', :first)) AS stale,
    answer_to('idem_extend(''lease'', ''lease'')') AS late,
    answer_to('idem_finish(''lease'', ''1'', ''lease'')') AS late_finish,
        answer_to('idem_finish(''lease'', ''2'', ''lease'')') AS other_result,
    answer_to('idem_finish(''never'', ''2'', ''lease'')') AS never;
SELECT idem_scope_set('held', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('held', 'held', lease => '1 us');
SELECT outcome FROM idem_begin('held', 'held');
SELECT idem_resolve('held', 'retry', 'held');
SELECT outcome, attempt FROM idem_begin('held', 'held');
SELECT answer_to('idem_forget(''held'', ''held'')') AS live, idem_forget('held', 'held', true) AS by_force;
UPDATE idem_records SET expires_at = '-infinity', lease_expires_at = '-infinity' WHERE scope = 'spread';
SELECT count(*) FROM idem_get('spread 1', 'spread');
SELECT outcome, attempt FROM idem_begin('spread 1', 'spread');
SELECT idem_purge(10), idem_purge(), idem_purge();
SELECT count(*) FROM idem_records WHERE scope = 'spread';
-- One transaction, with savepoints; its own claim past its lease.
BEGIN;
SAVEPOINT s;
SELECT outcome FROM idem_begin('one', 'one', lease => '1 us');
SELECT outcome, retry_after FROM idem_begin('one', 'one');
ROLLBACK TO s;
SELECT outcome FROM idem_begin('one', 'one');
SELECT idem_finish('one', '1', 'one');
COMMIT;
SELECT outcome, result FROM idem_begin('one', 'one');
-- Replays cost no transaction id here either.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT outcome, result FROM idem_begin('one', 'one');
SELECT pg_current_xact_id_if_assigned();
COMMIT;
-- Without privileges of its own on the new table, an application can still work.
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
SET ROLE regress_idem_app;
SELECT outcome FROM idem_begin('app', 'app');
SELECT outcome, result FROM idem_begin('one', 'one');
RESET ROLE;
\c :home
DROP DATABASE regress_idem_partitioned;
DROP ROLE regress_idem_app;
