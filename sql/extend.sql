-- A heartbeat prolongs a live claim; it never shortens one, and never brings a dead one back.
SELECT token AS token, lease_expires_at AS lease, expires_at AS expires
FROM idem_begin('k', 'extend', lease => '1 h') \gset
SELECT idem_extend('k', 'extend', lease => '2 h') BETWEEN now() + '2 h' AND clock_timestamp() + '2 h' AS longer;
SELECT lease_expires_at AS lease FROM idem_get('k', 'extend') \gset
SELECT idem_extend('k', 'extend', lease => '1 min') = :'lease' AS not_shorter;
SELECT idem_extend('k', 'extend') = :'lease' AS default_lease_is_shorter;
SELECT status, attempt, token = :token AS same_token, lease_expires_at = :'lease' AS lease,
    expires_at = :'expires' AS same_expiry
FROM idem_get('k', 'extend');
-- By default it is the lease that a claim would get.
SELECT outcome FROM idem_begin('default', 'extend', lease => '1 s');
SELECT idem_extend('default', 'extend') BETWEEN now() + '60 s' AND clock_timestamp() + '60 s' AS of_the_setting;
SELECT idem_scope_set('extend', lease => '10 min');
SELECT idem_extend('default', 'extend') BETWEEN now() + '10 min' AND clock_timestamp() + '10 min' AS of_the_scope;
SELECT idem_scope_reset('extend');
-- Calendar units count in the session's time zone.
SET TimeZone = 'Europe/Berlin';
SELECT idem_extend('k', 'extend', lease => '1 month 1 day') BETWEEN now() + '1 month 1 day'
    AND clock_timestamp() + '1 month 1 day' AS month;
RESET TimeZone;

SELECT idem_extend('k', 'extend', :token + 1);
\echo :SQLSTATE
SELECT idem_extend('never', 'extend');
\echo :SQLSTATE
SELECT idem_extend('never', 'extend', 1);
\echo :SQLSTATE
-- The lease is over at its last moment.
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'extend' AND key = 'k';
SELECT idem_extend('k', 'extend');
\echo :SQLSTATE
-- What this transaction has written nobody else can take, so it may go on.
BEGIN;
SELECT outcome FROM idem_begin('k', 'extend', lease => '1 us');
SELECT idem_extend('k', 'extend', lease => '1 h') > clock_timestamp() AS extended;
ROLLBACK;
SELECT idem_extend('k', 'extend', :token);
\echo :SQLSTATE
