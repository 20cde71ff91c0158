-- The settings that are used where neither the call nor the scope says anything.
\c -
-- Set before the module is loaded, in a session without preload.
SET idem.default_lease = '7 min';
SELECT lease_expires_at BETWEEN now() + '7 min' AND clock_timestamp() + '7 min' AS seven_minutes
FROM idem_begin('early', 'settings');
RESET idem.default_lease;
SELECT lease_expires_at BETWEEN now() + '1 min' AND clock_timestamp() + '1 min' AS a_minute
FROM idem_begin('reset', 'settings');
SELECT name, unit, vartype, context, min_val, max_val, boot_val FROM pg_settings WHERE name LIKE 'idem.%'
AND context <> 'postmaster' -- there with preload only
ORDER BY name COLLATE "C";
SET idem.default_lease = '1 d';
SHOW idem.default_lease;
BEGIN;
SET LOCAL idem.default_retain = '90 d';
SELECT expires_at BETWEEN now() + '90 d' AND clock_timestamp() + '90 d' AS ninety_days
FROM idem_begin('local', 'settings');
COMMIT;
SELECT expires_at < now() + '2 d' AS local_only FROM idem_begin('after', 'settings');
\set VERBOSITY sqlstate
SET idem.default_lease = 0;
SET idem.default_retain = '-1 s';
SET idem.default_max_result_bytes = -1;
SET idem.default_lease = 'soon';
-- How much a result may take is not the application's choice; how it is read is a developer's.
CREATE ROLE regress_idem_settings;
SET ROLE regress_idem_settings;
SET idem.default_max_result_bytes = '10MB';
SET idem.direct_access = off;
SET idem.default_retain = '1 h';
RESET ROLE;
\set VERBOSITY default
SHOW idem.default_max_result_bytes;
DROP ROLE regress_idem_settings;
