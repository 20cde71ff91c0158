-- A transaction that stays open longer than its lease: its claim stays its own, because nobody else can reach the row.
BEGIN;
SELECT outcome FROM idem_begin('k', 'overlong', '\x01', lease => '100 ms');
CALL until_lapsed('k', 'overlong');
-- A duplicate in the same transaction is not waited for, and does not take over.
SELECT outcome, attempt, retry_after FROM idem_begin('k', 'overlong', '\x01');
SELECT outcome, attempt, retry_after FROM idem_begin('k', 'overlong', '\x01', wait => '1 h');
SELECT outcome FROM idem_begin('k', 'overlong', '\x02');
SELECT idem_checkpoint('k', 'half', '1', 'overlong');
SELECT idem_extend('k', 'overlong', lease => '100 ms') > clock_timestamp() AS extended;
CALL until_lapsed('k', 'overlong');
SELECT idem_finish('k', '"late but first"', 'overlong');
COMMIT;
SELECT outcome, attempt, result FROM idem_begin('k', 'overlong', '\x01');

-- Also after a savepoint, and for a claim that took over.
BEGIN;
SAVEPOINT s;
SELECT outcome FROM idem_begin('savepoint', 'overlong', lease => '1 us');
RELEASE s;
CALL until_lapsed('savepoint', 'overlong');
SELECT outcome, attempt FROM idem_begin('savepoint', 'overlong');
COMMIT;
BEGIN;
SELECT outcome, attempt FROM idem_begin('savepoint', 'overlong', lease => '1 us');
CALL until_lapsed('savepoint', 'overlong');
SELECT outcome, attempt FROM idem_begin('savepoint', 'overlong');
SELECT idem_finish('savepoint', '2', 'overlong');
COMMIT;
SELECT outcome, attempt, result FROM idem_begin('savepoint', 'overlong');
-- A record of this transaction does not expire under its owner either.
BEGIN;
SELECT outcome FROM idem_begin('expired', 'overlong', lease => '1 us', retain => '1 us');
CALL until_lapsed('expired', 'overlong');
SELECT outcome, attempt FROM idem_begin('expired', 'overlong');
SELECT status FROM idem_get('expired', 'overlong');
SELECT idem_finish('expired', '1', 'overlong');
COMMIT;
-- The clock is that of the call, not of the transaction: a lease given late in a transaction is a whole one.
BEGIN;
SELECT now() AS start \gset
SELECT outcome FROM idem_begin('first', 'overlong', lease => '50 ms');
CALL until_lapsed('first', 'overlong');
SELECT lease_expires_at > :'start'::timestamptz + '1 h 50 ms' AS whole
FROM idem_begin('second', 'overlong', lease => '1 h');
COMMIT;
-- Once committed, what is over is over.
SELECT outcome, attempt FROM idem_begin('first', 'overlong');
