-- Versions: what an update may write in each mode, and what it stores.
\set SHOW_CONTEXT never
CREATE TABLE doc (id integer PRIMARY KEY, note text, version integer, more text);
INSERT INTO doc SELECT i, 'a', 5 FROM generate_series(1, 3) AS i;
CREATE FUNCTION in_mode(mode text) RETURNS TABLE (written text, answer text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM idem_version_attach('doc', mode => mode);
    FOREACH written IN ARRAY ARRAY['4', 'NULL', 'version - 1', '0', '-1', '2147483647', '-2147483648', 'version + 2',
        'version', 'version + 1', 'DEFAULT'] LOOP
        answer := attempt(format('UPDATE doc SET version = %s WHERE id = 1 RETURNING version', written));
        RETURN NEXT;
    END LOOP;
    written := NULL;
    answer := attempt('UPDATE doc SET note = note WHERE id = 1 RETURNING version');
    RETURN NEXT;
END $$;
SELECT * FROM in_mode('where');
SELECT * FROM in_mode('expect');
SELECT * FROM in_mode('client');
TABLE doc ORDER BY id;
-- Programs learn which column it is.
CREATE FUNCTION column_refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    place text;
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS place = COLUMN_NAME;
    RETURN SQLSTATE || ' ' || place;
END $$;
SELECT mode, idem_version_attach('doc', mode => mode),
    column_refused('UPDATE doc SET version = 99 WHERE id = 1') AS written,
    column_refused('UPDATE doc SET version = NULL WHERE id = 1') AS nulled
FROM unnest('{where,expect,client}'::text[]) AS mode;
SELECT column_refused('UPDATE doc SET note = note WHERE id = 1') AS not_written;
DROP FUNCTION column_refused;

-- Whole errors.
UPDATE doc SET version = 9 WHERE id = 2;
UPDATE doc SET note = 'b' WHERE id = 2;
SELECT idem_version_attach('doc');
UPDATE doc SET version = 3 WHERE id = 2;
SELECT idem_version_attach('doc', mode => 'expect');
UPDATE doc SET version = 6 WHERE id = 2;

-- An INSERT keeps what it says, and what it leaves out is 1.
INSERT INTO doc (id) VALUES (10) RETURNING version;
INSERT INTO doc (id, version) VALUES (11, 0), (12, 7) RETURNING version;
COPY doc (id, version) FROM stdin;
13	41
\.
SELECT id, version FROM doc WHERE id >= 10 ORDER BY id;
INSERT INTO doc (id, version) VALUES (14, NULL);
-- A key that is used again starts anew.
UPDATE doc SET note = 'x' WHERE id = 10 RETURNING version;
DELETE FROM doc WHERE id = 10;
INSERT INTO doc (id) VALUES (10) RETURNING version;

-- Every row of a statement, whichever way it comes.
SELECT idem_version_attach('doc');
UPDATE doc SET note = note || '!' RETURNING id, version;
WITH changed AS (UPDATE doc SET note = 'with' WHERE id = 1 RETURNING version) TABLE changed;
INSERT INTO doc (id, note) VALUES (1, 'upsert'), (20, 'upsert')
    ON CONFLICT (id) DO UPDATE SET note = excluded.note RETURNING id, version;
INSERT INTO doc (id, note, version) VALUES (1, 'stale', 2)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version;
INSERT INTO doc (id) VALUES (1) ON CONFLICT DO NOTHING;
UPDATE doc SET note = o.note FROM doc AS o WHERE doc.id = 2 AND o.id = 3 RETURNING doc.version;
CREATE VIEW doc_view AS SELECT id, note, version FROM doc;
UPDATE doc_view SET note = 'view' WHERE id = 1 RETURNING version;
-- Twice in one transaction, and in one command through a function.
BEGIN;
UPDATE doc SET note = 'one' WHERE id = 3 RETURNING version;
UPDATE doc SET note = 'two' WHERE id = 3 RETURNING version;
SAVEPOINT s;
UPDATE doc SET note = 'three' WHERE id = 3 RETURNING version;
ROLLBACK TO s;
UPDATE doc SET note = 'four' WHERE id = 3 RETURNING version;
SAVEPOINT s;
UPDATE doc SET version = 1 WHERE id = 3;
ROLLBACK TO s;
UPDATE doc SET note = 'five' WHERE id = 3 RETURNING version;
ROLLBACK;
SELECT version FROM doc WHERE id = 3;
-- A statement that is refused in one row leaves all of them.
UPDATE doc SET version = CASE WHEN id = 12 THEN 0 ELSE version END, note = 'lost';
SELECT count(*) FROM doc WHERE note = 'lost';

-- Other triggers come first, and what they write is checked.
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.note := 'meddled at ' || NEW.version;
    NEW.version := NEW.version + TG_ARGV[0]::integer;
    RETURN NEW;
END $$;
CREATE TRIGGER zz_meddle BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION meddle(1);
UPDATE doc SET more = 'm' WHERE id = 1 RETURNING note, version;
SELECT attempt('UPDATE doc SET version = version + 1 WHERE id = 1');
DROP TRIGGER zz_meddle ON doc;
-- One that comes later has the last word, and is not checked.
CREATE TRIGGER zzzz_meddle BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION meddle(1);
UPDATE doc SET more = 'm' WHERE id = 1 RETURNING note, version;
DROP TRIGGER zzzz_meddle ON doc;
CREATE TRIGGER suppress BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION suppress();
UPDATE doc SET more = 'm' RETURNING version;
DROP TRIGGER suppress ON doc;
CREATE TRIGGER redundant BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE doc SET more = more WHERE id = 1 RETURNING version;
UPDATE doc SET more = 'n' WHERE id = 1 RETURNING version;
DROP TRIGGER redundant ON doc;

-- The end of the type.
CREATE TABLE ends (id integer PRIMARY KEY, small integer NOT NULL DEFAULT 2147483646,
    big bigint NOT NULL DEFAULT 9223372036854775806);
INSERT INTO ends VALUES (1);
SELECT idem_version_attach('ends', 'small');
UPDATE ends SET id = id RETURNING small;
UPDATE ends SET id = id;
SELECT idem_version_attach('ends', 'small', 'client');
UPDATE ends SET id = id;
UPDATE ends SET small = 1;
SELECT idem_version_detach('ends');
SELECT idem_version_attach('ends', 'big', 'client');
UPDATE ends SET big = big + 1 RETURNING big;
SELECT idem_version_attach('ends', 'big', 'expect');
UPDATE ends SET id = id;
UPDATE ends SET big = 1;
DROP TABLE ends;

-- Wherever the column is in the row: after NULLs, after values of any length, in rows older than other columns.
CREATE TABLE wide (a text, b "char", c numeric, d text, version bigint NOT NULL DEFAULT 1, e text, f int[], g text);
SELECT idem_version_attach('wide');
INSERT INTO wide (a, b, c, d) VALUES
    (NULL, NULL, NULL, NULL), ('x', 'y', 1.5, repeat('long ', 1000)), (repeat('z', 200), NULL, 3, NULL),
    (NULL, 'y', NULL, repeat(md5('out of line'), 2000)), ('', '', 0, ''),
    (repeat('z', 127), 'y', 12345678901234567890.5, 'short');
UPDATE wide SET e = '', f = '{1,NULL}', g = 'g' WHERE length(a) < 5;
ALTER TABLE wide DROP COLUMN c;
ALTER TABLE wide ADD COLUMN h integer DEFAULT 7;
UPDATE wide SET e = 'changed';
UPDATE wide SET version = version + 1, a = NULL WHERE b IS NULL;
ALTER TABLE wide ADD COLUMN i text;
UPDATE wide SET i = 'i', f = '{2}';
SELECT left(a, 3) AS a, length(a) AS al, b, length(d) AS d, md5(d), version, e, f, g, h, i FROM wide ORDER BY a, b, d;
DROP TABLE wide;
-- A column that was added by ADD COLUMN and is in no old row.
CREATE TABLE added (id integer, note text);
INSERT INTO added VALUES (1, 'old');
ALTER TABLE added ADD COLUMN version bigint NOT NULL DEFAULT 1;
SELECT idem_version_attach('added');
UPDATE added SET note = 'new' RETURNING *;
DROP TABLE added;

-- A key that cascades is an update like any other.
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE child (id integer PRIMARY KEY, parent integer REFERENCES parent ON UPDATE CASCADE ON DELETE SET NULL,
    version bigint NOT NULL DEFAULT 1);
SELECT idem_version_attach('child');
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1), (2, 2), (3, 2);
UPDATE parent SET id = id + 10;
TABLE child ORDER BY id;
DELETE FROM parent WHERE id = 12;
TABLE child ORDER BY id;
SELECT idem_version_attach('child', mode => 'client');
UPDATE parent SET id = 1;
DROP TABLE child, parent;

