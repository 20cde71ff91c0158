-- Durations: NULL is the default, the rest must make sense.
CREATE FUNCTION begin_with(argument text, value text) RETURNS text LANGUAGE sql AS $$
    SELECT attempt(format('SELECT FROM idem_begin(%L, %L, %s => %L::interval)', concat(argument, value), 'intervals',
        argument, value))
$$;
SELECT argument, value, begin_with(argument, value)
FROM unnest(ARRAY['lease', 'retain', 'wait']) WITH ORDINALITY AS a(argument, i),
    unnest(ARRAY[NULL, '0', '-1 us', '-1 month', '1 us', '1 day -26 h', '1 month', '10000 years', '10001 years',
        '3660001 days', '200000 years', '2000000000 days', '-100000 years']) WITH ORDINALITY AS v(value, j)
ORDER BY i, j;

-- Calendar units count from now on.
SELECT lease_expires_at BETWEEN now() + '1 month' AND clock_timestamp() + '1 month' AS lease,
    expires_at BETWEEN now() + '1 year 1 mon 1 day' AND clock_timestamp() + '1 year 1 mon 1 day' AS retain
FROM idem_begin('months', 'intervals', lease => '1 month', retain => '1 year 1 mon 1 day');
-- A day can have 23 or 25 hours: the session's time zone counts.
SET TimeZone = 'America/New_York';
SELECT lease_expires_at BETWEEN now() + '200 days' AND clock_timestamp() + '200 days' AS days
FROM idem_begin('days', 'intervals', lease => '200 days');
RESET TimeZone;
-- Far away, and back: the record of a year 10000 years hence is an ordinary one.
SELECT outcome, expires_at > now() + '9999 years' AS far FROM idem_begin('far', 'intervals', retain => '10000 years');
SELECT idem_finish('far', '1', 'intervals');
SELECT outcome, result, expires_at > now() + '9999 years' AS far FROM idem_begin('far', 'intervals');
-- The same rules for a heartbeat and for scopes.
SELECT outcome FROM idem_begin('heartbeat', 'intervals');
SELECT value, attempt(format('SELECT FROM idem_extend(''heartbeat'', ''intervals'', lease => %L)', value)) AS heartbeat,
    attempt(format('SELECT idem_scope_set(''intervals'', lease => %L)', value)) AS scope_lease,
    attempt(format('SELECT idem_scope_set(''intervals'', retain => %L)', value)) AS scope_retain
FROM unnest(ARRAY[NULL, '0', '-1 s', '1 us', '1 month', '10001 years']) AS value;
SELECT idem_scope_reset('intervals');

-- Infinite intervals, where the server has them: an owner that dies must be replaced one day, a record may stay.
SELECT argument, value, left(begin_with(argument, value),
    5) = CASE WHEN current_setting('server_version_num')::integer < 170000 THEN '22007'
    ELSE answer END AS as_it_should
FROM (VALUES ('lease', 'infinity', 'ID400'), ('lease', '-infinity', 'ID400'), ('retain', 'infinity', 'ok'),
    ('retain', '-infinity', 'ID400'),
    ('wait', 'infinity', 'ok'), ('wait', '-infinity', 'ID400')) AS t(argument, value, answer);
SELECT bool_and(expires_at = 'infinity') IS NOT false AS for_ever FROM idem_get('retaininfinity', 'intervals');
DROP FUNCTION begin_with;
