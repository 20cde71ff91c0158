-- A key is claimed once, and every call gets one row that says what to do.

-- The first call has the work to do.
SELECT outcome, token > 0 AS token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    lease_expires_at BETWEEN now() + '60 s' AND clock_timestamp() + '60 s' AS lease_of_a_minute,
    expires_at BETWEEN now() + '24 h' AND clock_timestamp() + '24 h' AS retained_for_a_day, retry_after
FROM idem_begin('first', 'begin');
-- Everybody else hears who has it and when to come back.
SELECT outcome, token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    lease_expires_at > clock_timestamp() AS live, expires_at > clock_timestamp() + '23 h' AS retained,
    retry_after BETWEEN lease_expires_at - clock_timestamp() AND lease_expires_at - now() AS retry_after_the_lease
FROM idem_begin('first', 'begin');
SELECT count(*) FROM idem_records WHERE scope = 'begin';

-- Scopes keep keys apart, and so does case; the scope has a default.
SELECT outcome FROM idem_begin('first', 'begin2');
SELECT outcome FROM idem_begin('FIRST', 'begin');
SELECT outcome FROM idem_begin('begin: default scope');
SELECT scope FROM idem_records WHERE key = 'begin: default scope';

-- Arguments by name, in any order.
SELECT outcome, owner, lease_expires_at BETWEEN now() + '5 min' AND clock_timestamp() + '5 min' AS lease,
    expires_at BETWEEN now() + '7 days' AND clock_timestamp() + '7 days' AS retain
FROM idem_begin(scope => 'begin', owner => 'worker 7', retain => '7 days', lease => '5 min', key => 'named');
SELECT outcome, owner FROM idem_begin('named', 'begin', owner => 'worker 8');
-- Without a name of its own a claim has the application's, or none.
SET application_name = 'shop';
SELECT owner FROM idem_begin('application', 'begin');
SET application_name = '';
SELECT outcome, owner FROM idem_begin('nameless', 'begin');
RESET application_name;

-- Tokens grow from claim to claim.
SELECT token AS first FROM idem_begin('tokens 1', 'begin') \gset
SELECT token > :first AS grows FROM idem_begin('tokens 2', 'begin');

-- A duplicate neither aborts the transaction nor waits for itself.
BEGIN;
SELECT outcome FROM idem_begin('twice', 'begin');
SELECT outcome, owner, retry_after > '0' AS retry_after FROM idem_begin('twice', 'begin');
SELECT outcome FROM idem_begin('twice', 'begin', wait => '1 hour');
SELECT outcome FROM idem_begin('first', 'begin');
SELECT 'still alive' AS transaction;
COMMIT;
-- What was rolled back never happened.
BEGIN;
SELECT outcome FROM idem_begin('rolled back', 'begin');
ROLLBACK;
SELECT outcome, attempt FROM idem_begin('rolled back', 'begin');

-- A wait that comes to nothing.
SELECT outcome FROM idem_begin('first', 'begin', wait => '0');
SELECT clock_timestamp() AS before \gset
SELECT outcome, clock_timestamp() - :'before' BETWEEN '50 ms' AND '30 s' AS waited
FROM idem_begin('first', 'begin', wait => '50 ms');
-- A wait that pays: the lease ends within it.
SELECT outcome FROM idem_begin('short', 'begin', lease => '100 ms');
SELECT outcome, attempt FROM idem_begin('short', 'begin', wait => '1 min');

-- Callers who prefer errors.
SELECT outcome FROM idem_begin('strict', 'begin', fingerprint => '\x01', strict => true);
SELECT outcome FROM idem_begin('strict', 'begin', fingerprint => '\x02', strict => true);
\echo :SQLSTATE
SELECT idem_finish('strict', '1', 'begin');
SELECT outcome FROM idem_begin('strict', 'begin', fingerprint => '\x01', strict => true);
DO $$
BEGIN
    PERFORM idem_begin('first', 'begin', strict => true);
EXCEPTION WHEN SQLSTATE 'ID409' THEN
    RAISE NOTICE '%', SQLERRM;
END $$;

-- A claim that has to be visible to others at once.
SELECT outcome FROM idem_begin('committed', 'begin', committed => true);
BEGIN;
SELECT outcome FROM idem_begin('committed in a block', 'begin', committed => true);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
SAVEPOINT inside;
SELECT outcome FROM idem_begin('committed in a block', 'begin', committed => true);
ROLLBACK;
DO $$
BEGIN
    PERFORM idem_begin('committed in a block', 'begin', committed => true);
EXCEPTION WHEN active_sql_transaction THEN
    RAISE NOTICE 'refused in an exception block';
END $$;
SELECT count(*) FROM idem_records WHERE key = 'committed in a block';
-- Flags left NULL are off.
BEGIN;
SELECT outcome FROM idem_begin('flags', 'begin', committed => NULL, strict => NULL);
SELECT outcome FROM idem_begin('flags', 'begin', committed => NULL, strict => NULL);
COMMIT;
