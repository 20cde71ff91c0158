-- What an operator tells the worker, with one and without: now, pause, resume, and what the view says about it.
CREATE FUNCTION preloaded() RETURNS boolean LANGUAGE sql AS $$
    SELECT 'pg_idem' = ANY (string_to_array(replace(current_setting('shared_preload_libraries'), ' ', ''), ','))
$$;
-- What idem_cleanup_now answers in a server that preloads the library; in others it must refuse in any case.
CREATE FUNCTION ask() RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN preloaded() THEN answer
        WHEN answer ~ '^55000 .*: pg_idem is not in shared_preload_libraries$' THEN hoped_for
        ELSE 'unexpected ' || answer END
    FROM split_part(attempt('SELECT idem_cleanup_now()'), ' | ', 1) AS answer,
        LATERAL (SELECT CASE WHEN EXISTS (SELECT FROM idem_cleanup_paused)
            THEN '55000 the cleanup worker cannot visit this database: cleanup is paused here'
            ELSE 'ok' END) AS h (hoped_for)
$$;
-- Free is what the worker may clean: waiting or running, or as far as the view can say without preload.
CREATE VIEW states AS
    SELECT relation, action, CASE WHEN preloaded() AND state IN ('waiting', 'running')
        OR NOT preloaded() AND state = 'not preloaded' THEN 'free' ELSE state END AS state
    FROM idem_stat_cleanup;
SELECT idem_cleanup_pause();
DELETE FROM idem_records;
SELECT * FROM states;
SELECT paused_by = current_user AS by_me, paused_at BETWEEN now() - interval '1 min' AND clock_timestamp() AS just_now
FROM idem_cleanup_paused;
SELECT ask();
-- Paused once is paused.
CREATE TABLE paused AS SELECT * FROM idem_cleanup_paused;
SELECT idem_cleanup_pause(), idem_cleanup_pause();
SELECT count(*), bool_and(p = q) AS the_same FROM idem_cleanup_paused AS p, paused AS q;
-- A pause is for the worker; whoever calls a function means it.
SELECT outcome FROM idem_begin('k', 'control', lease => '1 us', retain => '1 us');
SELECT relation, oldest_expired_age >= '0' AS oldest, backlog_estimate >= 0 AS estimate FROM idem_stat_cleanup;
SELECT idem_purge();
SELECT relation, oldest_expired_age IS NULL AS none_expired FROM idem_stat_cleanup;
SELECT idem_cleanup_resume(), idem_cleanup_resume();
SELECT count(*) FROM idem_cleanup_paused;
SELECT * FROM states;
SELECT rows IS NOT NULL = preloaded() AS rows, batches IS NOT NULL = preloaded() AS batches,
    errors IS NOT NULL = preloaded() AS errors, next_run_at IS NOT NULL = preloaded() AS next_run,
    last_error, last_error_at FROM idem_stat_cleanup;
SELECT ask();

-- Undone with its transaction.
BEGIN;
SELECT idem_cleanup_pause();
SELECT * FROM states;
SAVEPOINT s;
SELECT idem_cleanup_resume();
ROLLBACK TO s;
SELECT * FROM states;
ROLLBACK;
SELECT count(*) FROM idem_cleanup_paused;
BEGIN;
SAVEPOINT s;
SELECT idem_cleanup_pause();
ROLLBACK TO s;
SELECT ask();
SAVEPOINT s;
SELECT ask();
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM idem_cleanup_paused;

-- At every isolation level; and a transaction that may not write looks on.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT idem_cleanup_pause();
SELECT idem_cleanup_pause();
SELECT * FROM states;
SELECT ask();
SELECT idem_cleanup_resume(), idem_cleanup_resume();
SELECT ask();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT idem_cleanup_pause();
SELECT idem_cleanup_pause();
SELECT * FROM states;
SELECT ask();
COMMIT;
BEGIN READ ONLY;
SELECT call, attempt('SELECT ' || call)
FROM unnest(ARRAY['idem_cleanup_now()', 'idem_cleanup_pause()', 'idem_cleanup_resume()']) AS call;
SELECT * FROM states;
COMMIT;
SELECT * FROM states;

-- A table that was restored is held: what was dumped is its name, and nobody knows yet what came with it.
CREATE TABLE restored (id integer, old timestamptz, at timestamptz);
ALTER TABLE restored DROP COLUMN old;
CREATE INDEX ON restored (at);
CREATE TABLE untouched (at timestamptz);
CREATE INDEX ON untouched (at);
SELECT idem_expire_attach('restored', 'at', '1 day'), idem_expire_attach('untouched', 'at', '1 day');
UPDATE idem_expiries SET table_oid = 1, attnum = 2 WHERE rel = 'restored'::regclass;
INSERT INTO restored VALUES (1, 'epoch'), (2, 'infinity');
INSERT INTO untouched VALUES ('epoch');
SELECT * FROM states ORDER BY relation;
SELECT * FROM idem_expire_run();
SELECT * FROM idem_expire_run('restored');
\echo :SQLSTATE
SELECT idem_cleanup_resume();
SELECT table_oid = rel AS released, attnum, col FROM idem_expiries ORDER BY rel;
SELECT idem_cleanup_pause();
SELECT * FROM states ORDER BY relation;
TRUNCATE restored, untouched;
INSERT INTO restored VALUES (3, 'epoch'), (4, 'infinity');
SELECT expired, rows FROM idem_expire_run() ORDER BY expired;
SELECT string_agg(id::text, ' ') FROM restored;
SELECT idem_cleanup_resume();
SELECT idem_cleanup_resume();
SELECT idem_cleanup_pause();
UPDATE idem_expiries SET table_oid = 1 WHERE rel = 'restored'::regclass;
SELECT idem_expire_attach('restored', 'at', '2 days');
SELECT rel, table_oid = rel AS released, after FROM idem_expiries ORDER BY rel;
-- One whose column is gone stays so.
UPDATE idem_expiries SET table_oid = 1 WHERE rel = 'restored'::regclass;
ALTER TABLE restored DROP COLUMN at;
SELECT idem_cleanup_resume(), idem_cleanup_pause(), idem_cleanup_resume();
SELECT relation, state FROM states WHERE relation = 'restored'::regclass;
SELECT idem_expire_detach('restored'), idem_expire_detach('untouched');
DROP TABLE restored, untouched, paused;
DROP VIEW states;
DROP FUNCTION ask, preloaded;
