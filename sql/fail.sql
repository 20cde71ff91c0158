-- A final failure is stored and replayed like a result, with failed set.
SELECT token AS token FROM idem_begin('k', 'fail') \gset
SELECT idem_fail('k', '{"error": "card declined"}', 'fail', code => 402);
SELECT outcome, code, result, body, failed FROM idem_begin('k', 'fail');
SELECT status, code, result, completed_at IS NOT NULL AS completed FROM idem_get('k', 'fail');
SELECT idem_fail('k', '{"error": "card declined"}', 'fail', :token, 402);
-- It stands as a result does.
SELECT idem_fail('k', '{"error": "something else"}', 'fail', code => 402);
\echo :SQLSTATE
SELECT idem_finish('k', '{"error": "card declined"}', 'fail', code => 402);
\echo :SQLSTATE
SELECT idem_release('k', 'fail');
\echo :SQLSTATE
SELECT idem_fail('never', scope => 'fail');
\echo :SQLSTATE

-- Nothing to say is also a failure.
SELECT outcome FROM idem_begin('silent', 'fail');
SELECT idem_fail('silent', scope => 'fail');
SELECT outcome, code, result, body, failed FROM idem_begin('silent', 'fail');
-- A replayed failure is no error to strict callers either: it is the answer.
SELECT outcome, failed FROM idem_begin('silent', 'fail', strict => true);
