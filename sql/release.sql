-- A claim given back is as if it had never been made, except that tokens never go back.
SELECT token AS first FROM idem_begin('k', 'release', '\x01') \gset
SELECT idem_checkpoint('k', 'half', '{"secret": 1}', 'release');
SELECT idem_release('k', 'release');
SELECT status, token = :first AS same_token, checkpoint, checkpoint_data, code, result, body
FROM idem_get('k', 'release');
SELECT idem_release('k', 'release'), idem_release('k', 'release', :first);
-- Its owner is out.
SELECT idem_finish('k', '1', 'release');
\echo :SQLSTATE
SELECT idem_fail('k', '1', 'release', :first);
\echo :SQLSTATE
SELECT idem_extend('k', 'release');
\echo :SQLSTATE
SELECT idem_checkpoint('k', 'more', scope => 'release');
\echo :SQLSTATE
-- The next begin starts at once, as a first attempt of any request.
SELECT outcome, token > :first AS newer, attempt, checkpoint, checkpoint_data,
    lease_expires_at > clock_timestamp() AS live, expires_at > clock_timestamp() AS retained
FROM idem_begin('k', 'release', '\x02');
SELECT idem_finish('k', '1', 'release', :first);
\echo :SQLSTATE
SELECT idem_release('k', 'release', :first);
\echo :SQLSTATE
SELECT idem_finish('k', '1', 'release');
SELECT idem_release('k', 'release');
\echo :SQLSTATE

-- There may be nothing to give back.
SELECT idem_release('never', 'release'), idem_release('never', 'release', 1);
-- A lease that ran out does not matter until somebody takes over.
SELECT outcome FROM idem_begin('late', 'release', lease => '1 us');
SELECT idem_release('late', 'release');
SELECT token AS first FROM idem_begin('replaced', 'release', lease => '1 us') \gset
SELECT outcome, attempt FROM idem_begin('replaced', 'release');
SELECT idem_release('replaced', 'release', :first);
\echo :SQLSTATE
SELECT idem_release('replaced', 'release');

-- In one transaction.
BEGIN;
SELECT token AS first FROM idem_begin('one', 'release') \gset
SELECT idem_release('one', 'release');
SELECT outcome, attempt, token > :first AS newer FROM idem_begin('one', 'release');
SELECT idem_finish('one', '1', 'release');
COMMIT;
SELECT outcome, result FROM idem_begin('one', 'release');
