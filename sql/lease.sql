-- When a lease is over the next caller takes the work over; until then nobody does.

-- The successor gets a new token and learns how far its predecessor came.
SELECT token AS first, lease_expires_at AS lease, expires_at AS expires
FROM idem_begin('k', 'lease', '\x01', lease => '100 ms', owner => 'first') \gset
SELECT idem_checkpoint('k', 'charged', '{"charge": 17}', 'lease');
CALL until_lapsed('k', 'lease');
SELECT outcome, token > :first AS newer, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    lease_expires_at BETWEEN now() + '1 h' AND clock_timestamp() + '1 h' AS lease,
        expires_at = :'expires' AS same_expiry, retry_after
FROM idem_begin('k', 'lease', '\x01', lease => '1 h', retain => '1 year', owner => 'second');
SELECT outcome, attempt, owner FROM idem_begin('k', 'lease', '\x01');
-- The predecessor can do nothing any more.
SELECT idem_finish('k', '"first"', 'lease', :first);
\echo :SQLSTATE
SELECT idem_fail('k', '"first"', 'lease', :first);
\echo :SQLSTATE
SELECT idem_extend('k', 'lease', :first);
\echo :SQLSTATE
SELECT idem_checkpoint('k', 'late', scope => 'lease', token => :first);
\echo :SQLSTATE
SELECT idem_release('k', 'lease', :first);
\echo :SQLSTATE
SELECT idem_finish('k', '"second"', 'lease');
SELECT outcome, attempt, result, checkpoint FROM idem_begin('k', 'lease', '\x01');
-- Also once the successor has finished, even with the same result.
SELECT idem_finish('k', '"second"', 'lease', :first);
\echo :SQLSTATE

-- A late owner whom nobody replaced may still store its result, since the work was done once.
SELECT outcome FROM idem_begin('late finish', 'lease', lease => '1 us');
SELECT outcome FROM idem_begin('late fail', 'lease', lease => '1 us');
CALL until_lapsed('late finish', 'lease');
CALL until_lapsed('late fail', 'lease');
SELECT idem_finish('late finish', '1', 'lease'), idem_fail('late fail', '2', 'lease');
SELECT outcome, attempt, failed, result FROM idem_begin('late finish', 'lease');
SELECT outcome, attempt, failed, result FROM idem_begin('late fail', 'lease');
-- But it may not go on as if the key were still its own.
SELECT outcome FROM idem_begin('late', 'lease', lease => '1 us');
CALL until_lapsed('late', 'lease');
SELECT idem_extend('late', 'lease');
\echo :SQLSTATE
SELECT idem_checkpoint('late', 'c', scope => 'lease');
\echo :SQLSTATE

-- Attempts count on, and finish after any of them.
SELECT outcome, attempt FROM idem_begin('often', 'lease', lease => '1 us');
SELECT outcome, attempt FROM idem_begin('often', 'lease', lease => '1 us');
SELECT outcome, attempt FROM idem_begin('often', 'lease', lease => '1 us');
SELECT idem_finish('often', '3', 'lease');
SELECT outcome, attempt, result FROM idem_begin('often', 'lease');

-- Abandoned work expires as well; then it starts anew.
SELECT token AS first FROM idem_begin('expired', 'lease', '\x01', lease => '1 us', retain => '1 us') \gset
SELECT idem_checkpoint('expired', 'c', '1', 'lease', :first);
CALL until_lapsed('expired', 'lease');
SELECT outcome, token > :first AS newer, attempt, checkpoint FROM idem_begin('expired', 'lease', '\x02');
SELECT idem_finish('expired', '1', 'lease', :first);
\echo :SQLSTATE
-- A live claim does not, however short its retention.
SELECT outcome FROM idem_begin('live', 'lease', lease => '1 h', retain => '1 us');
SELECT outcome, expires_at < clock_timestamp() AS passed FROM idem_begin('live', 'lease');
SELECT count(*) FROM idem_get('live', 'lease');
SELECT idem_finish('live', '1', 'lease');
SELECT count(*) FROM idem_get('live', 'lease');
SELECT outcome, attempt FROM idem_begin('live', 'lease');
