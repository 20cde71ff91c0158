-- idem_cas: a change of one row that still has the version that was read.
\set SHOW_CONTEXT never
CREATE DOMAIN short AS varchar(5) CHECK (VALUE <> 'no');
CREATE TYPE color AS ENUM ('red', 'green');
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE doc (id integer PRIMARY KEY, code text UNIQUE, version integer NOT NULL DEFAULT 1, note text, amount numeric(6,2),
    flag boolean, at timestamptz, tags text[], data jsonb, raw bytea, c color, s short, p pair,
    g integer GENERATED ALWAYS AS (id * 2) STORED, i integer GENERATED ALWAYS AS IDENTITY, required text NOT NULL DEFAULT '');
SELECT attempt('SELECT idem_cas(''doc'', ''1'', 1, ''{}'')');
INSERT INTO doc (id, code) VALUES (1, 'a'), (2, 'b');
SET timezone = 'UTC';
-- In every mode alike.
SELECT idem_version_attach('doc');
SELECT idem_cas('doc', '1', 1, '{"note": "one"}'), idem_cas('doc', '{"id": 1}', 2, '{"note": "two"}'),
    idem_cas('doc', '{"code": "a"}', 3, '{}');
SELECT idem_version_attach('doc', mode => 'expect');
SELECT idem_cas('doc', '1', 4, '{"note": "three"}'), idem_cas('doc', '1', 5, '{}');
SELECT idem_version_attach('doc', mode => 'client');
SELECT idem_cas('doc', '1', 6, '{"note": "four", "flag": null}'), idem_cas('doc', '1', 7, '{}');
SELECT id, version, note FROM doc ORDER BY id;
-- Stale, in every mode alike; no row; wrong calls.
SELECT mode, attempt(format('SELECT idem_version_attach(''doc'', mode => %L)', mode)),
    attempt('SELECT idem_cas(''doc'', ''1'', 7, ''{"note": "lost"}'')'), attempt('SELECT idem_cas(''doc'', ''1'', 9, ''{}'')')
