-- A lock, and a holder that comes back too late
--
-- A durable lock is a name that at most one has at a time, for as long as its
-- lease lasts. It needs no connection: behind a pool it works just as well.

--@ session ann
CREATE TABLE balances (id int PRIMARY KEY, amount int);
INSERT INTO balances VALUES (1, 100);
SELECT acquired FROM idem_lock('balance-1', '2 seconds');
--@ expect t
--@ session bob
SELECT acquired, holder FROM idem_lock('balance-1', '1 minute');
--@ expect f | ann

-- Not to get it is an answer, no error. Ann falls asleep. Bob waits until her
-- lease is over, and learns that the lock was lost rather than given back.

SELECT acquired, after_loss
FROM idem_lock('balance-1', '1 minute', wait => '20 seconds');
--@ expect t | t

-- He writes behind a fence, which lets the present holder pass.

BEGIN;
SELECT idem_fence('balance-1');
UPDATE balances SET amount = 80 WHERE id = 1;
COMMIT;

-- Ann wakes up, and does not know that she was asleep. The fence does.

--@ session ann
BEGIN;
SELECT idem_fence('balance-1');
--@ expect ERROR: the token is not that of the present holder of lock "balance-1"
UPDATE balances SET amount = 150 WHERE id = 1;
--@ expect ERROR: current transaction is aborted, commands ignored until end of transaction block
ROLLBACK;
SELECT amount FROM balances;
--@ expect 80

-- A transaction lock needs no lease: it ends with its transaction.

BEGIN;
SELECT acquired FROM idem_xact_lock('month-end');
--@ expect t
--@ session bob
--@ send
SELECT acquired FROM idem_xact_lock('month-end');

-- Who has what:

--@ session ann
SELECT name, kind, holder, waiters FROM idem_locks ORDER BY kind;
--@ expect balance-1 | durable | bob | 0
--@ expect month-end | transaction | ann | 1
COMMIT;
--@ receive bob
--@ expect t
