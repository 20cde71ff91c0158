-- Expired records are deleted in batches, oldest first; nothing else ever is.
DELETE FROM idem_records;
SELECT count(outcome) FROM generate_series(1, 10) AS i, idem_begin('expired ' || i, 'purge');
SELECT count(idem_finish('expired ' || i, scope => 'purge')) FROM generate_series(1, 10) AS i;
UPDATE idem_records SET expires_at = clock_timestamp() - (substr(key, 9) || ' s')::interval WHERE scope = 'purge';
SELECT outcome FROM idem_begin('fresh', 'purge');
SELECT idem_finish('fresh', scope => 'purge');
SELECT outcome FROM idem_begin('live', 'purge', retain => '1 us');
SELECT outcome FROM idem_begin('abandoned', 'purge', lease => '1 us');
SELECT outcome FROM idem_begin('abandoned and expired', 'purge', lease => '1 us', retain => '1 us');
SELECT outcome FROM idem_begin('released', 'purge');
SELECT idem_release('released', 'purge');
SELECT outcome FROM idem_begin('released and expired', 'purge', retain => '1 us');
SELECT idem_release('released and expired', 'purge');
SELECT outcome FROM idem_begin('failed and expired', 'purge', retain => '1 us');
SELECT idem_fail('failed and expired', scope => 'purge');
SELECT outcome FROM idem_begin('given to the next, expired', 'purge', lease => '1 us', retain => '1 us');
SELECT idem_resolve('given to the next, expired', 'retry', 'purge');

SELECT idem_purge(3);
SELECT string_agg(key, ', ' ORDER BY expires_at) FROM idem_records WHERE scope = 'purge' AND key LIKE 'expired %';
SELECT idem_purge(), idem_purge();
SELECT key, status FROM idem_records WHERE scope = 'purge' ORDER BY key;

-- What was purged can be claimed anew; a token of the old life does not fit.
SELECT token AS old FROM idem_begin('again', 'purge', retain => '1 us') \gset
SELECT idem_finish('again', '1', 'purge');
SELECT idem_purge();
SELECT idem_finish('again', '1', 'purge', :old);
\echo :SQLSTATE
SELECT outcome, token > :old AS newer FROM idem_begin('again', 'purge');
SELECT idem_finish('again', '1', 'purge', :old);
\echo :SQLSTATE
SELECT idem_purge(0);
\echo :SQLSTATE
SELECT idem_purge(-1);
SELECT idem_purge(NULL);
SELECT idem_purge(9223372036854775807);
-- A rollback keeps them.
SELECT outcome FROM idem_begin('kept', 'purge', retain => '1 us', lease => '1 us');
BEGIN;
SELECT idem_purge();
ROLLBACK;
SELECT idem_purge();
