-- A claim is finished once; its outcome then stands.
SELECT token AS token FROM idem_begin('k', 'finish') \gset
SELECT idem_finish('k', '{"id": 1}', 'finish', code => 200, body => 'raw');
SELECT status, token = :token AS same_token, attempt, code, result, body,
    completed_at BETWEEN created_at AND clock_timestamp() AS completed, lease_expires_at > now() AS lease_kept
FROM idem_get('k', 'finish');

-- The same again is no news; equality is that of jsonb.
SELECT idem_finish('k', '{"id": 1}', 'finish', code => 200, body => 'raw');
SELECT idem_finish('k', '{"id": 1.0}', 'finish', :token, 200, 'raw');
-- Anything else is refused, whatever part differs.
SELECT idem_finish('k', '{"id": 2}', 'finish', code => 200, body => 'raw');
\echo :SQLSTATE
CREATE FUNCTION finish_again(result jsonb, code integer, body bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN idem_finish('k', result, 'finish', code => code, body => body);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT finish_again('{"id": 1}', 201, 'raw') AS code, finish_again('{"id": 1}', NULL, 'raw') AS no_code,
    finish_again('{"id": 1}', 200, 'RAW') AS body, finish_again('{"id": 1}', 200, NULL) AS no_body,
    finish_again(NULL, 200, 'raw') AS no_result, finish_again('null', 200, 'raw') AS null_result,
        finish_again('{"id": 1}', 200, 'raw') AS same;
SELECT idem_fail('k', '{"id": 1}', 'finish', code => 200, body => 'raw');
\echo :SQLSTATE
SELECT idem_extend('k', 'finish');
\echo :SQLSTATE
SELECT idem_checkpoint('k', 'c', scope => 'finish');
\echo :SQLSTATE
SELECT idem_release('k', 'finish');
\echo :SQLSTATE
SELECT status, code, result, body FROM idem_get('k', 'finish');

-- Without a claim there is nothing to finish.
SELECT idem_finish('never', '1', 'finish');
\echo :SQLSTATE
SELECT idem_finish('never', '1', 'finish', 1);
\echo :SQLSTATE
-- In another scope it is another claim.
SELECT idem_finish('k', '1', 'finish: another');
\echo :SQLSTATE

-- The token decides, not the session.
SELECT token AS token FROM idem_begin('tokens', 'finish') \gset
SELECT idem_finish('tokens', '1', 'finish', :token - 1);
\echo :SQLSTATE
SELECT idem_finish('tokens', '1', 'finish', 0);
\echo :SQLSTATE
SELECT idem_finish('tokens', '1', 'finish', :token);

-- A session that does not know the claim has to pass its token.
SELECT token AS token FROM idem_begin('other session', 'finish') \gset
\c -
SELECT idem_finish('other session', '1', 'finish');
\echo :SQLSTATE
SELECT idem_finish('other session', '1', 'finish', :token);
SELECT idem_finish('other session', '1', 'finish');
\echo :SQLSTATE

-- A session remembers its last 1024 claims, and needs no memory for those of its own transaction.
BEGIN;
SELECT outcome FROM idem_begin('oldest', 'finish');
SELECT count(*) FROM generate_series(1, 1024) AS i, idem_begin('many ' || i, 'finish');
SELECT idem_finish('oldest', '1', 'finish');
SELECT outcome FROM idem_begin('oldest of all', 'finish');
COMMIT;
SELECT count(*) FROM generate_series(1, 1024) AS i, idem_begin('more ' || i, 'finish');
SELECT idem_finish('oldest of all', '1', 'finish');
\echo :SQLSTATE
SELECT idem_finish('more 1', '1', 'finish');
SELECT idem_finish('more 1024', '1', 'finish');
DROP FUNCTION finish_again;
