-- Everything in one call
--
-- When the work is one statement, idem_execute claims the key, runs the
-- statement with your rights and stores its result.

--@ session second
SELECT outcome, result FROM idem_execute('pay-3',
    'INSERT INTO payments VALUES ($1, $2) RETURNING amount',
    '["dave", 7]');
--@ expect finished | [{"amount": 7}]
SELECT outcome, result FROM idem_execute('pay-3',
    'INSERT INTO payments VALUES ($1, $2) RETURNING amount',
    '["dave", 7]');
--@ expect replayed | [{"amount": 7}]
SELECT count(*) FROM payments WHERE account = 'dave';
--@ expect 1
