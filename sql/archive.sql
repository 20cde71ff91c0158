-- Expired records of scopes with on_expiry => 'archive' are moved whole, and so are rows of users' tables.
SELECT idem_cleanup_pause();
DELETE FROM idem_records;
CREATE PROCEDURE drop_partitions() LANGUAGE plpgsql AS $$
DECLARE
    partition text;
BEGIN
    FOR partition IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'idem_archive'::regclass
            AND inhrelid::regclass::text <> 'idem_archive_default' LOOP
        EXECUTE 'DROP TABLE ' || partition;
    END LOOP;
END $$;
CALL drop_partitions();
SELECT idem_scope_set('archive', on_expiry => 'archive'), idem_scope_set('no archive', retain => '1 h');
-- What there is in a record, and what is easily taken for nothing.
SELECT count(outcome) FROM unnest(ARRAY['null', 'json null', 'false', 'zero', 'empty', 'bytes', 'text', 'failed',
    'all', 'größe']) AS key,
    idem_begin(key, 'archive', fingerprint => CASE WHEN key = 'all' THEN '\x00ff'::bytea END,
    owner => CASE WHEN key = 'all' THEN 'me' END);
SELECT idem_checkpoint('all', 'half', 'null', 'archive'),
    idem_checkpoint('zero', 'Schritt 1', '{"a": [0, "", false]}', 'archive');
SELECT idem_finish('null', scope => 'archive'), idem_finish('json null', 'null', 'archive'),
    idem_finish('false', 'false', 'archive'), idem_finish('zero', '0', 'archive', code => 0),
    idem_finish('empty', '""', 'archive', body => ''), idem_finish('bytes', scope => 'archive', body => '\x0000ff00'),
    idem_finish('text', to_jsonb(repeat('é', 3000)), 'archive'), idem_fail('failed', '{"why": null}', 'archive',
    code => -1),
    idem_finish('all', '[]', 'archive', code => 200, body => '\x00'), idem_finish('größe', '"größe"', 'archive');
-- One in progress, whose lease is over too, and one whose lease is not.
SELECT outcome FROM idem_begin('abandoned', 'archive', lease => '1 us', retain => '1 us');
SELECT outcome FROM idem_begin('live', 'archive', lease => '1 h', retain => '1 us');
SELECT outcome FROM idem_begin('deleted', 'no archive', retain => '1 us');
SELECT idem_finish('deleted', '1', 'no archive');
SELECT outcome FROM idem_begin('deleted', 'scope that was never set', retain => '1 us');
SELECT idem_finish('deleted', '1', 'scope that was never set');
UPDATE idem_records SET expires_at = clock_timestamp() - interval '1 s' WHERE scope = 'archive' AND key <> 'live';
CREATE TABLE before AS SELECT * FROM idem_records;

-- Not for a transaction that is undone.
BEGIN;
SELECT idem_purge(3);
SELECT count(*) FROM idem_archive;
ROLLBACK;
SELECT count(*) FROM idem_archive;
SELECT count(*) FROM idem_records;
SELECT count(*) FROM pg_inherits WHERE inhparent = 'idem_archive'::regclass AND inhrelid::regclass::text <> 'idem_archive_default';
SELECT idem_purge(3);
SELECT idem_purge(), idem_purge();
SELECT scope, key FROM idem_records;
-- Row for row the same, but for the time of the move.
SELECT (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute
    WHERE attrelid = 'idem_archive'::regclass AND attnum > 0 AND attname <> 'archived_at')
    = (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute
    WHERE attrelid = 'idem_records'::regclass AND attnum > 0) AS same_columns;
SELECT key, to_jsonb(a) - 'archived_at' = to_jsonb(b) AS the_same, archived_at BETWEEN b.expires_at
    AND clock_timestamp() AS now
FROM before AS b JOIN idem_archive AS a USING (scope, key) ORDER BY key COLLATE "C";
SELECT key, status, code, result, body, fingerprint, owner, checkpoint, checkpoint_data FROM idem_archive
WHERE key <> 'text' ORDER BY key COLLATE "C";
SELECT result IS NULL AS nothing, result = 'null' AS json_null FROM idem_archive WHERE key IN ('null', 'json null')
ORDER BY key COLLATE "C";
DROP TABLE before;

-- What the scope says counts when it is purged, not when the record was made.
SELECT idem_scope_set('archive', on_expiry => 'delete'), idem_scope_set('no archive', on_expiry => 'archive');
SELECT outcome FROM idem_begin('late', 'archive', lease => '1 us', retain => '1 us');
SELECT outcome FROM idem_begin('late', 'no archive', lease => '1 us', retain => '1 us');
SELECT idem_purge();
SELECT scope, status FROM idem_archive WHERE key = 'late';
-- A key may be archived as often as it is used.
SELECT outcome FROM idem_begin('late', 'no archive', lease => '1 us', retain => '1 us');
SELECT idem_purge();
SELECT count(*), count(DISTINCT token) AS tokens FROM idem_archive WHERE key = 'late';
-- A claim that comes before the purge takes the place of an expired record, and that one is archived.
CREATE VIEW lives AS
    SELECT status, result, count(*) FROM idem_archive WHERE key = 'again' GROUP BY status, result ORDER BY 1, 2;
