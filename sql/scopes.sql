-- A scope has a policy; what it leaves open comes from the settings.
CREATE FUNCTION policy(s text) RETURNS TABLE (retain interval, lease interval, max_attempts integer, on_abandoned text,
    max_result_bytes integer, on_expiry text, require_fingerprint boolean, member regrole) LANGUAGE sql AS $$
    SELECT retain, lease, max_attempts, on_abandoned, max_result_bytes, on_expiry, require_fingerprint, member
    FROM idem_scopes WHERE scope = s
$$;
SELECT idem_scope_set('scopes');
SELECT * FROM policy('scopes');
SELECT idem_scope_set('scopes', '7 days', '5 min', 3, 'hold', 4096, 'delete', true);
SELECT * FROM policy('scopes');
-- What is left out stays.
SELECT idem_scope_set('scopes', max_attempts => 5);
SELECT idem_scope_set('scopes', on_abandoned => 'retry', require_fingerprint => false);
SELECT * FROM policy('scopes');
SELECT idem_scope_reset('scopes'), idem_scope_reset('scopes'), idem_scope_reset('scopes: never set');
SELECT count(*) FROM policy('scopes');

-- Durations.
SELECT idem_scope_set('scopes', retain => '2 h', lease => '3 min');
SELECT lease_expires_at BETWEEN now() + '3 min' AND clock_timestamp() + '3 min' AS lease,
    expires_at BETWEEN now() + '2 h' AND clock_timestamp() + '2 h' AS retain
FROM idem_begin('durations', 'scopes');
SELECT lease_expires_at BETWEEN now() + '1 min' AND clock_timestamp() + '1 min' AS lease_of_the_call,
    expires_at BETWEEN now() + '1 h' AND clock_timestamp() + '1 h' AS retain_of_the_call
FROM idem_begin('durations of the call', 'scopes', lease => '1 min', retain => '1 h');
SELECT idem_scope_reset('scopes');
SET idem.default_lease = '7 min';
SET idem.default_retain = '8 d';
SELECT lease_expires_at BETWEEN now() + '7 min' AND clock_timestamp() + '7 min' AS lease_of_the_setting,
    expires_at BETWEEN now() + '192 h' AND clock_timestamp() + '192 h' AS retain_of_the_setting
FROM idem_begin('durations of the settings', 'scopes');
RESET idem.default_lease;
RESET idem.default_retain;

