-- Recovery points: the next attempt learns how far the last one came.
SELECT token AS token FROM idem_begin('k', 'checkpoint') \gset
SELECT idem_checkpoint('k', 'charged', '{"charge": "ch_1"}', 'checkpoint');
SELECT checkpoint, checkpoint_data, status FROM idem_get('k', 'checkpoint');
-- The last one counts, with its own data only.
SELECT idem_checkpoint('k', 'mailed', scope => 'checkpoint', token => :token);
SELECT checkpoint, checkpoint_data FROM idem_get('k', 'checkpoint');
SELECT idem_checkpoint('k', 'null', 'null', 'checkpoint');
SELECT checkpoint, checkpoint_data, checkpoint_data IS NULL AS is_null FROM idem_get('k', 'checkpoint');
-- Those who wait for the work do not see it.
SELECT outcome, checkpoint, checkpoint_data FROM idem_begin('k', 'checkpoint');
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'checkpoint' AND key = 'k';
SELECT outcome, attempt, checkpoint, checkpoint_data FROM idem_begin('k', 'checkpoint');
-- It stays when the successor does nothing about it, and when the work is finished, but is not part of the answer.
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'checkpoint' AND key = 'k';
SELECT outcome, attempt, checkpoint FROM idem_begin('k', 'checkpoint');
SELECT idem_checkpoint('k', 'third', '3', 'checkpoint');
SELECT idem_finish('k', '1', 'checkpoint');
SELECT outcome, checkpoint, checkpoint_data FROM idem_begin('k', 'checkpoint');
SELECT checkpoint, checkpoint_data FROM idem_get('k', 'checkpoint');

SELECT idem_checkpoint('never', 'c', scope => 'checkpoint');
\echo :SQLSTATE
SELECT idem_checkpoint('k', 'c', scope => 'checkpoint', token => :token);
\echo :SQLSTATE
SELECT outcome FROM idem_begin('names', 'checkpoint');
SELECT idem_checkpoint('names', repeat('x', 128), scope => 'checkpoint');
SELECT octet_length(checkpoint) FROM idem_get('names', 'checkpoint');
SELECT idem_checkpoint('names', repeat('x', 129), scope => 'checkpoint');
\echo :SQLSTATE
SELECT idem_checkpoint('names', '', scope => 'checkpoint');
SELECT idem_checkpoint('names', NULL, scope => 'checkpoint');
-- Its data is as limited as a result.
SELECT idem_scope_set('checkpoint', max_result_bytes => 100);
SELECT idem_checkpoint('names', 'large', to_jsonb(repeat('x', 200)), 'checkpoint');
\echo :SQLSTATE
SELECT idem_scope_reset('checkpoint');
-- After the lease it is refused, except in the transaction that wrote the claim.
SELECT outcome FROM idem_begin('late', 'checkpoint', lease => '1 us');
SELECT idem_checkpoint('late', 'c', scope => 'checkpoint');
\echo :SQLSTATE
BEGIN;
SELECT outcome, attempt FROM idem_begin('late', 'checkpoint', lease => '1 us');
SELECT idem_checkpoint('late', 'c', scope => 'checkpoint');
COMMIT;
SELECT checkpoint, attempt FROM idem_get('late', 'checkpoint');