-- Replicated rows are stored as they are.
SET session_replication_role = replica;
UPDATE doc SET version = 1, note = 'replicated' WHERE id = 13 RETURNING version;
RESET session_replication_role;

-- Errors name the key only to whoever may read it.
CREATE ROLE regress_idem_writer;
GRANT UPDATE (version), SELECT (version) ON doc TO regress_idem_writer;
SET ROLE regress_idem_writer;
UPDATE doc SET version = 77 WHERE version = 1;
RESET ROLE;
REVOKE ALL ON doc FROM regress_idem_writer;
DROP ROLE regress_idem_writer;
CREATE TABLE keyless (version integer NOT NULL DEFAULT 1);
SELECT idem_version_attach('keyless');
INSERT INTO keyless DEFAULT VALUES;
UPDATE keyless SET version = 9;
DROP TABLE keyless;

-- Names.
CREATE TABLE "Größe ""x"" 表" ("schlüssel id" integer PRIMARY KEY, "версия 版本" integer, "sehen 見る" text, n text);
SELECT idem_version_attach('"Größe ""x"" 表"', 'версия 版本', 'expect', '{"sehen 見る"}');
INSERT INTO "Größe ""x"" 表" VALUES (1);
UPDATE "Größe ""x"" 表" SET n = 'x', "версия 版本" = 4;
UPDATE "Größe ""x"" 表" SET "sehen 見る" = 'x' RETURNING *;
UPDATE "Größe ""x"" 表" SET n = 'x' RETURNING *;
SELECT idem_cas('"Größe ""x"" 表"', '{"schlüssel id": 1}', 2, '{"n": "ü"}');
SELECT idem_version_detach('"Größe ""x"" 表"');
DROP TABLE "Größe ""x"" 表";
SELECT format('CREATE TABLE %1$I (id integer PRIMARY KEY, %1$I integer, %2$I text)', repeat('t', 63), repeat('é', 31)) \gexec
SELECT idem_version_attach(quote_ident(repeat('t', 63))::regclass, repeat('t', 63)::name, ignore => ARRAY[repeat('é', 31)::name]);
SELECT format('INSERT INTO %I VALUES (1)', repeat('t', 63)) \gexec
SELECT format('UPDATE %I SET id = 2', repeat('t', 63)) \gexec
SELECT format('UPDATE %I SET %I = 2', repeat('t', 63), repeat('é', 31)) \gexec
SELECT format('TABLE %I', repeat('t', 63)) \gexec
SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zzz_idem%' AND octet_length(tgname) < 64 AND tgrelid = repeat('t', 63)::regclass;
SELECT format('DROP TABLE %I', repeat('t', 63)) \gexec

DROP VIEW doc_view;
DROP TABLE doc;
DROP FUNCTION in_mode, meddle;
