-- What others may do to a table whose machine is not theirs.
SET client_min_messages = warning;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_mallory;
SELECT idem_grant('regress_idem_app');
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
CREATE SCHEMA shared;
GRANT USAGE ON SCHEMA shared TO PUBLIC;
GRANT CREATE ON SCHEMA shared TO regress_idem_mallory;

-- A function of the guard's name for a partition is no guard.
CREATE TABLE shared.guarded (id integer, status text, part integer, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE shared.guarded_1 PARTITION OF shared.guarded FOR VALUES IN (1);
CREATE FUNCTION shared.may(shared.guarded) RETURNS text LANGUAGE sql AS $$ SELECT 'never' $$;
SELECT idem_machine_attach('shared.guarded', 'status', 'order', guards => '{"pay": "shared.may"}');
INSERT INTO shared.guarded VALUES (1, 'new', 1);
GRANT SELECT, UPDATE ON shared.guarded TO regress_idem_app;
SET ROLE regress_idem_mallory;
CREATE FUNCTION shared.may(shared.guarded_1) RETURNS text LANGUAGE sql AS $$ SELECT NULL::text $$;
SET ROLE regress_idem_app;
UPDATE shared.guarded SET status = 'paid';
RESET ROLE;

-- Nothing is told to who may not fire the event, not even what it did before.
CREATE TABLE shared.told (id integer PRIMARY KEY, status text DEFAULT 'new', secret text);
SELECT idem_machine_attach('shared.told', 'status', 'order');
INSERT INTO shared.told VALUES (1);
SELECT outcome FROM idem_fire('shared.told', '1', 'pay', 'e1');
GRANT UPDATE (secret) ON shared.told TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_fire('shared.told', '1', 'pay', 'e1');
SELECT outcome FROM idem_fire('shared.told', '1', 'ship', 'e1');
RESET ROLE;
GRANT SELECT, UPDATE (status) ON shared.told TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_fire('shared.told', '1', 'pay', 'e1');
SELECT outcome FROM idem_fire('shared.told', '1', 'ship', 'e2');
RESET ROLE;

-- Nor may anybody claim an event's record before it comes.
SET ROLE regress_idem_app;
SELECT outcome FROM idem_begin('public.told.status:0', 'idem.event');
SELECT outcome FROM idem_execute('public.told.status:0', 'SELECT 1', '[]', 'idem.event');
RESET ROLE;

-- A guard whose event was given another name.
SELECT idem_machine_define('order', '{new}', '{{new,paid,payment},{paid,shipped,ship}}');
SELECT problem FROM idem_machine_validate('shared.guarded');

DROP SCHEMA shared CASCADE;
SELECT idem_revoke('regress_idem_app');
REVOKE ALL ON SCHEMA public FROM regress_idem_app;
DROP ROLE regress_idem_app, regress_idem_mallory;
DELETE FROM idem_records;
DELETE FROM idem_machines;
