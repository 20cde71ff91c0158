-- An operator decides abandoned work.
CREATE FUNCTION abandon(k text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    token bigint := (idem_begin(k, 'resolve', '\x01', owner => 'lost')).token;
BEGIN
    PERFORM idem_checkpoint(k, 'half', '1', 'resolve');
    UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'resolve' AND key = k;
    RETURN token;
END $$;
SELECT idem_scope_set('resolve', on_abandoned => 'hold', max_attempts => 1);

-- Done after all.
SELECT abandon('finished') AS lost \gset
SELECT idem_resolve('finished', 'finish', 'resolve', '{"by": "hand"}', 200);
SELECT outcome, code, result, body, failed, attempt FROM idem_begin('finished', 'resolve', '\x01');
SELECT status, token > :lost AS new_token, completed_at IS NOT NULL AS completed, fingerprint
FROM idem_get('finished', 'resolve');
-- Given up.
SELECT abandon('failed') AS lost \gset
SELECT idem_resolve('failed', 'fail', 'resolve', '"lost"', 500);
SELECT outcome, code, result, failed FROM idem_begin('failed', 'resolve', '\x01');
SELECT idem_fail('failed', '"lost"', 'resolve', :lost, 500);
\echo :SQLSTATE
-- Once more: held or used up, the next begin starts where the last one was.
SELECT abandon('retried') AS lost \gset
SELECT outcome FROM idem_begin('retried', 'resolve', '\x01');
SELECT idem_resolve('retried', 'retry', 'resolve');
SELECT status, lease_expires_at, token > :lost AS new_token, completed_at, checkpoint
FROM idem_get('retried', 'resolve');
SELECT outcome FROM idem_begin('retried', 'resolve', '\x02');
SELECT outcome, attempt, checkpoint, checkpoint_data FROM idem_begin('retried', 'resolve', '\x01');
SELECT idem_finish('retried', '1', 'resolve', :lost);
\echo :SQLSTATE
SELECT idem_finish('retried', '1', 'resolve');
-- Between the word and the next begin nobody owns the key, and the word can be changed.
SELECT abandon('changed') AS lost \gset
SELECT idem_resolve('changed', 'retry', 'resolve');
SELECT idem_finish('changed', '1', 'resolve', :lost);
\echo :SQLSTATE
SELECT idem_extend('changed', 'resolve');
\echo :SQLSTATE
SELECT idem_resolve('changed', 'retry', 'resolve');
SELECT idem_resolve('changed', 'fail', 'resolve');
SELECT outcome, failed, result FROM idem_begin('changed', 'resolve', '\x01');
-- The word counts once.
SELECT abandon('once') AS lost \gset
SELECT idem_resolve('once', 'retry', 'resolve');
SELECT outcome, attempt FROM idem_begin('once', 'resolve', '\x01', lease => '1 us');
SELECT outcome, attempt FROM idem_begin('once', 'resolve', '\x01');
-- An operator may go on in the same transaction.
SELECT abandon('at once') AS lost \gset
BEGIN;
SELECT idem_resolve('at once', 'retry', 'resolve');
\set VERBOSITY sqlstate
SAVEPOINT s;
SELECT idem_extend('at once', 'resolve', token) FROM idem_get('at once', 'resolve');
ROLLBACK TO s;
\set VERBOSITY default
SELECT outcome, attempt, checkpoint FROM idem_begin('at once', 'resolve', '\x01');
SELECT outcome, attempt FROM idem_begin('at once', 'resolve', '\x01');
SELECT idem_finish('at once', '1', 'resolve');
COMMIT;
SELECT outcome, attempt, result FROM idem_begin('at once', 'resolve', '\x01');

-- Live work, settled work and no work need no decision.
SELECT idem_scope_reset('resolve');
SELECT outcome FROM idem_begin('live', 'resolve');
DO $$
BEGIN
    PERFORM idem_resolve('live', 'retry', 'resolve');
EXCEPTION WHEN SQLSTATE 'ID409' THEN
    RAISE NOTICE '%', SQLERRM;
END $$;
SELECT idem_finish('live', scope => 'resolve');
SELECT idem_resolve('live', 'fail', 'resolve');
\echo :SQLSTATE
SELECT idem_resolve('failed', 'finish', 'resolve');
\echo :SQLSTATE
SELECT outcome FROM idem_begin('released', 'resolve');
SELECT idem_release('released', 'resolve');
SELECT idem_resolve('released', 'retry', 'resolve');
\echo :SQLSTATE
SELECT idem_resolve('never', 'retry', 'resolve');
\echo :SQLSTATE
-- Words that are none.
SELECT abandon('words') AS lost \gset
SELECT idem_resolve('words', 'restart', 'resolve');
\echo :SQLSTATE
SELECT idem_resolve('words', 'RETRY', 'resolve');
\echo :SQLSTATE
SELECT idem_resolve('words', '', 'resolve');
SELECT idem_resolve('words', NULL, 'resolve');
SELECT idem_resolve('words', 'retry', 'resolve', '1');
\echo :SQLSTATE
SELECT idem_resolve('words', 'retry', 'resolve', code => 1);
SELECT idem_resolve('words', 'finish', 'resolve', to_jsonb(repeat('x', 2000000)));
\echo :SQLSTATE
SELECT status, attempt FROM idem_get('words', 'resolve');
DROP FUNCTION abandon;
