-- Rows without a version get one by an update like any other: what the table's own triggers and constraints
-- look up by search_path is found.
CREATE SCHEMA version_fill;
SET search_path = version_fill, public;

CREATE TABLE told (id int, version int);
CREATE TABLE highest (version int);
INSERT INTO highest VALUES (10);
CREATE FUNCTION in_range(version int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN version IS NULL OR version <= (SELECT h.version FROM highest AS h);
END $$;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO told VALUES (NEW.id, NEW.version);
    RETURN NEW;
END $$;
CREATE TABLE pages (id int PRIMARY KEY, version int CHECK (in_range(version)));
CREATE TRIGGER tell AFTER UPDATE ON pages FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO pages VALUES (1, NULL), (2, 5), (3, NULL);

SELECT idem_version_attach('pages', fill => true);
SELECT id, version FROM pages ORDER BY id;
SELECT id, version FROM told ORDER BY id;
SHOW search_path;

-- A rule that puts something else in its place leaves the rows as they are.
CREATE TABLE ruled (id int PRIMARY KEY, version int);
INSERT INTO ruled VALUES (1, NULL);
CREATE RULE nothing AS ON UPDATE TO ruled DO INSTEAD NOTHING;
SELECT idem_version_attach('ruled', fill => true);
SELECT id, version FROM ruled;

-- A constraint NOT NULL that is NOT VALID, known from 18 on, says nothing of the rows that are there.
CREATE TABLE unchecked (id int PRIMARY KEY, version int);
INSERT INTO unchecked VALUES (1, NULL), (2, 5);
SELECT current_setting('server_version_num')::int >= 180000 AS has_not_valid \gset
\if :has_not_valid
ALTER TABLE unchecked ADD CONSTRAINT has_version NOT NULL version NOT VALID;
\endif
SELECT idem_version_attach('unchecked');
SELECT idem_version_attach('unchecked', fill => true);
SELECT id, version FROM unchecked ORDER BY id;
INSERT INTO unchecked VALUES (3, NULL);

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA version_fill CASCADE;
