-- Rows of users' tables expire by the time in one of their columns.
-- A worker, where there is one, is to leave them to this session.
SELECT idem_cleanup_pause();
-- The ids that are left of a table.
CREATE FUNCTION ids(rel regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM %s', rel) INTO answer;
    RETURN answer;
END $$;

-- Every type of column. Rows whose time is not known, or never comes, stay.
CREATE DOMAIN moment AS timestamptz;
CREATE DOMAIN positive_moment AS moment CHECK (VALUE > '-infinity');
CREATE DOMAIN day AS date NOT NULL DEFAULT 'infinity';
DO $$
DECLARE
    type text;
BEGIN
    FOREACH type IN ARRAY ARRAY['timestamptz', 'timestamptz(0)', 'timestamp', 'date', 'moment', 'positive_moment',
    'day'] LOOP
        EXECUTE format('CREATE TABLE %I (id integer, at %s)', 'of ' || type, type);
        EXECUTE format('CREATE INDEX ON %I (at)', 'of ' || type);
        EXECUTE format($i$INSERT INTO %I (id, at) SELECT id, at FROM (VALUES (1, now() - interval '3 days'),
            (2, now() - interval '50 hours'), (3, now() - interval '1000 years'), (4, now()), (5,
            now() + interval '1 day'),
            (6, 'infinity'), (7, now() + interval '1000 years')) AS r (id, at)$i$, 'of ' || type);
        IF type <> 'day' THEN
            EXECUTE format('INSERT INTO %I (id) VALUES (8)', 'of ' || type);
        END IF;
    END LOOP;
END $$;
SELECT count(idem_expire_attach(oid, 'at', '1 day')) FROM pg_class WHERE relname LIKE 'of %' AND relkind = 'r';
SELECT expired, rows, more FROM idem_expire_run() ORDER BY expired::text COLLATE "C";
SELECT expired, sum(rows), bool_or(more) FROM idem_expire_run() GROUP BY expired HAVING sum(rows) > 0;
SELECT relname, ids(oid) FROM pg_class WHERE relname LIKE 'of %' AND relkind = 'r' ORDER BY relname COLLATE "C";
-- A time before all others has come, in a date as well.
INSERT INTO "of timestamptz" VALUES (9, '-infinity');
INSERT INTO "of timestamp" VALUES (9, '-infinity');
INSERT INTO "of date" VALUES (9, '-infinity'), (10, '4713-01-01 BC'), (11, '5874897-12-31');
SELECT expired, rows FROM idem_expire_run() WHERE rows > 0 ORDER BY expired::text COLLATE "C";
SELECT ids('"of date"');
-- A day is over for a date when it is over for its midnight; a local time follows the session's time zone.
CREATE TABLE local (id integer, at timestamp);
CREATE INDEX ON local (at);
SELECT idem_expire_attach('local', 'at', '0');
INSERT INTO local VALUES (1, now() AT TIME ZONE 'UTC' - interval '1 hour'),
    (2, now() AT TIME ZONE 'UTC' + interval '3 hours');
SET TimeZone = 'UTC+2';
SELECT rows FROM idem_expire_run('local');
SET TimeZone = 'UTC-2';
SELECT rows FROM idem_expire_run('local');
SET TimeZone = 'UTC-4';
SELECT rows FROM idem_expire_run('local');
RESET TimeZone;
SELECT count(idem_expire_detach(rel)) FROM idem_expiries;
DROP TABLE "of timestamptz", "of timestamptz(0)", "of timestamp", "of date", "of moment", "of positive_moment",
    "of day",
    local;
DROP DOMAIN positive_moment, moment, day;

-- How long after; what is written down.
CREATE TABLE t (id integer, at timestamptz, note text DEFAULT 'x');
CREATE INDEX t_at ON t (at);
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
    TRUNCATE t;
    INSERT INTO t VALUES (1, now() - interval '25 months'), (2, now() - interval '2 days'), (3,
    now() - interval '1 minute'),
        (4, now()), (5, now() + interval '1 hour')
$$;
CREATE FUNCTION expired_after(after interval) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM fill();
    PERFORM idem_expire_attach('t', 'at', after);
    SELECT rows INTO answer FROM idem_expire_run('t');
    RETURN answer || ' expired, left ' || ids('t');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT after, expired_after(after) FROM unnest(ARRAY['0', '30 seconds', '1 hour', '1 day', '1 month', '2 years',
    '25 months 1 day', '1 month -1 day', '1000 years', '-1 us', '-1 month', '1 day -25 hours', '1003 years',
    '178000000 years',
    NULL]::interval[]) AS after;
SELECT idem_expire_attach('t', 'at', '36 hours', 7);
SELECT rel, table_oid = 't'::regclass AS same, attnum, col, after, batch, action, archive FROM idem_expiries;
-- Attaching again replaces all of it.
CREATE TABLE kept (note text, at timestamptz, id integer);
SELECT idem_expire_attach(rel => 't', col => 'at', after => '2 days', action => 'archive', archive => 'kept');
SELECT rel, table_oid = 't'::regclass AS same, attnum, col, after, batch, action, archive FROM idem_expiries;
SELECT idem_expire_attach('t', 'at', '1 day', batch => b) FROM unnest(ARRAY[1, 100000]) AS b;
SELECT rel, after, batch, action, archive FROM idem_expiries;
SELECT relation, action, oldest_expired_age > '23 months' AS oldest, backlog_estimate >= 0 AS estimated
    FROM idem_stat_cleanup
WHERE relation <> 'idem_records'::regclass;
SELECT idem_expire_detach('t'), idem_expire_detach('t');
SELECT count(*) FROM idem_expiries;
SELECT * FROM idem_expire_run();
SELECT * FROM idem_expire_run('t');
\echo :SQLSTATE

-- At most as many rows as asked for, the oldest first; and whether there are more.
TRUNCATE t;
INSERT INTO t SELECT i, now() - (100 - i) * interval '1 hour' FROM generate_series(1, 10) AS i;
SELECT idem_expire_attach('t', 'at', '1 day');
SELECT rows, more FROM idem_expire_run('t', 4);
SELECT ids('t');
SELECT rows, more FROM idem_expire_run(NULL, 4);
SELECT rows, more FROM idem_expire_run(max_rows => 2);
SELECT rows, more FROM idem_expire_run('t', 2);
INSERT INTO t SELECT i, now() - interval '2 days' FROM generate_series(1, 10) AS i;
SELECT rows, more FROM idem_expire_run('t', 10);
INSERT INTO t SELECT i, now() - interval '2 days' FROM generate_series(1, 10) AS i;
SELECT rows, more FROM idem_expire_run('t', 9223372036854775807);
SELECT rows, more FROM idem_expire_run('t', 0);
\echo :SQLSTATE
SELECT rows, more FROM idem_expire_run('t', -1);
SELECT rows, more FROM idem_expire_run('t', NULL);
SELECT * FROM idem_expire_run('pg_class');
\echo :SQLSTATE
-- Equal times, whichever way the index runs.
-- Entries of rows that are gone may look like more, so that the last run finds none.
CREATE FUNCTION drain(rel regclass, max_rows bigint, OUT full_runs bigint, OUT rows bigint)
LANGUAGE plpgsql AS $$
DECLARE
    run record;
BEGIN
    SELECT 0, 0 INTO full_runs, rows;
    LOOP
        SELECT * INTO STRICT run FROM idem_expire_run(rel, max_rows);
        rows := rows + run.rows;
        full_runs := full_runs + (run.rows = max_rows)::integer;
        EXIT WHEN NOT run.more;
        IF run.rows = 0 AND rows < 5000 THEN
            RAISE EXCEPTION 'nothing expired, and yet there is more';
        END IF;
    END LOOP;
END $$;
INSERT INTO t SELECT i, '2000-01-01' FROM generate_series(1, 5000) AS i;
SELECT * FROM drain('t', 100);
SELECT count(*) FROM t;
DROP INDEX t_at;
CREATE INDEX t_at ON t (at DESC);
INSERT INTO t SELECT i, '2000-01-01' FROM generate_series(1, 5000) AS i;
SELECT * FROM drain('t', 100);
SELECT count(*) FROM t;

-- An index: on every way to make one, whether it serves and what is left.
CREATE FUNCTION opposite(timestamptz, timestamptz) RETURNS integer LANGUAGE sql IMMUTABLE
    AS $$ SELECT timestamptz_cmp($2, $1) $$;
CREATE OPERATOR CLASS opposite FOR TYPE timestamptz USING btree AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 opposite(timestamptz,
    timestamptz);
CREATE FUNCTION with_index(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    CREATE TABLE indexed (id integer, at timestamptz, late timestamptz DEFAULT 'infinity', other integer DEFAULT 1);
    INSERT INTO indexed VALUES (1, now() - interval '2 days'), (2, '-infinity'), (3, NULL), (4, now()), (5, 'infinity'),
        (6, now() - interval '3 days');
    EXECUTE definition;
    PERFORM idem_expire_attach('indexed', 'at', '1 day');
    SELECT rows || ' ' || more INTO STRICT answer FROM idem_expire_run('indexed', 2);
    answer := answer || ', left ' || ids('indexed');
    SELECT answer || '; ' || rows || ' ' || more INTO STRICT answer FROM idem_expire_run('indexed', 2);
    answer := answer || ', left ' || ids('indexed');
    PERFORM idem_expire_detach('indexed');
    DROP TABLE indexed;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_HINT;
    RETURN SQLSTATE || ' ' || SQLERRM || ': ' || answer;
END $$;
SELECT definition, with_index(definition) FROM unnest(ARRAY[
    'CREATE INDEX ON indexed (at)', 'CREATE INDEX ON indexed (at DESC)', 'CREATE INDEX ON indexed (at NULLS FIRST)',
    'CREATE INDEX ON indexed (at DESC NULLS LAST)', 'CREATE UNIQUE INDEX ON indexed (at)',
    'CREATE INDEX ON indexed (at) INCLUDE (id, other)', 'CREATE INDEX ON indexed (at DESC) INCLUDE (at)',
    'CREATE INDEX ON indexed (at) WITH (deduplicate_items = off, fillfactor = 50)',
    'CREATE INDEX ON indexed (at) WHERE at IS NOT NULL', 'CREATE INDEX ON indexed (at DESC) WHERE at IS NOT NULL',
    'ALTER TABLE indexed ADD UNIQUE (at)', 'ALTER TABLE indexed ADD EXCLUDE USING btree (at WITH =)',
    'DELETE FROM indexed WHERE at IS NULL; ALTER TABLE indexed ADD PRIMARY KEY (at)',
    'CREATE INDEX ON indexed (at, id); CREATE INDEX ON indexed (at)']) AS definition;
\t on
SELECT definition || E'\n    ' || with_index(definition) FROM unnest(ARRAY[
    'SELECT', 'CREATE INDEX ON indexed (at, id)', 'CREATE INDEX ON indexed (id, at)', 'CREATE INDEX ON indexed (id)',
    'CREATE INDEX ON indexed (late)', 'CREATE INDEX ON indexed (late) INCLUDE (at)',
    'CREATE INDEX ON indexed ((at AT TIME ZONE ''UTC''))', 'CREATE INDEX ON indexed ((coalesce(at, late)))',
    'CREATE INDEX ON indexed (at) WHERE at > ''2000-01-01''', 'CREATE INDEX ON indexed (at) WHERE other = 1',
    'CREATE INDEX ON indexed (at) WHERE at IS NULL', 'CREATE INDEX ON indexed (at) WHERE late IS NOT NULL',
    'CREATE INDEX ON indexed (at) WHERE at IS NOT NULL AND id > 0',
    'CREATE INDEX ON indexed (at) WHERE (at IS NOT NULL) IS TRUE',
    'CREATE INDEX ON indexed USING hash (at)', 'CREATE INDEX ON indexed USING brin (at)',
    'CREATE INDEX ON indexed (at opposite)', 'ALTER TABLE indexed ADD EXCLUDE USING hash (at WITH =)']) AS definition;
\t off
DROP OPERATOR FAMILY opposite USING btree;
DROP FUNCTION opposite;
-- One that could not be built is no index, one that was built over it is.
DROP INDEX t_at;
INSERT INTO t VALUES (1, '2000-01-01'), (2, '2000-01-01');
CREATE UNIQUE INDEX CONCURRENTLY broken ON t (at);
SELECT idem_expire_attach('t', 'at', '1 day');
\echo :SQLSTATE
SELECT * FROM idem_expire_run('t');
\echo :SQLSTATE
CREATE INDEX CONCURRENTLY ON t (at);
SELECT * FROM idem_expire_run('t');
DROP INDEX broken;
SELECT idem_expire_attach('t', 'at', '1 day');
-- The statement in the hint can be run as it is.
CREATE SCHEMA "Größe ""1""";
CREATE TABLE "Größe ""1"""."Tåbelle 'x'" (id integer, "Zeit ""é""" timestamptz);
SELECT idem_expire_attach('"Größe ""1"""."Tåbelle ''x''"', 'Zeit "é"', '1 day');
CREATE INDEX CONCURRENTLY ON "Größe ""1"""."Tåbelle 'x'" ("Zeit ""é""");
INSERT INTO "Größe ""1"""."Tåbelle 'x'" VALUES (1, 'epoch'), (2, NULL);
SELECT idem_expire_attach('"Größe ""1"""."Tåbelle ''x''"', 'Zeit "é"', '1 day');
SELECT * FROM idem_expire_run('"Größe ""1"""."Tåbelle ''x''"');

-- Renamed, moved, altered: the attachment goes along while it can.
ALTER TABLE "Größe ""1"""."Tåbelle 'x'" RENAME TO renamed;
ALTER SCHEMA "Größe ""1""" RENAME TO moved;
ALTER TABLE moved.renamed RENAME COLUMN "Zeit ""é""" TO stamp;
ALTER TABLE moved.renamed ADD COLUMN "Zeit ""é""" timestamptz DEFAULT 'infinity';
INSERT INTO moved.renamed VALUES (3, 'epoch');
SELECT * FROM idem_expire_run('moved.renamed');
SELECT ids('moved.renamed');
ALTER TABLE moved.renamed ALTER COLUMN stamp TYPE date;
INSERT INTO moved.renamed VALUES (4, 'epoch');
SELECT * FROM idem_expire_run('moved.renamed');
ALTER TABLE moved.renamed ALTER COLUMN stamp TYPE text;
SELECT * FROM idem_expire_run('moved.renamed');
\echo :SQLSTATE
ALTER TABLE moved.renamed ALTER COLUMN stamp TYPE timestamp USING stamp::timestamp;
INSERT INTO moved.renamed VALUES (5, 'epoch');
SELECT * FROM idem_expire_run('moved.renamed');
ALTER TABLE moved.renamed DROP COLUMN stamp;
SELECT * FROM idem_expire_run('moved.renamed');
\echo :SQLSTATE
-- Another column of the name is another column.
ALTER TABLE moved.renamed ADD COLUMN stamp timestamptz DEFAULT 'epoch';
CREATE INDEX ON moved.renamed (stamp);
SELECT * FROM idem_expire_run('moved.renamed');
SELECT relation, action, oldest_expired_age, backlog_estimate FROM idem_stat_cleanup
    WHERE relation = 'moved.renamed'::regclass;
SELECT idem_expire_attach('moved.renamed', 'stamp', '1 day');
SELECT * FROM idem_expire_run('moved.renamed');
SELECT rel, attnum, col FROM idem_expiries ORDER BY rel::text COLLATE "C";
-- A table that is dropped is passed over, whether it is forgotten already or not.
SELECT 'moved.renamed'::regclass::oid AS dropped \gset
INSERT INTO t VALUES (1, 'epoch');
DROP TABLE moved.renamed;
DROP SCHEMA moved;
SELECT * FROM idem_expire_run();
SELECT relation FROM idem_stat_cleanup ORDER BY relation;
SELECT * FROM idem_expire_run(:dropped);
\echo :SQLSTATE
SELECT idem_expire_attach(:dropped, 'stamp', '1 day');
\echo :SQLSTATE
SELECT idem_expire_detach(:dropped);
SELECT idem_expire_detach(:dropped), idem_expire_detach(0);
SELECT rel FROM idem_expiries;

-- Partitions, some of them partitioned, that number their columns in their own way.
CREATE TABLE parted (id integer, kind text, at timestamptz) PARTITION BY LIST (kind);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a');
CREATE TABLE parted_b (gone integer, at timestamptz, gone_too text, kind text, id integer) PARTITION BY RANGE (id);
ALTER TABLE parted_b DROP COLUMN gone, DROP COLUMN gone_too;
CREATE TABLE parted_b1 (kind text, id integer, gone integer, at timestamptz);
ALTER TABLE parted_b1 DROP COLUMN gone;
ALTER TABLE parted_b ATTACH PARTITION parted_b1 FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_b2 PARTITION OF parted_b FOR VALUES FROM (100) TO (200);
ALTER TABLE parted ATTACH PARTITION parted_b FOR VALUES IN ('b');
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
SELECT idem_expire_attach('parted', 'at', '1 day');
\echo :SQLSTATE
CREATE INDEX ON ONLY parted (at);
SELECT idem_expire_attach('parted', 'at', '1 day');
CREATE INDEX ON parted_a (at);
CREATE INDEX ON parted_b (at DESC);
SELECT idem_expire_attach('parted', 'at', '1 day');
CREATE INDEX ON parted_rest (at);
SELECT idem_expire_attach('parted', 'at', '1 day');
INSERT INTO parted SELECT i, k, now() - a * interval '1 day'
FROM generate_series(1, 200, 66) AS i, unnest(ARRAY['a', 'b', 'c', NULL]) AS k, unnest(ARRAY[0, 2, 3]) AS a
    WHERE i < 200;
SELECT tableoid::regclass, count(*) FROM parted GROUP BY 1 ORDER BY 1;
SELECT * FROM idem_expire_run('parted', 5);
SELECT count(*) FROM parted;
SELECT * FROM idem_expire_run('parted', 27);
SELECT * FROM idem_expire_run('parted');
SELECT tableoid::regclass, count(*), min(at) > now() - interval '1 day' AS fresh FROM parted GROUP BY 1 ORDER BY 1;
-- A column that is renamed is so in all partitions. One more partition, with a foreign table instead of rows.
ALTER TABLE parted RENAME COLUMN at TO since;
UPDATE parted SET since = 'epoch' WHERE id = 1;
SELECT * FROM idem_expire_run('parted');
CREATE FOREIGN DATA WRAPPER regress_idem_nothing;
CREATE SERVER regress_idem_nowhere FOREIGN DATA WRAPPER regress_idem_nothing;
CREATE FOREIGN TABLE parted_far PARTITION OF parted FOR VALUES IN ('far') SERVER regress_idem_nowhere;
SELECT * FROM idem_expire_run('parted');
\echo :SQLSTATE
SELECT idem_expire_attach('parted', 'since', '1 day');
\echo :SQLSTATE
ALTER TABLE parted DETACH PARTITION parted_far;
-- A partition by itself, and one that is no longer part of it.
SELECT idem_expire_attach('parted_b1', 'since', '0');
ALTER TABLE parted DETACH PARTITION parted_b;
UPDATE parted_b SET since = 'epoch';
SELECT expired, rows FROM idem_expire_run() WHERE expired::text LIKE 'parted%' ORDER BY expired::text COLLATE "C";
SELECT tableoid::regclass, count(*) FROM parted_b GROUP BY 1 ORDER BY 1;
SELECT idem_expire_detach('parted'), idem_expire_detach('parted_b1');
DROP TABLE parted, parted_b;

-- Children.
CREATE TABLE parent (id integer, at timestamptz);
CREATE TABLE child (extra integer) INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
CREATE INDEX ON parent (at);
CREATE INDEX ON grandchild (at);
SELECT idem_expire_attach('parent', 'at', '1 day');
CREATE INDEX ON child (at);
SELECT idem_expire_attach('parent', 'at', '1 day');
INSERT INTO parent VALUES (1, 'epoch'), (2, 'infinity');
INSERT INTO child VALUES (3, 'epoch'), (4, 'infinity');
INSERT INTO grandchild VALUES (5, 'epoch'), (6, 'infinity');
SELECT * FROM idem_expire_run('parent', 2);
SELECT * FROM idem_expire_run('parent', 2);
SELECT ids('parent');
SELECT idem_expire_detach('parent');
DROP TABLE grandchild, child, parent;

-- What cannot be attached, and as what.
CREATE VIEW a_view AS SELECT * FROM t;
CREATE MATERIALIZED VIEW a_copy AS SELECT * FROM t;
CREATE TEMPORARY TABLE passing (id integer, at timestamptz);
CREATE INDEX ON passing (at);
CREATE SEQUENCE a_sequence;
CREATE TYPE a_type AS (id integer, at timestamptz);
CREATE FOREIGN TABLE far (id integer, at timestamptz) SERVER regress_idem_nowhere;
CREATE TABLE partitioned_index (at timestamptz) PARTITION BY RANGE (at);
CREATE INDEX parted_index ON partitioned_index (at);
CREATE UNLOGGED TABLE unlogged (id integer, at timestamptz);
CREATE INDEX ON unlogged (at);
SELECT rel, attempt(format('SELECT idem_expire_attach(%L, ''at'', ''1 day'')', rel))
    FROM unnest(ARRAY['a_view', 'a_copy',
    'passing', 'a_sequence', 'a_type', 'far', 'parted_index', 't_id_idx', 'pg_class', 'pg_stat_activity',
    'information_schema.sql_features', 'idem_records', 'idem_scopes', 'idem_tokens', 'idem_archive', 'idem_expiries',
    'idem_history', 'idem_machines', 'idem_cleanup_paused', 'idem_stat_cleanup', 'idem_records_pkey', '0',
    '4294967295', 'unlogged']) AS rel;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 't'::regclass \gset
SELECT attempt(format('SELECT idem_expire_attach(%L, ''chunk_id'', ''1 day'')', :'toast'))
    ~ '^42809 rows cannot expire in "pg_toast_[0-9]+" \|' AS toast;
CREATE TABLE columns (id integer, "null" text, at_text text, at_time time, at_timetz timetz, ats timestamptz[],
    days interval,
    "range" tstzrange, dropped timestamptz, at timestamp,
    next_day timestamp GENERATED ALWAYS AS (at + interval '1 day') STORED);
ALTER TABLE columns DROP COLUMN dropped;
CREATE INDEX ON columns (next_day);
SELECT col, attempt(format('SELECT idem_expire_attach(''columns'', %L, ''1 day'')', col))
    FROM unnest(ARRAY['id', 'null',
    'at_text', 'at_time', 'at_timetz', 'ats', 'days', 'range', 'dropped', '........pg.dropped.9........', 'nowhere',
    '', 'ID',
    'xmin', 'ctid', 'tableoid', 'columns', repeat('x', 100), 'Zeit "é"', NULL]) AS col;
-- A column that the server computes is as good as any.
SELECT idem_expire_attach('columns', 'next_day', '1 day');
INSERT INTO columns (id, at) VALUES (1, 'epoch'), (2, now() + interval '1 hour'), (3, NULL);
SELECT * FROM idem_expire_run('columns');
SELECT ids('columns');
SELECT attempt(format('SELECT idem_expire_attach(''t'', ''at'', ''1 day'', %s)', rest)) AS answer, rest
    FROM unnest(ARRAY[
    '0', '-1', '100001', '2147483647', '1', 'NULL', 'action => ''''', 'action => NULL', 'action => ''DELETE''',
    'action => ''löschen''', format('action => %L', repeat('x', 60)), 'action => ''archive''',
    'action => ''archive'', archive => NULL', 'archive => ''kept''', 'action => ''archive'', archive => 0',
    'action => ''archive'', archive => ''t''', 'action => ''archive'', archive => ''kept''']) AS rest;
SELECT idem_expire_attach('', 'at', '1 day');
SELECT idem_expire_attach('no_such_table', 'at', '1 day');
SELECT idem_expire_detach('unlogged'), idem_expire_detach('columns'), idem_expire_detach('t');
DROP TABLE columns, unlogged, partitioned_index, passing;
DROP VIEW a_view;
DROP MATERIALIZED VIEW a_copy;
DROP SEQUENCE a_sequence;
DROP TYPE a_type;
DROP FOREIGN TABLE far, parted_far;
DROP SERVER regress_idem_nowhere;
DROP FOREIGN DATA WRAPPER regress_idem_nothing;

-- At every isolation level, undone with its subtransaction, and not in a transaction that may not write.
CREATE TABLE answers (level text, step integer, answer text);
CREATE PROCEDURE live() LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    steps text[] := ARRAY[$s$idem_expire_attach('t', 'at', '1 day')$s$, 'idem_expire_run(''t'', 2)',
    'idem_expire_run()',
        'idem_expire_run()', 'ids(''t'')', 'idem_expire_detach(''t'')', 'idem_expire_detach(''t'')'];
BEGIN
    PERFORM fill();
    INSERT INTO t SELECT 9, 'epoch' FROM generate_series(1, 3);
    FOR i IN 1..cardinality(steps) LOOP
        BEGIN
            EXECUTE 'SELECT a::text FROM ' || steps[i] || ' AS a' INTO answer;
            RAISE EXCEPTION USING ERRCODE = 'ZZ000';
        EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
            NULL;
        END;
        EXECUTE 'SELECT a::text FROM ' || steps[i] || ' AS a' INTO answer;
        INSERT INTO answers VALUES (current_setting('transaction_isolation'), i, answer);
    END LOOP;
    COMMIT;
END $$;
CALL live();
SET default_transaction_isolation = 'repeatable read';
CALL live();
SET default_transaction_isolation = 'serializable';
CALL live();
RESET default_transaction_isolation;
SELECT step, answer, count(*) AS levels FROM answers GROUP BY step, answer ORDER BY step, answer;
BEGIN READ ONLY;
SELECT call, attempt('SELECT ' || call) FROM unnest(ARRAY['idem_expire_attach(''t'', ''at'', ''1 day'')',
    'idem_expire_attach(NULL, NULL, NULL)', 'idem_expire_detach(''t'')', 'idem_expire_run()',
    'idem_expire_run(''t'', 0)'])
    AS call;
COMMIT;
DROP PROCEDURE live;
DROP FUNCTION expired_after, fill, drain, with_index, ids;
DROP TABLE answers, t, kept;
SELECT idem_cleanup_resume();
