-- A stored outcome comes back to every duplicate, exactly as it was stored.
SELECT outcome FROM idem_begin('order 1', 'replay', owner => 'worker 1');
SELECT idem_finish('order 1', '{"id": 7, "total": 1.50}', 'replay', code => 201, body => '\x00ff');
SELECT outcome, token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    lease_expires_at > clock_timestamp() AS lease, expires_at > clock_timestamp() AS expires, retry_after
FROM idem_begin('order 1', 'replay', owner => 'worker 2');
SELECT a = b AS always_the_same
FROM idem_begin('order 1', 'replay') AS a, idem_begin('order 1', 'replay', wait => '1 s', strict => true) AS b;

-- Within the transaction that stored it.
BEGIN;
SELECT outcome FROM idem_begin('order 2', 'replay');
SELECT idem_finish('order 2', '"done"', 'replay');
SELECT outcome, result FROM idem_begin('order 2', 'replay');
COMMIT;
SELECT outcome, result FROM idem_begin('order 2', 'replay');

-- Values that are easily taken for nothing.
CREATE TABLE falsy (name text, result jsonb, body bytea, code integer);
INSERT INTO falsy VALUES
    ('nothing', NULL, NULL, NULL), ('null', 'null', NULL, NULL), ('false', 'false', NULL, NULL),
    ('zero', '0', NULL, 0), ('empty string', '""', NULL, NULL), ('empty array', '[]', NULL, NULL),
    ('empty object', '{}', NULL, NULL), ('empty body', NULL, '', NULL), ('nul bytes', NULL, '\x00610000', NULL),
    ('negative code', NULL, NULL, -1), ('everything empty', '""', '', 0);
SELECT count(outcome) FROM falsy, idem_begin('falsy ' || name, 'replay');
SELECT count(idem_finish('falsy ' || name, result, 'replay', code => code, body => body)) FROM falsy;
SELECT name, outcome, r.result, r.body, r.code,
    (r.result, r.body, r.code) IS NOT DISTINCT FROM (f.result, f.body, f.code) AS as_stored
FROM falsy AS f, idem_begin('falsy ' || name, 'replay') AS r ORDER BY name COLLATE "C";
-- A character that jsonb cannot hold is refused by jsonb, and the claim can still be settled.
SELECT outcome FROM idem_begin('nul', 'replay');
DO $$
BEGIN
    PERFORM idem_finish('nul', '"\u0000"', 'replay');
EXCEPTION WHEN untranslatable_character THEN
    RAISE NOTICE 'refused';
END $$;
SELECT idem_finish('nul', scope => 'replay', body => convert_to('"\u0000"', 'UTF8'));
SELECT outcome, result, convert_from(body, 'UTF8') AS body FROM idem_begin('nul', 'replay');

-- Numbers keep their digits.
SELECT outcome FROM idem_begin('digits', 'replay');
SELECT idem_finish('digits', '[1.0, 1.00, 12345678901234567890.123456789, 1e2]', 'replay');
SELECT result FROM idem_begin('digits', 'replay');

-- An expired record counts as absent, purged or not; nothing of it is left.
UPDATE idem_records SET expires_at = clock_timestamp(), attempt = 3, checkpoint = 'c', checkpoint_data = '1'
WHERE scope = 'replay' AND key = 'order 1';
SELECT token AS old, clock_timestamp() AS before FROM idem_records WHERE scope = 'replay' AND key = 'order 1' \gset
SELECT outcome, token > :old AS new_token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
    expires_at BETWEEN now() + '1 h' AND clock_timestamp() + '1 h' AS retained_anew
FROM idem_begin('order 1', 'replay', '\x01', retain => '1 h', owner => 'worker 3');
SELECT status, attempt, owner, created_at > :'before' AS created_anew, completed_at, fingerprint,
    code, result, body, checkpoint, checkpoint_data
FROM idem_records WHERE scope = 'replay' AND key = 'order 1';
-- An owner of the old life cannot reach the new one.
SELECT idem_finish('order 1', '{"id": 7, "total": 1.50}', 'replay', :old);
\echo :SQLSTATE
DROP TABLE falsy;
