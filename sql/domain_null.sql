-- A domain may refuse NULL. What is passed as JSON null, by itself or within an array, is asked for that
-- as every other value: a statement with a parameter of a domain's type believes that it was.

SET client_min_messages = warning;

CREATE DOMAIN required AS text NOT NULL;
CREATE DOMAIN counted AS int CHECK (VALUE IS NOT NULL);
CREATE DOMAIN optional AS text CHECK (VALUE <> '');
CREATE TABLE domain_rows (
    id int PRIMARY KEY,
    name required DEFAULT 'x',
    n counted DEFAULT 1,
    note optional DEFAULT 'x',
    names required[],
    version int NOT NULL DEFAULT 1
);
INSERT INTO domain_rows (id) VALUES (1);
SELECT idem_version_attach('domain_rows');

SELECT idem_cas('domain_rows', '1', 1, '{"name": null}');
SELECT idem_cas('domain_rows', '1', 1, '{"n": null}');
SELECT idem_cas('domain_rows', '1', 1, '{"names": ["a", null]}');
SELECT idem_cas('domain_rows', '1', 1, '{"note": null, "names": ["a"]}');
SELECT idem_cas('domain_rows', '1', 2, '{"names": null}');

SELECT idem_execute('domain-1', 'INSERT INTO domain_rows (id, name) VALUES (2, $1)', '[null]');
SELECT idem_execute('domain-2', 'INSERT INTO domain_rows (id, names) VALUES (2, $1)', '[["a", null]]');
SELECT outcome FROM idem_execute('domain-3', 'INSERT INTO domain_rows (id, note) VALUES (2, $1)', '[null]');

SELECT id, name, n, note, names, version FROM domain_rows ORDER BY id;

SELECT idem_forget('domain-3');
DROP TABLE domain_rows;
DROP DOMAIN required, counted, optional;
