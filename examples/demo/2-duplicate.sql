-- A duplicate arrives while the first is working
--
-- The first session has claimed the key and has not committed yet.

--@ session first
BEGIN;
SELECT outcome FROM idem_begin('pay-2');
--@ expect started
INSERT INTO payments VALUES ('carol', 40);

-- A duplicate that does not want to wait is told when to come back.

--@ session second
SELECT outcome, retry_after FROM idem_begin('pay-2', wait => '0');
--@ expect in_progress | 00:00:01

-- One that says nothing about waiting waits for the transaction to end.

--@ send
SELECT outcome, result FROM idem_begin('pay-2');

-- Only now does the first session finish.

--@ session first
SELECT idem_finish('pay-2', '{"paid": 40}');
--@ expect finished
COMMIT;

-- At once the duplicate has its answer.

--@ receive second
--@ expect replayed | {"paid": 40}
