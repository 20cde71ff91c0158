-- A stream's state belongs to the transaction: at every isolation level, with savepoints that roll back, and as often
-- in one transaction as one likes.
CREATE FUNCTION take(n bigint, OUT outcome text, OUT first_seq bigint, OUT remembered boolean) LANGUAGE sql AS $$
    SELECT a.outcome, a.first_seq, a.remembered
    FROM idem_producers AS p, idem_accept('levels', p.producer_id, 1, n, result => to_jsonb(n)) AS a WHERE p.stream = 'levels'
$$;
SELECT epoch, last_seq FROM idem_producer('levels', 'levels');
CREATE PROCEDURE walk(base integer) LANGUAGE plpgsql AS $$
DECLARE
    answer record;
BEGIN
    FOR i IN base + 1..base + 3 LOOP
        answer := take(i);
        RAISE NOTICE '%', answer;
        BEGIN
            answer := take(i + 1);
            answer := take(i + 2);
            RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = answer::text;
        EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
            RAISE NOTICE 'rolled back %', SQLERRM;
        END;
        answer := take(i);
        RAISE NOTICE '%', answer;
    END LOOP;
END $$;
BEGIN;
CALL walk(0);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL walk(3);
SELECT last_seq, results FROM idem_producers WHERE stream = 'levels';
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CALL walk(6);
SAVEPOINT one;
SELECT * FROM take(10);
SAVEPOINT two;
SELECT * FROM take(11);
ROLLBACK TO one;
\set VERBOSITY sqlstate
SELECT * FROM take(11);
\set VERBOSITY default
ROLLBACK TO one;
SELECT * FROM take(10);
RELEASE one;
COMMIT;
SELECT last_seq, results FROM idem_producers WHERE stream = 'levels';
-- What is rolled back never happened.
BEGIN;
SELECT * FROM take(11);
ROLLBACK;
SELECT * FROM take(11);
-- Registered in the transaction that uses it.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT outcome FROM idem_producer('fresh', 'levels fresh') AS p, idem_accept('levels fresh', p.producer_id, p.epoch, 1);
SELECT outcome FROM idem_producer('fresh', 'levels fresh') AS p, idem_accept('levels fresh', p.producer_id, p.epoch, 1);
ROLLBACK;
SELECT count(*) FROM idem_producers WHERE stream = 'levels fresh';
-- Several in one statement see each other.
SELECT count(*) FILTER (WHERE outcome = 'accepted') AS accepted, count(*) FILTER (WHERE outcome = 'duplicate') AS duplicates
FROM generate_series(12, 21) AS n, LATERAL (SELECT (take(n)).outcome UNION ALL SELECT (take(n)).outcome) AS twice;
-- Nothing is written where nothing may be.
BEGIN READ ONLY;
SELECT * FROM take(1);
\echo :SQLSTATE
ROLLBACK;
-- A duplicate is answered without a transaction id, and without a lock that others would wait for.
BEGIN;
SELECT outcome, remembered FROM take(21);
SELECT CASE WHEN current_setting('idem.direct_access')::boolean THEN txid_current_if_assigned() IS NULL ELSE true END AS no_transaction_id;
COMMIT;
DELETE FROM idem_producers WHERE stream = 'levels';
DROP PROCEDURE walk;
DROP FUNCTION take;
