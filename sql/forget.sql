-- A record can be removed, so that its key starts anew.
SELECT idem_forget('never', 'forget');
SELECT token AS first FROM idem_begin('k', 'forget') \gset
DO $$
DECLARE
    hint text;
BEGIN
    PERFORM idem_forget('k', 'forget');
EXCEPTION WHEN SQLSTATE 'ID409' THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RAISE NOTICE USING MESSAGE = SQLERRM, HINT = hint;
END $$;
SELECT status FROM idem_get('k', 'forget');
SELECT idem_finish('k', '1', 'forget');
SELECT idem_forget('k', 'forget');
SELECT count(*) FROM idem_records WHERE scope = 'forget';
SELECT idem_finish('k', '1', 'forget', :first);
\echo :SQLSTATE
-- The key is as new, and tokens still grow.
SELECT outcome, attempt, token > :first AS newer FROM idem_begin('k', 'forget');
SELECT idem_finish('k', '1', 'forget', :first);
\echo :SQLSTATE
-- Live work only by force; its owner is told.
SELECT idem_forget('k', 'forget', true);
SELECT idem_finish('k', '1', 'forget');
\echo :SQLSTATE
SELECT outcome FROM idem_begin('k', 'forget');
\set VERBOSITY sqlstate
SELECT idem_forget('k', 'forget', NULL);
SELECT idem_forget('k', 'forget', false);
\set VERBOSITY default
-- Abandoned, given back, failed, expired: all of it.
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'forget' AND key = 'k';
SELECT idem_forget('k', 'forget');
SELECT count(outcome) FROM unnest(ARRAY['released', 'failed', 'expired']) AS k, idem_begin(k, 'forget');
SELECT idem_release('released', 'forget'), idem_fail('failed', scope => 'forget'),
    idem_finish('expired', scope => 'forget');
UPDATE idem_records SET expires_at = clock_timestamp() WHERE scope = 'forget' AND key = 'expired';
SELECT idem_forget('released', 'forget'), idem_forget('failed', 'forget'), idem_forget('expired', 'forget');
SELECT count(*) FROM idem_records WHERE scope = 'forget';
-- The same key elsewhere stays.
SELECT outcome FROM idem_begin('k', 'forget');
SELECT outcome FROM idem_begin('k', 'forget: another');
SELECT idem_forget('k', 'forget', true);
SELECT status FROM idem_get('k', 'forget: another');
