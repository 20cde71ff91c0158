-- The same key, but another amount
--
-- A client used the key of the first payment for a different request.
-- It is refused, and learns nothing about the first one.

--@ session second
SELECT outcome, code, result FROM idem_begin('pay-1',
    fingerprint => idem_fingerprint('{"to": "bob", "amount": 99}'));
--@ expect mismatch | |
