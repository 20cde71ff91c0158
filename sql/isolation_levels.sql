-- The same life of a key at every isolation level: each step in a transaction of its own, and all in one.
CREATE TABLE answers (level text, in_one boolean, step integer, answer text);
CREATE PROCEDURE live(in_one boolean) LANGUAGE plpgsql AS $$
DECLARE
    level text := current_setting('transaction_isolation');
    k text := level || in_one;
    s text := 'isolation';
    steps text[] := ARRAY[
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L, '\x01', '1 h')$s$,
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L, '\x01')$s$,
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L, '\x01', wait => '0')$s$,
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L, '\x02', wait => '5 ms')$s$,
        $s$SELECT idem_extend(%1$L, %2$L, lease => '2 h') > now() + '1 h'$s$,
        $s$SELECT idem_checkpoint(%1$L, 'half', '1', %2$L)$s$,
        $s$SELECT status, checkpoint, checkpoint_data FROM idem_get(%1$L, %2$L)$s$,
        $s$UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE key = %1$L RETURNING status$s$,
        $s$SELECT idem_resolve(%1$L, 'fail', %2$L, '"lost"')$s$,
        $s$SELECT outcome, failed, result FROM idem_begin(%1$L, %2$L)$s$,
        $s$SELECT idem_forget(%1$L, %2$L)$s$,
        $s$SELECT count(*) FROM idem_get(%1$L, %2$L)$s$,
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L)$s$,
        $s$SELECT idem_release(%1$L, %2$L)$s$,
        $s$SELECT outcome, attempt FROM idem_begin(%1$L, %2$L, lease => '1 us', wait => '1 s')$s$,
        $s$SELECT idem_finish(%1$L, '"done"', %2$L, code => 200, body => '\x00')$s$,
        $s$SELECT idem_finish(%1$L, '"done"', %2$L, code => 200, body => '\x00')$s$,
        $s$SELECT outcome, failed, code, result, body FROM idem_begin(%1$L, %2$L)$s$,
        $s$SELECT outcome, failed, code, result, body FROM idem_execute(%1$L, 'SELECT 1', scope => %2$L)$s$,
        $s$UPDATE idem_records SET expires_at = '-infinity' WHERE key = %1$L RETURNING status$s$,
        $s$SELECT count(*) FROM idem_get(%1$L, %2$L)$s$,
        $s$SELECT idem_purge() > 0$s$,
        $s$SELECT outcome, result FROM idem_execute(%1$L, 'SELECT $1::integer + 1 AS x', '[1]', %2$L)$s$,
        $s$SELECT outcome, result FROM idem_execute(%1$L, 'SELECT $1::integer + 1 AS x', '[1]', %2$L)$s$,
        $s$SELECT outcome FROM idem_begin(%1$L || ' failed', %2$L)$s$,
        $s$SELECT idem_fail(%1$L || ' failed', scope => %2$L)$s$,
        $s$SELECT idem_scope_set(%1$L, lease => '1 h')$s$,
        $s$SELECT lease_expires_at > now() + '59 min' FROM idem_begin(%1$L, %1$L)$s$,
        $s$SELECT idem_scope_reset(%1$L)$s$,
        $s$SELECT lease_expires_at < now() + '59 min' FROM idem_begin(%1$L || ' 2', %1$L)$s$,
        $s$SELECT idem_grant('regress_idem_isolation')$s$,
        $s$SELECT idem_revoke('regress_idem_isolation')$s$,
        $s$SELECT idem_key(%2$L), idem_child_key(%2$L, 'x'), octet_length(idem_fingerprint('{}'))$s$];
    answer text;
BEGIN
    FOR i IN 1..cardinality(steps) LOOP
        BEGIN
            EXECUTE 'WITH a AS MATERIALIZED (' || format(steps[i], k,
                s) || ') SELECT a::text FROM a' INTO STRICT answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLSTATE || ' ' || SQLERRM;
        END;
        INSERT INTO answers VALUES (level, in_one, i, answer);
        IF NOT in_one THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;
CREATE ROLE regress_idem_isolation;
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
DROP TABLE answers;
DROP OWNED BY regress_idem_isolation;
DROP ROLE regress_idem_isolation;

-- A transaction that may not write: writers are refused before they look at anything else, readers work.
SELECT outcome FROM idem_begin('k', 'isolation');
BEGIN READ ONLY;
SELECT call, attempt('SELECT FROM ' || call) FROM unnest(ARRAY[
    $$idem_begin('k', 'isolation')$$, $$idem_begin(NULL)$$, $$idem_finish('k', scope => 'isolation')$$,
    $$idem_fail('k', scope => 'isolation')$$,
    $$idem_release('k', 'isolation')$$, $$idem_extend('k', 'isolation')$$,
    $$idem_checkpoint('k', 'c', scope => 'isolation')$$,
    $$idem_execute('e', 'SELECT 1')$$, $$idem_resolve('k', 'retry', 'isolation')$$,
    $$idem_forget('k', 'isolation', true)$$, $$idem_purge()$$,
    $$idem_scope_set('isolation')$$, $$idem_scope_reset('isolation')$$, $$idem_grant('pg_monitor')$$,
    $$idem_revoke('pg_monitor')$$,
    $$idem_get('k', 'isolation')$$, $$idem_get('never', 'isolation')$$, $$idem_key('k')$$,
    $$idem_child_key('k', 's')$$, $$idem_fingerprint('1')$$]) AS call;
COMMIT;
