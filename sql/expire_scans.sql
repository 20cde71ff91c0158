-- A batch finds its rows by the index and by their addresses. It never reads a table through, however small the table
-- and whatever the session allows the planner.
SELECT idem_cleanup_pause();
DELETE FROM idem_records;
CREATE TABLE t (id integer, at timestamptz, filler text DEFAULT repeat('x', 100));
CREATE INDEX ON t (at);
CREATE TABLE kept (LIKE t);
-- What a call did to the table in this transaction.
CREATE PROCEDURE measure(call text, rel regclass, settings text DEFAULT 'search_path = public')
LANGUAGE plpgsql AS $$
DECLARE
    was pg_stat_xact_user_tables;
    done pg_stat_xact_user_tables;
    answer text;
BEGIN
    EXECUTE 'SET LOCAL ' || settings;
    SELECT * INTO was FROM pg_stat_xact_user_tables WHERE relid = rel;
    EXECUTE 'SELECT r::text FROM ' || call || ' AS r' INTO answer;
    SELECT * INTO done FROM pg_stat_xact_user_tables WHERE relid = rel;
    RAISE NOTICE '%: scans %, rows read by them %, deleted %', regexp_replace(answer, ',[tf]\)', ')'),
        done.seq_scan - was.seq_scan, done.seq_tup_read - was.seq_tup_read, done.n_tup_del - was.n_tup_del;
    COMMIT;
END $$;
CREATE PROCEDURE fill(rows integer) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t SELECT i, timestamptz '2000-01-01' + i * interval '1 s' FROM generate_series(1, rows) AS i;
END $$;
SELECT idem_expire_attach('t', 'at', '1 day');
\set VERBOSITY terse
-- A page, many, and many with statistics.
CALL fill(10);
CALL measure('idem_expire_run(''t'', 5)', 't');
CALL measure('idem_expire_run(''t'', 5)', 't');
CALL fill(20000);
CALL measure('idem_expire_run(''t'', 1000)', 't');
ANALYZE t;
CALL measure('idem_expire_run(''t'', 1000)', 't');
CALL measure('idem_expire_run(''t'', 100)', 't', 'enable_tidscan = off');
CALL measure('idem_expire_run(''t'', 100)', 't', 'enable_indexscan = off');
CALL measure('idem_expire_run(''t'', 100)', 't', 'random_page_cost = 1e9');
CALL measure('idem_expire_run(''t'', 1000)', 't', 'plan_cache_mode = force_generic_plan');
CALL measure('idem_expire_run(''t'', 10000)', 't');
-- The same where the executor has something to add: a trigger, an archive.
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
CREATE TRIGGER pass BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION pass();
CALL measure('idem_expire_run(''t'', 1000)', 't');
CALL measure('idem_expire_run(''t'', 1000)', 't', 'enable_tidscan = off');
DROP TRIGGER pass ON t;
SELECT idem_expire_attach('t', 'at', '1 day', action => 'archive', archive => 'kept');
CALL measure('idem_expire_run(''t'', 1000)', 't');
CALL measure('idem_expire_run(''t'', 1000)', 't', 'random_page_cost = 1e9');
SELECT count(*) FROM kept;
SELECT idem_expire_detach('t');
-- Records.
INSERT INTO idem_records (scope, key, token, attempt, created_at, lease_expires_at, expires_at, status, completed_at)
SELECT 'scans', i::text, -i, 1, 'epoch', 'epoch', timestamptz '2000-01-01' + i * interval '1 s', 'finished', 'epoch'
FROM generate_series(1, 20000) AS i;
ANALYZE idem_records;
SET idem.direct_access = on;
CALL measure('idem_purge(1000)', 'idem_records');
CALL measure('idem_purge(1000)', 'idem_records', 'random_page_cost = 1e9');
SELECT idem_scope_set('scans', on_expiry => 'archive');
CALL measure('idem_purge(1000)', 'idem_records');
SELECT idem_scope_reset('scans');
RESET idem.direct_access;
TRUNCATE idem_archive;
DELETE FROM idem_records;
DROP PROCEDURE measure, fill;
DROP FUNCTION pass;
DROP TABLE t, kept;
SELECT idem_cleanup_resume();