-- Abandoned work that an operator has to look at.
SELECT idem_scope_set('scopes', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('held', 'scopes', owner => 'lost');
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'scopes' AND key = 'held';
SELECT outcome, token, attempt, code, result, body, failed, checkpoint, owner,
    lease_expires_at <= clock_timestamp() AS lease_over, retry_after
FROM idem_begin('held', 'scopes');
SELECT outcome FROM idem_begin('held', 'scopes', wait => '1 h');
SELECT outcome FROM idem_begin('held', 'scopes', strict => true);
\echo :SQLSTATE
SELECT status, attempt FROM idem_get('held', 'scopes');
-- Its owner may still finish it.
SELECT idem_finish('held', '1', 'scopes');
SELECT outcome, result FROM idem_begin('held', 'scopes');

-- A cap on attempts.
SELECT idem_scope_set('scopes', on_abandoned => 'retry', max_attempts => 2);
SELECT outcome, attempt FROM idem_begin('capped', 'scopes', lease => '1 us');
SELECT outcome, attempt FROM idem_begin('capped', 'scopes', lease => '1 us');
SELECT outcome, token, attempt, owner IS NOT NULL AS owner, retry_after
FROM idem_begin('capped', 'scopes', lease => '1 us');
SELECT outcome FROM idem_begin('capped', 'scopes', strict => true);
\echo :SQLSTATE
-- It comes before the hold, and a policy counts from the next call on.
SELECT idem_scope_set('scopes', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('capped', 'scopes');
SELECT idem_scope_set('scopes', max_attempts => 3);
SELECT outcome FROM idem_begin('capped', 'scopes');
SELECT idem_scope_set('scopes', on_abandoned => 'retry');
SELECT outcome, attempt FROM idem_begin('capped', 'scopes');
SELECT idem_scope_reset('scopes');
SELECT idem_scope_set('scopes', max_attempts => 1);
SELECT outcome FROM idem_begin('once', 'scopes', lease => '1 us');
SELECT outcome FROM idem_begin('once', 'scopes');
SELECT idem_scope_reset('scopes');

-- A fingerprint that callers may not forget.
SELECT idem_scope_set('scopes', require_fingerprint => true);
SELECT outcome FROM idem_begin('required', 'scopes');
\echo :SQLSTATE
SELECT outcome FROM idem_execute('required', 'SELECT 1', scope => 'scopes');
\echo :SQLSTATE
SELECT outcome FROM idem_begin('required', 'scopes', '\x01');
SELECT idem_finish('required', scope => 'scopes');
SELECT idem_scope_reset('scopes');

-- A limit on results, which counts result and body together.
SELECT idem_scope_set('scopes', max_result_bytes => 1000);
SELECT outcome FROM idem_begin('sizes', 'scopes');
SELECT idem_finish('sizes', scope => 'scopes', body => decode(repeat('00', 1001), 'hex'));
\echo :SQLSTATE
SELECT idem_finish('sizes', '"x"', 'scopes', body => decode(repeat('00', 1000), 'hex'));
\echo :SQLSTATE
SELECT idem_finish('sizes', NULL, 'scopes', body => decode(repeat('00', 1000), 'hex'));
SELECT idem_scope_set('scopes', max_result_bytes => 0);
SELECT outcome FROM idem_begin('nothing', 'scopes');
SELECT idem_finish('nothing', 'null', 'scopes');
\echo :SQLSTATE
SELECT idem_finish('nothing', NULL, 'scopes', code => 204, body => '');
SELECT idem_scope_reset('scopes');

-- A change is seen by every session at once, also one made by hand and one that is rolled back.
SELECT outcome FROM idem_begin('cached', 'scopes', lease => '1 us');
BEGIN;
SELECT idem_scope_set('scopes', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('cached', 'scopes');
ROLLBACK;
INSERT INTO idem_scopes (scope, on_abandoned) VALUES ('scopes', 'hold');
SELECT outcome FROM idem_begin('cached', 'scopes');
UPDATE idem_scopes SET on_abandoned = 'retry', max_attempts = 1 WHERE scope = 'scopes';
SELECT outcome FROM idem_begin('cached', 'scopes');
DELETE FROM idem_scopes WHERE scope = 'scopes';
SELECT outcome, attempt FROM idem_begin('cached', 'scopes', lease => '1 us');
BEGIN;
SAVEPOINT undone;
SELECT idem_scope_set('scopes', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('cached', 'scopes');
ROLLBACK TO undone;
SELECT outcome, attempt FROM idem_begin('cached', 'scopes');
ROLLBACK;

-- What makes no sense is refused.
SELECT idem_scope_set('scopes', max_attempts => 0);
\echo :SQLSTATE
SELECT idem_scope_set('scopes', on_abandoned => 'drop');
\echo :SQLSTATE
SELECT idem_scope_set('scopes', on_abandoned => '');
SELECT idem_scope_set('scopes', max_result_bytes => -1);
\echo :SQLSTATE
SELECT idem_scope_set('scopes', on_expiry => 'archive');
SELECT on_expiry FROM policy('scopes');
SELECT idem_scope_set('scopes', lease => '1 h');
SELECT on_expiry FROM policy('scopes');
SELECT idem_scope_set('scopes', on_expiry => 'Archive');
\echo :SQLSTATE
SELECT idem_scope_reset('scopes');
SELECT idem_scope_set('scopes', on_expiry => 'forget');
\echo :SQLSTATE
SELECT idem_scope_set('scopes', retain => '0');
\echo :SQLSTATE
SELECT idem_scope_set('scopes', lease => '-1 s');
\echo :SQLSTATE
SELECT idem_scope_set('scopes', member => '-');
\echo :SQLSTATE
SELECT idem_scope_set(repeat('x', 129));
\echo :SQLSTATE
SELECT idem_scope_set(repeat('x', 128), lease => '1 h');
SELECT lease_expires_at > clock_timestamp() + '59 min' AS lease FROM idem_begin('longest scope', repeat('x', 128));
SELECT idem_scope_reset(repeat('x', 128));
SELECT idem_scope_reset(NULL);
\echo :SQLSTATE
SELECT count(*) FROM policy('scopes');
DROP FUNCTION policy;
