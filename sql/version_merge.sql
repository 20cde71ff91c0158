-- MERGE, which PostgreSQL has from 15 on: each of its updates raises the version.
SELECT current_setting('server_version_num')::integer < 150000 AS skip_test \gset
\if :skip_test
\quit
\endif
\set SHOW_CONTEXT never
CREATE TABLE doc (id integer PRIMARY KEY, note text, version integer);
CREATE TABLE incoming (id integer, note text, version integer);
SELECT idem_version_attach('doc', mode => 'expect');
INSERT INTO incoming VALUES (1, 'a', 1), (2, 'b', 5);
CREATE PROCEDURE merge() LANGUAGE sql AS $$
    MERGE INTO doc AS d USING incoming AS i ON d.id = i.id
    WHEN MATCHED AND i.note = 'gone' THEN DELETE
    WHEN MATCHED AND i.note = 'keep' THEN DO NOTHING
    WHEN MATCHED THEN UPDATE SET note = i.note, version = i.version
    WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.note, i.version)
$$;
CALL merge();
CALL merge();
TABLE doc ORDER BY id;
CALL merge();
UPDATE incoming SET version = 6 WHERE id = 2;
UPDATE incoming SET note = 'keep' WHERE id = 1;
CALL merge();
UPDATE incoming SET note = 'gone';
CALL merge();
INSERT INTO doc VALUES (3, 'again');
MERGE INTO doc AS d USING (VALUES (3)) AS i (id) ON d.id = i.id WHEN MATCHED THEN UPDATE SET note = 'merged';
TABLE doc ORDER BY id;
DROP PROCEDURE merge;
DROP TABLE doc, incoming;