SELECT outcome FROM idem_begin('again', 'no archive', retain => '1 us');
SELECT idem_finish('again', '"first"', 'no archive');
BEGIN;
SELECT outcome FROM idem_begin('again', 'no archive', retain => '1 us');
SELECT * FROM lives;
ROLLBACK;
SELECT * FROM lives;
SELECT outcome, attempt FROM idem_begin('again', 'no archive', lease => '1 us', retain => '1 us');
SELECT * FROM lives;
SELECT outcome, attempt FROM idem_execute('again', 'SELECT 2 AS second', scope => 'no archive', retain => '1 us');
SELECT * FROM lives;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT outcome, attempt FROM idem_begin('again', 'no archive', lease => '1 us', retain => '1 h');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT outcome, attempt FROM idem_begin('again', 'no archive', lease => '1 us', retain => '1 h');
COMMIT;
-- The second was a takeover of a claim that had not expired.
SELECT * FROM lives;
SELECT status, attempt FROM idem_records WHERE key = 'again';
SELECT idem_forget('again', 'no archive', force => true);
SELECT * FROM lives;
DROP VIEW lives;
-- Nobody to archive for: nothing of it is touched.
SELECT idem_scope_reset('archive'), idem_scope_reset('no archive');
SELECT outcome FROM idem_begin('late', 'no archive', lease => '1 us', retain => '1 us');
SELECT idem_purge();
SELECT count(*) FROM idem_archive WHERE key = 'late';

-- The partitions are those of the months in UTC, whatever the session calls now, and as closed as the table.
CREATE FUNCTION months() RETURNS TABLE (partition text, bounds boolean, closed boolean,
    owned boolean) LANGUAGE sql AS $$
    SELECT CASE c.relname WHEN to_char(now() AT TIME ZONE 'UTC',
    '"idem_archive_"YYYY_MM') THEN 'this month' ELSE c.relname END,
        pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%L) TO (%L)',
            date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
            (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'),
        c.relacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) WHERE grantee = 0),
        c.relowner = p.relowner
    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid JOIN pg_class AS p ON p.oid = inhparent
    WHERE inhparent = 'idem_archive'::regclass AND inhrelid::regclass::text <> 'idem_archive_default'
        -- In the last week of a month there is one for the next as well.
        AND c.relname <> to_char(now() AT TIME ZONE 'UTC' + interval '1 month', '"idem_archive_"YYYY_MM')
$$;
SELECT * FROM months();
SELECT idem_scope_set('archive', on_expiry => 'archive');
CREATE PROCEDURE archive_in(zone text) LANGUAGE plpgsql AS $$
BEGIN
    CALL drop_partitions();
    PERFORM set_config('TimeZone', zone, true);
    PERFORM idem_begin('zone', 'archive', lease => '1 us', retain => '1 us');
    PERFORM idem_purge();
    RAISE NOTICE 'archived: %', (SELECT count(*) FROM idem_archive);
    COMMIT;
END $$;
\set VERBOSITY terse
CALL archive_in('Pacific/Kiritimati');
SELECT * FROM months();
CALL archive_in('Etc/GMT+12');
SELECT * FROM months();
CALL archive_in('UTC');
SELECT * FROM months();
\set VERBOSITY default
DROP PROCEDURE archive_in;
DROP FUNCTION months;
-- Who may read the archive reads it through the table.
CREATE ROLE regress_idem_archive;
SELECT idem_grant('regress_idem_archive', true);
SELECT inhrelid::regclass AS partition FROM pg_inherits WHERE inhparent = 'idem_archive'::regclass
    AND inhrelid::regclass::text <> 'idem_archive_default' LIMIT 1 \gset
SET ROLE regress_idem_archive;
SELECT count(*) FROM idem_archive;
SELECT idem_purge();
\set VERBOSITY sqlstate
SELECT count(*) FROM :partition;
INSERT INTO idem_archive SELECT * FROM idem_archive;
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_idem_archive;
DROP ROLE regress_idem_archive;
-- A name that is taken by something else is said.
DO $$
BEGIN
    CALL drop_partitions();
    PERFORM idem_begin('taken', 'archive', lease => '1 us', retain => '1 us');
    EXECUTE format('CREATE VIEW %I AS SELECT 1 AS a', to_char(now() AT TIME ZONE 'UTC', '"idem_archive_"YYYY_MM'));
    PERFORM idem_purge();