FROM unnest(ARRAY['where', 'expect', 'client']) AS mode;
SELECT idem_cas('doc', '1', 7, '{"note": "lost"}');
SELECT idem_cas('doc', '3', 1, '{}');
SELECT idem_version_attach('doc');
-- 13 has another code for generated columns.
SELECT arguments, replace(attempt(format('SELECT idem_cas(%s)', arguments)), '42601 column "g"', '428C9 column "g"') AS attempt FROM unnest(ARRAY[
    'NULL, ''1'', 8, ''{}''', '0, ''1'', 8, ''{}''', '''doc_pkey'', ''1'', 8, ''{}''',
    '''doc'', NULL, 8, ''{}''', '''doc'', ''1'', NULL, ''{}''', '''doc'', ''1'', 8, NULL',
    '''doc'', ''1'', 8, ''[]''', '''doc'', ''1'', 8, ''1''', '''doc'', ''1'', 8, ''null''',
    '''doc'', ''null'', 8, ''{}''', '''doc'', ''{}'', 8, ''{}''', '''doc'', ''{"note": "four"}'', 8, ''{}''',
    '''doc'', ''{"id": 1, "code": "a"}'', 8, ''{}''', '''doc'', ''"x"'', 8, ''{}''',
    '''doc'', ''1'', 8, ''{"version": 9}''', '''doc'', ''1'', 8, ''{"missing": 1}''', '''doc'', ''1'', 8, ''{"ctid": "(0,1)"}''',
    '''doc'', ''1'', 8, ''{"": 1}''', '''doc'', ''1'', 8, ''{"g": 1}''', '''doc'', ''1'', 8, ''{"i": 1}''',
    '''doc'', ''1'', 8, ''{"required": null}''', '''doc'', ''1'', 8, ''{"code": "b"}''', '''doc'', ''1'', 8, ''{"s": "no"}''',
    '''doc'', ''1'', 8, ''{"s": "too long"}''', '''doc'', ''1'', 8, ''{"c": "blue"}''', '''doc'', ''1'', 8, ''{"flag": "maybe"}''',
    '''doc'', ''1'', 8, ''{"amount": 1e6}''', '''doc'', ''1'', 9223372036854775807, ''{}''', '''doc'', ''1'', -1, ''{}''']) AS arguments;
SELECT attempt(format('SELECT idem_cas(''doc'', ''1'', 8, ''{%s: 1}'')', to_json(repeat('long', 100))));
-- Values of every kind.
SELECT idem_cas('doc', '1', 8, $${"note": "äöü 表\n\"", "amount": 12.345, "flag": true, "at": "2020-02-29T12:00:00Z", "tags": ["a", null, "b c"],
    "data": {"deep": [1, null]}, "raw": "\\x00ff", "c": "green", "s": "abc", "p": "(1,x)"}$$);
SELECT note, amount, flag, at, tags, data, raw, c, s, p, g FROM doc WHERE id = 1;
SELECT idem_cas('doc', '1', 9, '{"data": null, "tags": [], "note": "", "amount": "7", "s": null}');
SELECT note, amount, tags, data, s FROM doc WHERE id = 1;
SELECT idem_cas('doc', '1', 10, '{"data": "text"}'), idem_cas('doc', '1', 11, '{"note": 42}'), idem_cas('doc', '1', 12, '{"note": {"a": [1]}}');
SELECT note, data FROM doc WHERE id = 1;
-- The key itself may change.
SELECT idem_cas('doc', '1', 13, '{"id": 10}');
SELECT idem_cas('doc', '10', 14, '{"id": 1, "code": null}');
SELECT attempt('SELECT idem_cas(''doc'', ''{"code": null}'', 15, ''{}'')');

-- A call in a transaction that is undone in part.
BEGIN;
SELECT idem_cas('doc', '1', 15, '{"note": "in"}');
SAVEPOINT s;
SELECT idem_cas('doc', '1', 16, '{"note": "inner"}');
SELECT attempt('SELECT idem_cas(''doc'', ''1'', 16, ''{"note": "stale"}'')');
ROLLBACK TO s;
SELECT idem_cas('doc', '1', 16, '{"note": "again"}');
ROLLBACK;
SELECT version, note FROM doc WHERE id = 1;

-- A row that a trigger keeps as it is.
CREATE TRIGGER suppress BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT attempt('SELECT idem_cas(''doc'', ''1'', 15, ''{}'')');
DROP TRIGGER suppress ON doc;
-- A trigger that calls it for another row, and more kept plans than there is room for.
CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id < 5 THEN
        PERFORM idem_cas('doc', to_jsonb(NEW.id + 1), (SELECT version FROM doc WHERE id = NEW.id + 1), '{}');
    END IF;
    RETURN NULL;
END $$;
INSERT INTO doc (id) VALUES (3), (4), (5);
CREATE TRIGGER follow AFTER UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION follow();
SELECT idem_cas('doc', '2', 1, '{"note": "first"}');
SELECT id, version FROM doc ORDER BY id;
DROP TRIGGER follow ON doc;
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        EXECUTE format('CREATE TABLE many_%1$s (id integer PRIMARY KEY, version integer, c_%1$s text)', i);
        EXECUTE format('INSERT INTO many_%1$s VALUES (1, 1)', i);
        PERFORM idem_version_attach(format('many_%s', i)::regclass);
    END LOOP;
    FOR round IN 0..2 LOOP
        FOR i IN 1..100 LOOP
            PERFORM idem_cas(format('many_%s', i)::regclass, '1', round + 1, jsonb_build_object('c_' || i, round));
        END LOOP;
    END LOOP;
END $$;
SELECT count(*), min(version), max(version) FROM
    (SELECT (xpath('/row/version/text()', query_to_xml(format('SELECT version FROM many_%s', i), false, true, '')))[1]::text::integer
     AS version FROM generate_series(1, 100) AS i) AS v;
DO $$ BEGIN FOR i IN 1..100 LOOP EXECUTE format('DROP TABLE many_%s', i); END LOOP; END $$;
-- Kept plans heed what changes about the table.
ALTER TABLE doc RENAME COLUMN note TO remark;
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 2, ''{"note": "x"}'')'), idem_cas('doc', '2', 2, '{"remark": "x"}');
ALTER TABLE doc ALTER COLUMN remark TYPE varchar(20);
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 3, ''{"remark": "longer than twenty is this"}'')'), idem_cas('doc', '2', 3, '{"remark": "abc"}');
ALTER TABLE doc RENAME TO doc_2;
CREATE TABLE doc (LIKE doc_2 INCLUDING ALL);
INSERT INTO doc (id) VALUES (2);
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 1, ''{"remark": "abc"}'')');
SELECT idem_version_attach('doc');
SELECT idem_cas('doc', '2', 1, '{"remark": "abc"}'), idem_cas('doc_2', '2', 4, '{"remark": "abc"}');
SELECT remark, version FROM doc UNION ALL SELECT remark, version FROM doc_2 WHERE id = 2;
SELECT idem_version_detach('doc_2');
SELECT attempt('SELECT idem_cas(''doc_2'', ''2'', 5, ''{}'')');
DROP TABLE doc_2;

-- With the caller's rights.
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
SET ROLE regress_idem_app;
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 2, ''{}'')');
RESET ROLE;
GRANT SELECT (id, version), UPDATE (remark) ON doc TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 2, ''{"remark": "app"}'')'), attempt('SELECT idem_cas(''doc'', ''2'', 2, ''{}'')');
RESET ROLE;
GRANT UPDATE (version) ON doc TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT idem_cas('doc', '2', 2, '{"remark": "app"}');
SELECT attempt('SELECT idem_cas(''doc'', ''2'', 3, ''{"amount": 1}'')'),
    attempt('SELECT idem_cas(''doc'', ''2'', 2, ''{"remark": "old"}'')');
RESET ROLE;
GRANT SELECT, UPDATE ON doc TO regress_idem_app;
INSERT INTO doc (id, remark) VALUES (6, 'hid'), (7, 'see');
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON doc FOR SELECT USING (remark <> 'hid');
CREATE POLICY writable ON doc FOR UPDATE USING (remark = 'app');
SET ROLE regress_idem_app;
SELECT idem_cas('doc', '2', 3, '{}');
SELECT id, attempt(format('SELECT idem_cas(''doc'', ''%s'', %s, ''{}'')', id, expected))
FROM (VALUES (6, 1), (6, 2), (7, 1), (7, 2)) AS v (id, expected);
RESET ROLE;
DROP TABLE doc;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
-- Where the check does not fire, a second one who expects the same version is refused all the same.
CREATE TABLE a (id integer PRIMARY KEY, t text, views integer NOT NULL DEFAULT 0, version integer NOT NULL DEFAULT 1);
CREATE TABLE own (id integer PRIMARY KEY, t text, u text, version bigint NOT NULL DEFAULT 1);
CREATE TRIGGER zzz BEFORE UPDATE OF t ON own FOR EACH ROW EXECUTE FUNCTION idem_version_check('version', 'where');
CREATE FUNCTION twice(rel text, col text, OUT ann text, OUT bob text, OUT version bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('TRUNCATE %s', rel);
    EXECUTE format('INSERT INTO %s (id) VALUES (1)', rel);
    ann := attempt(format('SELECT idem_cas(''%s'', ''1'', 1, ''{"%s": "ann"}'')', rel, col));
    bob := attempt(format('SELECT idem_cas(''%s'', ''1'', 1, ''{"%s": "bob"}'')', rel, col));
    EXECUTE format('SELECT version FROM %s', rel) INTO version;
END $$;
CREATE FUNCTION in_mode(mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    DROP TRIGGER zzz ON own;
    EXECUTE format('CREATE TRIGGER zzz BEFORE UPDATE OF t ON own FOR EACH ROW EXECUTE FUNCTION idem_version_check(''version'', %L)', mode);
    PERFORM idem_version_attach('a', mode => mode);
    RETURN mode;
END $$;
\set each 'unnest(ARRAY[''where'', ''expect'', ''client'']) AS mode'
\x on
SELECT in_mode(mode), attempt('ALTER TABLE a DISABLE TRIGGER USER'), twice('a', 't'), twice('own', 'u') AS other_column, twice('own', 't') AS its_column FROM :each;
SELECT in_mode(mode), attempt('SET session_replication_role = replica'), twice('a', 't'), attempt('SELECT idem_cas(''a'', ''1'', 1, ''{}'')'),
    attempt('RESET session_replication_role') FROM :each;
SELECT in_mode(mode), attempt('CREATE TABLE child () INHERITS (a)'), attempt('INSERT INTO child VALUES (7)'),
    attempt('SELECT idem_cas(''a'', ''7'', 1, ''{"t": "ann"}'')') AS ann, attempt('SELECT idem_cas(''a'', ''7'', 1, ''{"t": "bob"}'')') AS bob,
    attempt('DROP TABLE child') FROM :each;

-- Ignored columns alone leave the version in every mode; a value that is written again does not.
CREATE FUNCTION ignoring(mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM idem_version_attach('a', mode => mode, ignore => '{views}');
    TRUNCATE a;
    INSERT INTO a (id, t) VALUES (1, 'x'), (2, 'x');
    RETURN mode;
END $$;
SELECT ignoring(mode), attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"views": 5}'')') AS ignored,
    attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"t": "x"}'')') AS same, attempt('SELECT idem_cas(''a'', ''1'', 2, ''{"views": 6, "t": "y"}'')') AS both_columns,
    attempt('SELECT idem_cas(''a'', ''1'', 2, ''{"views": 7}'')') AS stale, attempt('SELECT idem_cas(''a'', ''1'', 3, ''{}'')') AS bumped
FROM :each;
-- What triggers do to other rows is judged as ever, also where these have the expected version.
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id = 1 THEN
        UPDATE a SET views = views + 1 WHERE id = 2;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER look_first BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER look_last AFTER UPDATE ON a FOR EACH ROW EXECUTE FUNCTION look();
CREATE FUNCTION versions() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(',', id, t, views, version), ' ' ORDER BY id) FROM a
$$;
SELECT ignoring(mode), attempt('SELECT idem_cas(''a'', ''1'', 1, ''{}'')'), attempt('SELECT versions()'),
    attempt('SELECT idem_cas(''a'', ''1'', 2, ''{"t": "y"}'')'), attempt('SELECT versions()') FROM :each;
DROP TRIGGER look_first ON a;
DROP TRIGGER look_last ON a;
-- A trigger adds a change that counts to one that does not.
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.t := NEW.views; RETURN NEW; END';
CREATE TRIGGER touch BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION touch();
SELECT ignoring(mode), attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"views": 5}'')'), attempt('SELECT versions()') FROM :each;
DROP TRIGGER touch ON a;

-- The last version, and versions that a column of this type cannot have.
SELECT ignoring(mode), attempt('INSERT INTO a VALUES (3, '''', 0, 2147483646)'), attempt('SELECT idem_cas(''a'', ''3'', 2147483646, ''{"t": "x"}'')') AS last,
    attempt('SELECT idem_cas(''a'', ''3'', 2147483647, ''{"t": "y"}'')') AS beyond, attempt('SELECT idem_cas(''a'', ''3'', 2147483647, ''{}'')') AS bumped,
    attempt('SELECT idem_cas(''a'', ''3'', 2147483647, ''{"views": 1}'')') AS ignored, attempt('SELECT idem_cas(''a'', ''3'', 2147483648, ''{}'')') AS higher,
    attempt('SELECT idem_cas(''a'', ''3'', -2147483649, ''{}'')') AS lower, attempt('SELECT idem_cas(''a'', ''4'', 2147483647, ''{}'')') AS missing
FROM :each;
INSERT INTO own VALUES (2, '', '', 9223372036854775807), (3, '', '', -9223372036854775808);
SELECT attempt('SELECT idem_cas(''own'', ''2'', 9223372036854775807, ''{"u": "x"}'')'), attempt('SELECT idem_cas(''own'', ''3'', -9223372036854775808, ''{"u": "x"}'')');
-- A view is told apart from a table without a check.
CREATE VIEW window_on_a AS SELECT * FROM a;
SELECT attempt('SELECT idem_cas(''window_on_a'', ''1'', 1, ''{"t": "y"}'')');
DROP VIEW window_on_a;

-- Integers from senders that know only floating-point numbers; text that looks like them is text.
CREATE DOMAIN small AS smallint CHECK (VALUE < 100);
CREATE TABLE numbers (name text PRIMARY KEY, i integer UNIQUE, s small, n numeric, t text, version bigint NOT NULL DEFAULT 1);
INSERT INTO numbers VALUES ('1', 1), ('1.0', 2);
SELECT idem_version_attach('numbers');
SELECT attempt('SELECT idem_cas(''numbers'', ''{"i": 1.0}'', 1, ''{"s": 9.0, "n": 9.0, "t": 9.0}'')'), attempt('SELECT idem_cas(''numbers'', ''1.0'', 1, ''{"i": 2e1}'')'),
    attempt('SELECT idem_cas(''numbers'', ''1.0'', 2, ''{"i": 2.5}'')'), attempt('SELECT idem_cas(''numbers'', ''1.0'', 2, ''{"s": 100.0}'')');
SELECT * FROM numbers ORDER BY name;
DROP TABLE numbers;
DROP DOMAIN small;

-- Rules in place of updates, and beside them.
SELECT ignoring('where');
CREATE RULE instead AS ON UPDATE TO a DO INSTEAD INSERT INTO own VALUES (NEW.id + 10) RETURNING 1, ''::text, 1, 1;
SELECT attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"t": "y"}'')');
CREATE OR REPLACE RULE instead AS ON UPDATE TO a DO INSTEAD NOTHING;
SELECT attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"t": "y"}'')');
DROP RULE instead ON a;
CREATE RULE also AS ON UPDATE TO a DO ALSO INSERT INTO own VALUES (NEW.id + 10);
SELECT attempt('SELECT idem_cas(''a'', ''1'', 1, ''{"t": "y"}'')'), attempt('SELECT id FROM own WHERE id > 10');
DROP RULE also ON a;
\x off
DROP TABLE a, own;
DROP FUNCTION twice, in_mode, ignoring, look, versions, touch;
BEGIN READ ONLY;
SELECT idem_cas(NULL, NULL, NULL, NULL);
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_version_attach(NULL);
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_version_detach(NULL);
ROLLBACK;
DROP FUNCTION follow;
DROP TYPE color, pair;
DROP DOMAIN short;
