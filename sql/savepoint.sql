-- What a savepoint takes back never happened, and what it keeps did.
BEGIN;
SAVEPOINT s;
SELECT outcome, attempt FROM idem_begin('begin', 'savepoint');
ROLLBACK TO s;
SELECT idem_finish('begin', '1', 'savepoint');
\echo :SQLSTATE
ROLLBACK TO s;
SELECT count(*) FROM idem_get('begin', 'savepoint');
SELECT outcome, attempt FROM idem_begin('begin', 'savepoint');
RELEASE s;
SELECT outcome FROM idem_begin('begin', 'savepoint');
SAVEPOINT s;
SELECT idem_finish('begin', '"first"', 'savepoint');
SELECT outcome, result FROM idem_begin('begin', 'savepoint');
ROLLBACK TO s;
SELECT outcome, result FROM idem_begin('begin', 'savepoint');
SELECT idem_finish('begin', '"second"', 'savepoint');
COMMIT;
SELECT outcome, result FROM idem_begin('begin', 'savepoint');

-- Begin inside, finish outside, and the other way round.
BEGIN;
SAVEPOINT s;
SELECT outcome FROM idem_begin('inside', 'savepoint');
RELEASE s;
SELECT idem_finish('inside', '1', 'savepoint');
SELECT outcome FROM idem_begin('outside', 'savepoint');
SAVEPOINT s;
SELECT idem_finish('outside', '1', 'savepoint');
RELEASE s;
COMMIT;
SELECT outcome, result FROM idem_begin('inside', 'savepoint');
SELECT outcome, result FROM idem_begin('outside', 'savepoint');

-- Every other step, undone.
SELECT token AS token, lease_expires_at AS lease FROM idem_begin('steps', 'savepoint') \gset
BEGIN;
SAVEPOINT s;
SELECT idem_extend('steps', 'savepoint', lease => '1 day') > :'lease' AS extended;
ROLLBACK TO s;
SELECT lease_expires_at = :'lease' AS as_before FROM idem_get('steps', 'savepoint');
SELECT idem_checkpoint('steps', 'c', '1', 'savepoint');
ROLLBACK TO s;
SELECT checkpoint, checkpoint_data FROM idem_get('steps', 'savepoint');
SELECT idem_release('steps', 'savepoint');
SELECT outcome, attempt FROM idem_begin('steps', 'savepoint');
ROLLBACK TO s;
SELECT status, token = :token AS same_token FROM idem_get('steps', 'savepoint');
SELECT idem_fail('steps', '1', 'savepoint', :token);
ROLLBACK TO s;
SELECT status FROM idem_get('steps', 'savepoint');
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'savepoint' AND key = 'steps';
RELEASE s;
COMMIT;
BEGIN;
SAVEPOINT s;
SELECT outcome, attempt FROM idem_begin('steps', 'savepoint');
ROLLBACK TO s;
SELECT attempt, token = :token AS same_token FROM idem_get('steps', 'savepoint');
SELECT idem_resolve('steps', 'fail', 'savepoint');
ROLLBACK TO s;
SELECT idem_forget('steps', 'savepoint');
ROLLBACK TO s;
SELECT status FROM idem_get('steps', 'savepoint');
-- The owner of before the take-over that was undone is the owner still.
SELECT idem_finish('steps', '"mine"', 'savepoint', :token);
COMMIT;
SELECT outcome, attempt, result FROM idem_begin('steps', 'savepoint');
-- In one session it need not even say so.
SELECT outcome, attempt FROM idem_begin('untold', 'savepoint', lease => '1 us');
BEGIN;
SAVEPOINT s;
SELECT outcome, attempt FROM idem_begin('untold', 'savepoint');
ROLLBACK TO s;
SELECT idem_finish('untold', '"mine"', 'savepoint');
COMMIT;
SELECT outcome, attempt, result FROM idem_begin('untold', 'savepoint');

-- An error inside takes its claim along; the outer one stays.
BEGIN;
SELECT outcome FROM idem_begin('outer', 'savepoint');
DO $$
BEGIN
    PERFORM idem_begin('inner', 'savepoint');
    PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
    RAISE NOTICE 'caught';
END $$;
SELECT outcome FROM idem_begin('inner', 'savepoint');
SELECT idem_finish('outer', '1', 'savepoint');
COMMIT;
-- Deep nesting, released and rolled back in turns.
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            PERFORM idem_begin('deep ' || i, 'savepoint');
            BEGIN
                PERFORM idem_finish('deep ' || i, to_jsonb(i), 'savepoint');
                IF i % 3 = 0 THEN
                    RAISE SQLSTATE 'ZZ001';
                END IF;
            EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
                PERFORM idem_fail('deep ' || i, to_jsonb(-i), 'savepoint');
            END;
            IF i % 5 = 0 THEN
                RAISE SQLSTATE 'ZZ002';
            END IF;
        EXCEPTION WHEN SQLSTATE 'ZZ002' THEN
            NULL;
        END;
    END LOOP;
END $$;
SELECT status, count(*) FROM idem_records WHERE scope = 'savepoint' AND key LIKE 'deep %' GROUP BY status
ORDER BY status;
-- An aborted transaction says so, and nothing of it stays.
BEGIN;
SELECT outcome FROM idem_begin('aborted', 'savepoint');
SELECT 1 / 0;
\set VERBOSITY sqlstate
SELECT outcome FROM idem_begin('aborted', 'savepoint');
\set VERBOSITY default
COMMIT;
SELECT count(*) FROM idem_get('aborted', 'savepoint');