EXCEPTION WHEN duplicate_table THEN
    RAISE NOTICE '%', regexp_replace(SQLERRM, '[0-9]{4}_[0-9]{2}', 'YYYY_MM');
END $$;
SELECT idem_scope_reset('archive');
DELETE FROM idem_records;
CALL drop_partitions();
DROP PROCEDURE drop_partitions;

-- Rows of a user's table go where they are told to, column by column of the same name.
CREATE TABLE orders (gone integer, id integer GENERATED ALWAYS AS IDENTITY, at date, "Größe" numeric(5, 2), note text,
    twice integer GENERATED ALWAYS AS (2) STORED, tags text[]);
ALTER TABLE orders DROP COLUMN gone;
CREATE INDEX ON orders (at);
CREATE TABLE old_orders (extra text DEFAULT 'kept', tags text[], note text, moved_at timestamptz DEFAULT now(),
    at date, id integer,
    "Größe" numeric);
INSERT INTO orders (at, "Größe", note, tags) VALUES ('2000-01-01', 1.5, NULL, '{}'),
    ('2000-01-02', NULL, '', '{a,NULL}'),
    ('infinity', 0, 'x', NULL), (NULL, -1, 'y', NULL);
SELECT idem_expire_attach('orders', 'at', '1 year', action => 'archive', archive => 'old_orders');
BEGIN;
SELECT * FROM idem_expire_run('orders');
ROLLBACK;
SELECT count(*) FROM old_orders;
SELECT * FROM idem_expire_run('orders', 1);
SELECT * FROM idem_expire_run('orders', 1);
SELECT * FROM orders ORDER BY id;
SELECT extra, tags, note, moved_at = now() AS now, at, id, "Größe" FROM old_orders ORDER BY id;
SELECT relation, action FROM idem_stat_cleanup WHERE relation = 'orders'::regclass;
-- An archive that is partitioned, and a table that is: each partition in its own order of columns.
CREATE TABLE logs (id integer, at timestamptz) PARTITION BY RANGE (id);
CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM (0) TO (10);
CREATE TABLE logs_2 (gone text, at timestamptz, id integer);
ALTER TABLE logs_2 DROP COLUMN gone;
ALTER TABLE logs ATTACH PARTITION logs_2 FOR VALUES FROM (10) TO (20);
CREATE INDEX ON logs (at);
CREATE TABLE old_logs (at timestamptz, id integer) PARTITION BY RANGE (at);
CREATE TABLE old_logs_1970 PARTITION OF old_logs FOR VALUES FROM ('1970-01-01 00:00+00') TO ('1971-01-01 00:00+00');
INSERT INTO logs VALUES (1, 'epoch'), (11, 'epoch'), (2, 'infinity'), (12, 'infinity');
SELECT idem_expire_attach('logs', 'at', '1 day', action => 'archive', archive => 'old_logs');
SELECT * FROM idem_expire_run('logs');
SELECT id, tableoid::regclass FROM logs UNION ALL SELECT id, tableoid::regclass FROM old_logs ORDER BY 1;
-- Where a row has no place there, it stays.
INSERT INTO logs VALUES (3, '1980-01-01 00:00+00');
\set VERBOSITY sqlstate
SELECT * FROM idem_expire_run('logs');
\set VERBOSITY default
SELECT count(*) FROM logs WHERE id = 3;
SELECT idem_expire_detach('logs');
DROP TABLE logs, old_logs;

