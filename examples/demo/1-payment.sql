-- A payment: claimed, finished, replayed
--
-- Claim, payment and result share one transaction. The fingerprint says
-- which request the key stands for.

--@ session first
CREATE TABLE payments (account text, amount numeric);
BEGIN;
SELECT outcome FROM idem_begin('pay-1',
    fingerprint => idem_fingerprint('{"to": "bob", "amount": 25}'));
--@ expect started
INSERT INTO payments VALUES ('bob', 25);
SELECT idem_finish('pay-1', '{"paid": 25}', code => 201);
--@ expect finished
COMMIT;

-- The answer got lost on its way to the client, who sends the request again
-- and reaches another session. It gets the stored result.

--@ session second
SELECT outcome, code, result FROM idem_begin('pay-1',
    fingerprint => idem_fingerprint('{"amount": 25.00, "to": "bob"}'));
--@ expect replayed | 201 | {"paid": 25}
SELECT count(*) FROM payments;
--@ expect 1
