-- A trigger of the user's may allow rows without a version, which count as being at 0, for idem_cas as well.
CREATE TABLE unversioned (id int PRIMARY KEY, v int);
CREATE TRIGGER zzz BEFORE UPDATE ON unversioned FOR EACH ROW EXECUTE FUNCTION idem_version_check('v', 'where');
INSERT INTO unversioned SELECT i FROM generate_series(1, 4) AS i;
SELECT idem_cas('unversioned', '1', 1, '{}');
SELECT idem_cas('unversioned', '1', 0, '{}');
SELECT idem_cas('unversioned', '1', 0, '{}');
SELECT idem_cas('unversioned', '1', 1, '{}');

DROP TRIGGER zzz ON unversioned;
CREATE TRIGGER zzz BEFORE UPDATE ON unversioned FOR EACH ROW EXECUTE FUNCTION idem_version_check('v', 'expect');
SELECT idem_cas('unversioned', '2', 0, '{}');

DROP TRIGGER zzz ON unversioned;
CREATE TRIGGER zzz BEFORE UPDATE ON unversioned FOR EACH ROW EXECUTE FUNCTION idem_version_check('v', 'client');
SELECT idem_cas('unversioned', '3', 0, '{}');

-- Also where the check does not fire.
ALTER TABLE unversioned DISABLE TRIGGER zzz;
SELECT idem_cas('unversioned', '4', 0, '{}');
SELECT id, v FROM unversioned ORDER BY id;
DROP TABLE unversioned;