-- An archive that does not fit is refused when it is named, or when it no longer fits.
CREATE TABLE archives (id integer, at date, "Größe" numeric, note text, tags text[]);
CREATE FUNCTION attach_after(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE change;
    PERFORM idem_expire_attach('orders', 'at', '1 year', action => 'archive', archive => 'archives');
    RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION
    WHEN SQLSTATE 'ZZ000' THEN RETURN 'accepted';
    WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_HINT;
        RETURN SQLSTATE || ' ' || SQLERRM || ': ' || answer;
END $$;
SELECT change, attach_after(change) FROM unnest(ARRAY['SELECT', 'ALTER TABLE archives ADD COLUMN more text',
    'ALTER TABLE archives DROP COLUMN at', 'ALTER TABLE archives RENAME COLUMN "Größe" TO größe',
    'ALTER TABLE archives ALTER COLUMN id TYPE bigint', 'ALTER TABLE archives ALTER COLUMN at TYPE timestamptz',
    'ALTER TABLE orders ADD COLUMN more text']) AS change;
SELECT idem_expire_attach('orders', 'at', '1 year', action => 'archive', archive => 'archives');
INSERT INTO orders (at) VALUES ('epoch');
ALTER TABLE archives DROP COLUMN note;
\set VERBOSITY sqlstate
SELECT * FROM idem_expire_run('orders');
\set VERBOSITY default
SELECT count(*) FROM orders WHERE at = 'epoch';
DROP TABLE archives;
SELECT * FROM idem_expire_run('orders');
\echo :SQLSTATE
SELECT count(*) FROM orders WHERE at = 'epoch';
SELECT relation, action, oldest_expired_age > '0' AS expired FROM idem_stat_cleanup WHERE relation = 'orders'::regclass;
SELECT idem_expire_detach('orders');
DROP FUNCTION attach_after;
DROP TABLE orders, old_orders;

-- What is no archive: not a table that keeps rows for everybody, one of ours, or one whose rows would expire again.
CREATE TABLE t (id integer, at timestamptz);
CREATE TABLE child (extra integer) INHERITS (t);
CREATE INDEX ON t (at);
CREATE INDEX ON child (at);
CREATE TABLE parted (id integer, at timestamptz) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
CREATE INDEX ON parted (at);
CREATE VIEW a_view AS SELECT * FROM t;
CREATE TEMPORARY TABLE passing (LIKE t);
CREATE SEQUENCE a_sequence;
CREATE TABLE computed (id integer GENERATED ALWAYS AS (1) STORED, at timestamptz);
CREATE TABLE narrow (LIKE t);
CREATE TABLE wide (LIKE child);
SELECT rel, archive, attempt(format('SELECT idem_expire_attach(%L, ''at'', ''1 day'', action => ''archive'', archive => %L)',
    rel, archive)) FROM (VALUES ('t', 't'), ('t', 'child'), ('child', 't'),
    ('parted', 'parted_1'),
    ('parted_1', 'parted'), ('parted_1', 'parted_2'), ('t', 'a_view'), ('t', 'passing'), ('t', 'a_sequence'),
    ('t', 'computed'), ('t', 'narrow'), ('t', 'wide'), ('parted', 'narrow'), ('t', 'pg_class'), ('t', 'idem_records'),
    ('t', 'idem_archive')) AS c (rel, archive);
-- Whoever owns the table must be able to insert; the statement in the hint is enough.
CREATE ROLE "regress idem owner";
ALTER TABLE parted OWNER TO "regress idem owner";
ALTER TABLE parted_1 OWNER TO "regress idem owner";
SELECT idem_expire_attach('parted', 'at', '1 day', action => 'archive', archive => 'narrow');
\echo :SQLSTATE
GRANT INSERT ON narrow TO "regress idem owner";
SELECT idem_expire_attach('parted', 'at', '1 day', action => 'archive', archive => 'narrow');
INSERT INTO parted VALUES (1, 'epoch'), (2, 'epoch');
SELECT * FROM idem_expire_run('parted');
-- Nothing gets lost on the way, not by a trigger either.
CREATE TRIGGER skip BEFORE INSERT ON narrow FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION suppress();
INSERT INTO parted VALUES (1, 'epoch'), (2, 'epoch');
SELECT * FROM idem_expire_run('parted');
\echo :SQLSTATE
SELECT count(*) FROM parted;
DROP TRIGGER skip ON narrow;
SELECT * FROM idem_expire_run('parted');
SELECT id, at = 'epoch' AS at FROM narrow ORDER BY id;
-- A key that is drawn stays the one that it was.
CREATE TABLE numbered (id integer GENERATED ALWAYS AS IDENTITY, at timestamptz,
    twice integer GENERATED ALWAYS AS (2) STORED);
CREATE INDEX ON numbered (at);
CREATE TABLE old_numbered (LIKE numbered INCLUDING ALL);
INSERT INTO numbered (at) VALUES ('infinity'), ('epoch');
SELECT idem_expire_attach('numbered', 'at', '1 day', action => 'archive', archive => 'old_numbered');
SELECT * FROM idem_expire_run('numbered');
SELECT id, twice FROM old_numbered;
SELECT count(idem_expire_detach(rel)) AS detached FROM idem_expiries;
DROP VIEW a_view;
DROP TABLE child, t, parted, passing, computed, narrow, wide, numbered, old_numbered;
DROP SEQUENCE a_sequence;
DROP ROLE "regress idem owner";
-- A claim that archives what was there needs no partition for the month, and makes none; cleanup moves it there.
SELECT idem_scope_set('archive', on_expiry => 'archive');
SELECT outcome FROM idem_begin('early', 'archive', lease => '1 us', retain => '1 us');
SELECT outcome FROM idem_begin('early', 'archive', lease => '1 us', retain => '1 us');
SELECT key, tableoid::regclass FROM idem_archive WHERE key = 'early';
SELECT idem_purge();
SELECT key, tableoid::regclass::text = 'idem_archive_default' AS in_default FROM idem_archive WHERE key = 'early';
SELECT idem_scope_reset('archive');
DELETE FROM idem_archive;
SELECT idem_cleanup_resume();
