-- Locks of a session and of a transaction, as one session sees them; test/isolation has the others.
SET client_min_messages = warning;
SET application_name = 'me';
CREATE VIEW mine AS
    SELECT name, kind, holder, token IS NOT NULL AS has_token, acquired_at <= clock_timestamp() AS acquired,
        expires_at, remaining, waiters, data
    FROM idem_locks WHERE pid = pg_backend_pid() ORDER BY name COLLATE "C", kind;

-- What a grant says.
SELECT acquired, token > 0 AS has_token, expires_at, holder, data, after_loss, depth, retry_after
FROM idem_session_lock('a');
SELECT * FROM mine;
SELECT acquired, token > 0 AS has_token, expires_at, holder, data, after_loss, depth, retry_after
FROM idem_xact_lock('a');
SELECT * FROM mine;
SELECT idem_session_unlock('a');
SELECT * FROM mine;

-- A session takes its lock again without waiting, with the same token, and gives it back as often.
SELECT token FROM idem_session_lock('a') \gset
SELECT acquired, depth, token = :token AS same_token FROM idem_session_lock('a', '0');
SELECT acquired, depth, token = :token AS same_token FROM idem_session_lock('a', '1 hour');
SELECT depth, token = :token AS same_token FROM idem_xact_lock('a');
SELECT idem_session_unlock('a'), count(*) AS locks FROM mine;
SELECT idem_session_unlock('a');
SELECT idem_session_unlock('a');
SELECT idem_session_unlock('a');
\echo :SQLSTATE
SELECT count(*) FROM mine;
-- The next hold has a greater token.
SELECT token > :token AS greater FROM idem_session_lock('a');
SELECT idem_session_unlock('a');
-- Another name is another lock.
SELECT (idem_session_lock('a')).depth AS a, (idem_session_lock('b')).depth AS b, (idem_session_lock('A')).depth AS "A",
    (idem_session_lock('a ')).depth AS "a ";
SELECT idem_session_unlock('a'), idem_session_unlock('b'), idem_session_unlock('A'), idem_session_unlock('a ');
SELECT idem_session_unlock('never taken');

-- A session's lock survives the transaction that took it, whichever way it ends.
BEGIN;
SELECT depth FROM idem_session_lock('committed');
COMMIT;
BEGIN;
SELECT depth FROM idem_session_lock('rolled back');
SAVEPOINT s;
SELECT depth FROM idem_session_lock('rolled back to');
SELECT depth FROM idem_session_lock('committed', '1 s');
ROLLBACK TO s;
SELECT depth FROM idem_session_lock('rolled back');
ROLLBACK;
SELECT name, kind FROM mine;
SELECT idem_session_unlock('committed') AS committed, idem_session_unlock('rolled back') AS rolled_back,
    idem_session_unlock('rolled back to') AS rolled_back_to;
SELECT idem_session_unlock('committed') AS committed, idem_session_unlock('rolled back') AS rolled_back;
-- Also an unlock is not undone.
SELECT depth FROM idem_session_lock('a');
BEGIN;
SELECT idem_session_unlock('a');
ROLLBACK;
SELECT count(*) FROM mine;
-- A failed statement keeps what it took before it failed, and a refused one takes nothing.
SELECT (idem_session_lock('kept')).depth / 0;
SELECT depth FROM idem_session_lock('refused', '-1 s');
SELECT name FROM mine;
SELECT idem_session_unlock('kept');

-- A transaction's lock ends with the transaction.
BEGIN;
SELECT acquired, depth FROM idem_xact_lock('a');
SELECT acquired, depth FROM idem_xact_lock('a', '0');
SELECT acquired, depth FROM idem_xact_lock('a', '1 s');
SELECT name, kind FROM mine;
-- It is not the session's to give back.
SAVEPOINT s;
SELECT idem_session_unlock('a');
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM mine;
BEGIN;
SELECT depth FROM idem_xact_lock('a');
ROLLBACK;
SELECT count(*) FROM mine;

-- ROLLBACK TO releases what was taken after the savepoint, and no more.
BEGIN;
SELECT token FROM idem_xact_lock('before') \gset
SAVEPOINT s;
SELECT depth, token = :token AS same_token FROM idem_xact_lock('before', '1 min');
SELECT depth FROM idem_xact_lock('after');
SELECT depth FROM idem_xact_lock('after');
SAVEPOINT t;
SELECT depth FROM idem_xact_lock('deep');
RELEASE t;
SELECT name FROM mine;
ROLLBACK TO s;
SELECT name FROM mine;
SELECT depth, token = :token AS same_token FROM idem_xact_lock('before');
SELECT depth, token > :token AS new_token FROM idem_xact_lock('after');
RELEASE s;
SELECT name FROM mine;
COMMIT;
SELECT count(*) FROM mine;
DO $$
BEGIN
    PERFORM idem_xact_lock('outer');
    BEGIN
        PERFORM idem_xact_lock('inner'), idem_xact_lock('outer');
        RAISE EXCEPTION 'undone';
    EXCEPTION WHEN raise_exception THEN
        RAISE WARNING '% left, depth of the next %', (SELECT string_agg(name, ', ') FROM mine),
            (SELECT depth FROM idem_xact_lock('outer'));
    END;
END $$;
SELECT count(*) FROM mine;

-- Both kinds under one name: each ends by its own rules.
BEGIN;
SELECT token FROM idem_xact_lock('both') \gset
SELECT acquired, depth, token = :token AS same_token FROM idem_session_lock('both', '0');
SELECT acquired, depth, token = :token AS same_token FROM idem_xact_lock('both', '0');
SELECT name, kind FROM mine;
COMMIT;
SELECT name, kind FROM mine;
BEGIN;
SELECT acquired, depth, token = :token AS same_token FROM idem_xact_lock('both');
SELECT idem_session_unlock('both');
SELECT name, kind FROM mine;
SELECT idem_session_unlock('both');
ROLLBACK;
SELECT count(*) FROM mine;

