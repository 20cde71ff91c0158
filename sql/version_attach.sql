-- Versions: attaching and detaching, what is refused, what renames and other DDL do.
\set SHOW_CONTEXT never
-- The column gets what it lacks.
CREATE TABLE doc (id integer PRIMARY KEY, note text, version integer, seen timestamptz, count bigint DEFAULT 0);
INSERT INTO doc VALUES (1, NULL, NULL), (2, 'b', NULL), (3, 'c', 9);
SELECT idem_version_attach('doc');
SELECT idem_version_attach('doc', fill => NULL);
SELECT attnotnull, atthasdef FROM pg_attribute WHERE attrelid = 'doc'::regclass AND attname = 'version';
SELECT idem_version_attach('doc', fill => true);
SELECT id, version FROM doc ORDER BY id;
SELECT attnotnull, pg_get_expr(adbin, adrelid) FROM pg_attribute JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = 'doc'::regclass AND attname = 'version';
SELECT * FROM idem_version_attachments;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'doc'::regclass;
-- A default of one's own stays.
CREATE TABLE own_default (id integer, version bigint NOT NULL DEFAULT 100);
SELECT idem_version_attach('own_default');
INSERT INTO own_default VALUES (1) RETURNING version;
DROP TABLE own_default;

-- Again: mode and ignored columns are replaced.
SELECT idem_version_attach('doc', 'version', 'expect', '{seen,count,seen}');
SELECT * FROM idem_version_attachments;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'doc'::regclass;
SELECT idem_version_attach('doc', 'version', 'client', NULL);
SELECT * FROM idem_version_attachments;
BEGIN;
SELECT idem_version_attach('doc', mode => 'expect');
UPDATE doc SET note = 'x' WHERE id = 1 RETURNING version;
ROLLBACK;
SELECT attempt('UPDATE doc SET note = ''x'' WHERE id = 1');

-- What cannot be attached.
CREATE VIEW a_view AS TABLE doc;
CREATE MATERIALIZED VIEW a_matview AS TABLE doc;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_type AS (version integer);
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE FOREIGN DATA WRAPPER a_wrapper;
CREATE SERVER a_server FOREIGN DATA WRAPPER a_wrapper;
CREATE FOREIGN TABLE a_foreign_table (version integer) SERVER a_server;
CREATE TABLE kinds (id integer GENERATED ALWAYS AS IDENTITY, s smallint, n numeric, t text, at timestamptz, d positive,
    g integer GENERATED ALWAYS AS (1) STORED, a integer[], u uuid, f double precision);
SELECT rel, attempt(format('SELECT idem_version_attach(%L)', rel))
FROM unnest(ARRAY['a_view', 'a_matview', 'a_sequence', 'a_type', 'a_foreign_table', 'doc_pkey', 'kinds', 'pg_class',
    'pg_views', 'missing', '0']) AS rel;
SELECT col, attempt(format('SELECT idem_version_attach(''kinds'', %L)', col))
FROM unnest(ARRAY['id', 's', 'n', 't', 'at', 'd', 'g', 'a', 'u', 'f', 'missing', 'ctid', 'xmin', '']) AS col;
SELECT arguments, attempt(format('SELECT idem_version_attach(%s)', arguments))
FROM unnest(ARRAY['NULL', '''doc'', NULL', '''doc'', ''version'', NULL', '''doc'', ''version'', ''Where''',
    '''doc'', ''version'', ''''', '''doc'', ''version'', ''where'', ''{seen,NULL}''',
    '''doc'', ''version'', ''where'', ''{version}''', '''doc'', ''version'', ''where'', ''{missing}''',
    '''doc'', ''version'', ''where'', ''{ctid}''', '''doc'', ''count''', '''doc'', ''version'', ''where'', ''{{seen},{note}}''']) AS arguments;
SELECT arguments, attempt(format('SELECT idem_version_detach(%s)', arguments))
FROM unnest(ARRAY['NULL', '''a_view''', '''kinds''', '''doc'', ''count''', '''doc'', ''missing''']) AS arguments;
SELECT idem_version_check();
DROP FOREIGN TABLE a_foreign_table;
DROP SERVER a_server;
DROP FOREIGN DATA WRAPPER a_wrapper;
DROP TABLE kinds;
DROP DOMAIN positive;
DROP TYPE a_type;
DROP SEQUENCE a_sequence;
DROP MATERIALIZED VIEW a_matview;
DROP VIEW a_view;

-- A change in nothing but ignored columns, generated ones left aside.
ALTER TABLE doc ADD COLUMN twice bigint GENERATED ALWAYS AS (count * 2) STORED, ADD COLUMN big text;
SELECT idem_version_attach('doc', mode => 'expect', ignore => '{seen,count}');
UPDATE doc SET version = 1, note = NULL, big = repeat(md5('toast'), 3000) WHERE id = 1 RETURNING version;
UPDATE doc SET seen = 'epoch', count = count + 1 WHERE id = 1 RETURNING version, count, twice;
UPDATE doc SET seen = NULL, note = note, big = big WHERE id = 1 RETURNING version;
UPDATE doc SET seen = 'epoch', big = repeat(md5('toast'), 3000) WHERE id = 1 RETURNING version;
UPDATE doc SET note = '' WHERE id = 1 RETURNING version;
UPDATE doc SET note = NULL, count = 7 WHERE id = 1 RETURNING version;
SELECT attempt('UPDATE doc SET count = 8, version = 2 WHERE id = 1');
UPDATE doc SET big = big || '!' WHERE id = 1 RETURNING version;
SELECT idem_cas('doc', '1', 5, '{}');
SELECT idem_cas('doc', '1', 6, '{"count": 10}');
SELECT idem_version_attach('doc', mode => 'client', ignore => '{count}');
UPDATE doc SET count = 0 WHERE id = 1 RETURNING version;
UPDATE doc SET id = id WHERE id = 1 RETURNING version;
SELECT attempt('UPDATE doc SET note = ''y'' WHERE id = 1');
-- Who writes the version is checked, even if somebody else has left the same row.
UPDATE doc SET note = 'x', count = 1, version = 7 WHERE id = 1 RETURNING version;
SELECT attempt('UPDATE doc SET note = ''x'', count = 1, version = 7 WHERE id = 1');
SELECT attempt('UPDATE doc SET note = ''x'', count = 2, version = 7 WHERE id = 1');
UPDATE doc SET count = 3, version = 8 WHERE id = 1 RETURNING version;
SELECT idem_version_attach('doc', ignore => '{twice}');
UPDATE doc SET count = 5 WHERE id = 1 RETURNING version, twice;

-- Renamed columns are found, dropped ones end what needs them, types wait for a detach.
SELECT idem_version_attach('doc', ignore => '{count,seen}');
ALTER TABLE doc RENAME COLUMN version TO lock_version;
ALTER TABLE doc RENAME COLUMN count TO views;
ALTER TABLE doc RENAME TO page;
UPDATE page SET views = 1 WHERE id = 1 RETURNING lock_version;
UPDATE page SET note = 'z' WHERE id = 1 RETURNING lock_version;
SELECT * FROM idem_version_attachments;
SELECT idem_version_attach('page', 'lock_version', ignore => '{views}');
SELECT attempt('ALTER TABLE page DROP COLUMN lock_version');
SELECT attempt('ALTER TABLE page ALTER COLUMN lock_version TYPE bigint');
ALTER TABLE page DROP COLUMN note;
UPDATE page SET seen = 'epoch' WHERE id = 1 RETURNING lock_version;
SELECT idem_version_detach('page', 'lock_version');
ALTER TABLE page ALTER COLUMN lock_version TYPE bigint;
SELECT idem_version_attach('page', 'lock_version');
UPDATE page SET seen = NULL WHERE id = 1 RETURNING lock_version;
ALTER TABLE page DISABLE TRIGGER USER;
UPDATE page SET seen = NULL WHERE id = 1 RETURNING lock_version;
ALTER TABLE page ENABLE TRIGGER USER;
SET client_min_messages = warning;
ALTER TABLE page DROP COLUMN lock_version CASCADE;
RESET client_min_messages;
SELECT count(*) FROM idem_version_attachments;
SELECT idem_version_detach('page');
DROP TABLE page;

-- Triggers of one's own.
CREATE TABLE own (id integer PRIMARY KEY, "Lock" bigint, note text, seen integer);
INSERT INTO own VALUES (1, NULL), (2, 5);
CREATE FUNCTION try_trigger(timing text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('CREATE TRIGGER own %s EXECUTE FUNCTION idem_version_check(%s)', timing, arguments);
    answer := attempt('UPDATE own SET note = ''x'' WHERE id = 2 RETURNING "Lock"');
    EXECUTE 'DROP TRIGGER own ON own';
    RETURN answer;
END $$;
SELECT timing, try_trigger(timing, '''Lock''') FROM unnest(ARRAY['AFTER UPDATE ON own FOR EACH ROW',
    'BEFORE UPDATE ON own', 'BEFORE UPDATE ON own FOR EACH ROW', 'BEFORE UPDATE OF note ON own FOR EACH ROW',
    'BEFORE INSERT OR UPDATE ON own FOR EACH ROW']) AS timing;
SELECT arguments, try_trigger('BEFORE UPDATE ON own FOR EACH ROW', arguments) FROM unnest(ARRAY['', '''''', '''lock''',
    '''note''', '''Lock'', ''''', '''Lock'', ''none''', '''Lock'', ''where'', ''missing''', '''Lock'', ''where'', ''note''',
    '''Lock'', ''client''', '''Lock'', ''expect'', ''seen'', ''id''']) AS arguments;
CREATE TRIGGER own BEFORE INSERT OR DELETE ON own FOR EACH ROW EXECUTE FUNCTION idem_version_check('Lock');
SELECT attempt('INSERT INTO own VALUES (3)'), attempt('DELETE FROM own');
DROP TRIGGER own ON own;
-- Without NOT NULL a row may have no version yet, which is before the first.
CREATE TRIGGER own BEFORE UPDATE ON own FOR EACH ROW EXECUTE FUNCTION idem_version_check('Lock', 'where', 'seen');
SELECT * FROM idem_version_attachments;
UPDATE own SET seen = 1 RETURNING id, "Lock";
UPDATE own SET note = 'y' RETURNING id, "Lock";
SELECT attempt('UPDATE own SET "Lock" = NULL WHERE id = 1');
SELECT idem_cas('own', '1', 1, '{"note": "cas"}');
SELECT attempt('SELECT idem_version_attach(''own'', ''Lock'')'), attempt('SELECT idem_version_detach(''own'')');
ALTER TABLE own RENAME COLUMN "Lock" TO "Key";
SELECT attempt('UPDATE own SET note = ''z''');
SELECT * FROM idem_version_attachments;
DROP TRIGGER own ON own;
SELECT idem_version_attach('own', 'Key');
DROP TABLE own;
DROP FUNCTION try_trigger;

-- A parent by inheritance: its children first.
CREATE TABLE base (id integer PRIMARY KEY, version integer NOT NULL DEFAULT 1);
CREATE TABLE derived (more text) INHERITS (base);
SELECT attempt('SELECT idem_version_attach(''base'')');
SELECT idem_version_attach('derived'), idem_version_attach('base');
INSERT INTO base VALUES (1);
INSERT INTO derived VALUES (1), (2);
UPDATE base SET id = id RETURNING tableoid::regclass, id, version;
SELECT idem_cas('base', '2', 2, '{}');
SELECT attempt('SELECT idem_cas(''base'', ''1'', 2, ''{}'')');
SELECT rel, col FROM idem_version_attachments ORDER BY rel::text;
DROP TABLE derived, base;
SELECT count(*) FROM idem_version_attachments;

-- Who may attach: the owner, and his heirs.
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_heir IN ROLE regress_idem_owner;
CREATE ROLE regress_idem_other;
SELECT idem_grant(r::regrole, true) FROM unnest(ARRAY['regress_idem_owner', 'regress_idem_heir', 'regress_idem_other']) AS r;
CREATE TABLE theirs (id integer PRIMARY KEY, version integer);
ALTER TABLE theirs OWNER TO regress_idem_owner;
GRANT SELECT, UPDATE ON theirs TO regress_idem_other;
SELECT format('GRANT ALL ON SCHEMA %I TO regress_idem_owner', current_schema()) \gexec
SET ROLE regress_idem_other;
SELECT attempt('SELECT idem_version_attach(''theirs'')'), attempt('SELECT idem_version_detach(''theirs'')');
SET ROLE regress_idem_heir;
SELECT idem_version_attach('theirs');
SELECT * FROM idem_version_attachments;
SELECT idem_version_detach('theirs');
RESET ROLE;
DROP TABLE theirs;
SET client_min_messages = warning;
DROP OWNED BY regress_idem_owner, regress_idem_heir, regress_idem_other;
DROP ROLE regress_idem_heir, regress_idem_owner, regress_idem_other;