-- Functions of the server that release locks of all kinds do not leave the session in a wrong belief.
SELECT token FROM idem_session_lock('a') \gset
SELECT depth FROM idem_session_lock('a');
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM mine;
SELECT idem_session_unlock('a');
SELECT depth, token > :token AS new_token FROM idem_session_lock('a');
SELECT depth FROM idem_session_lock('a');
SELECT idem_session_unlock('a');
DISCARD ALL;
SET client_min_messages = warning;
SELECT count(*) FROM mine;
SELECT idem_session_unlock('a');
BEGIN;
SELECT token FROM idem_xact_lock('a') \gset
SELECT depth FROM idem_session_lock('a');
SELECT pg_advisory_unlock_all();
SELECT kind FROM mine;
SELECT depth, token = :token AS same_token FROM idem_session_lock('a');
COMMIT;
SELECT kind FROM mine;
SELECT idem_session_unlock('a');
SELECT pg_advisory_unlock_all();
-- Advisory locks of the application are not ours.
SELECT pg_advisory_lock(1), pg_advisory_lock(1, 1), hashtext('a') IS NOT NULL AS hashed;
SELECT count(*) FROM mine;
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1, 1);

-- All isolation levels, and transactions that cannot write, which get no token.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT acquired, token > 0 AS has_token FROM idem_xact_lock('a', '1 s');
SELECT acquired, token > 0 AS has_token FROM idem_session_lock('b', '1 s');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT acquired, token > 0 AS has_token FROM idem_xact_lock('a', '0');
SELECT acquired, token > 0 AS has_token, depth FROM idem_session_lock('b', '0');
COMMIT;
SELECT idem_session_unlock('b'), idem_session_unlock('b');
BEGIN READ ONLY;
SELECT acquired, token, depth FROM idem_xact_lock('a', '1 s');
SELECT acquired, token, depth FROM idem_session_lock('b');
SELECT name, has_token FROM mine;
COMMIT;
SELECT name, has_token FROM mine;
-- Drawn as soon as it can be.
SELECT token > 0 AS has_token, depth FROM idem_session_lock('b');
BEGIN READ ONLY;
SELECT token > 0 AS has_token, depth FROM idem_session_lock('b');
SELECT token > 0 AS has_token, depth FROM idem_xact_lock('b');
SELECT idem_session_unlock('b'), idem_session_unlock('b'), idem_session_unlock('b');
COMMIT;

-- Names.
SELECT depth FROM idem_session_lock(NULL);
\echo :SQLSTATE
SELECT depth FROM idem_session_lock('');
\echo :SQLSTATE
SELECT depth FROM idem_xact_lock('');
\echo :SQLSTATE
SELECT idem_session_unlock(NULL);
\echo :SQLSTATE
SELECT idem_session_unlock('');
\echo :SQLSTATE
SELECT depth FROM idem_session_lock(repeat('x', 513));
\echo :SQLSTATE
SELECT depth FROM idem_session_lock(repeat(convert_from('\xe282ac', 'UTF8'), 171));
\echo :SQLSTATE
SELECT depth FROM idem_session_lock(repeat('x', 512));
SELECT depth FROM idem_session_lock(repeat('x', 511));
SELECT depth FROM idem_session_lock(repeat('x', 511) || 'y');
SELECT depth FROM idem_session_lock(repeat(convert_from('\xe282ac', 'UTF8'), 170));
SELECT depth FROM idem_session_lock(E'a\nb'';--\\');
SELECT length(name), octet_length(name), md5(name) FROM mine;
SELECT idem_session_unlock(name) FROM mine WHERE name <> ' ';
SELECT count(*) FROM mine;
-- Waits.
SELECT depth FROM idem_session_lock('a', '-1 us');
\echo :SQLSTATE
SELECT depth FROM idem_xact_lock('a', '-1 month');
\echo :SQLSTATE
SELECT depth FROM idem_xact_lock('a', '20000 years');
\echo :SQLSTATE
SELECT acquired FROM idem_xact_lock('a', '1 us');
SELECT acquired FROM idem_xact_lock('a', '1000 years');
SELECT acquired FROM idem_xact_lock('a', wait => NULL);
SET lock_timeout = '1 ms';
SELECT acquired FROM idem_xact_lock('a', '1 min');
RESET lock_timeout;

-- A prepared transaction belongs to no session, and so cannot have a lock.
BEGIN;
SELECT depth FROM idem_xact_lock('a');
PREPARE TRANSACTION 'regress_idem_lock';
\echo :SQLSTATE
SELECT count(*) FROM mine;

-- Many at once.
SELECT count(*), min(depth), max(depth), count(DISTINCT token) AS tokens
FROM generate_series(1, 500) AS i, LATERAL idem_session_lock('many ' || i % 250);
SELECT count(*) FROM mine;
SELECT sum(idem_session_unlock('many ' || i % 250)) FROM generate_series(1, 500) AS i;
SELECT count(*) FROM mine;
BEGIN;
SELECT count(*) FROM generate_series(1, 100) AS i, LATERAL idem_xact_lock('many ' || i);
DECLARE c CURSOR FOR SELECT depth FROM generate_series(1, 3) AS i, LATERAL idem_xact_lock('cursor ' || i * 0);
FETCH 2 FROM c;
CLOSE c;
SELECT depth FROM idem_xact_lock('cursor 0');
SELECT count(*) FROM mine;
COMMIT;
SELECT count(*) FROM mine;
DROP VIEW mine;
