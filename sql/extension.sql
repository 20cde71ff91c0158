-- The extension as a whole: created, dropped, moved by its schema's name, all in one session.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_extension;
\c regress_idem_extension
SET client_min_messages = warning;
CREATE ROLE regress_idem_app;
CREATE EXTENSION pg_idem;
SELECT extrelocatable, extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'pg_idem';
CREATE VIEW functions AS
    SELECT p.* FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        AND d.deptype = 'e'
    JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'pg_idem';

-- What may be planned how.
SELECT proname, provolatile, proparallel, proisstrict, prosecdef, proleakproof, pronargs, pronargdefaults
FROM functions ORDER BY proname, pronargs;
-- Everything is described, and carries the prefix.
SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension
WHERE extname = 'pg_idem') AND deptype = 'e'
    -- From 17 on array types and tables' row types are members of their own.
    AND NOT EXISTS (SELECT FROM pg_type WHERE classid = 'pg_type'::regclass AND oid = objid AND (typcategory = 'A'
        OR EXISTS (SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind <> 'c')))
    AND (obj_description(objid, classid::regclass::name) IS NULL
        OR pg_describe_object(classid, objid, objsubid) !~ ' (public\.)?idem_');
-- Every public function is for somebody: applications or operators; granting is the owner's.
SELECT idem_grant('regress_idem_app', operator => true);
SELECT proname FROM functions WHERE NOT has_function_privilege('regress_idem_app', oid, 'EXECUTE') ORDER BY proname;
SELECT idem_revoke('regress_idem_app');

-- It is not to be moved, but its schema can be renamed under a session that has plans.
ALTER EXTENSION pg_idem SET SCHEMA pg_catalog;
\echo :SQLSTATE
DROP VIEW functions;
DROP EXTENSION pg_idem;
CREATE SCHEMA "My schema @ 1.";
CREATE EXTENSION pg_idem SCHEMA "My schema @ 1.";
CREATE TABLE judged (id integer PRIMARY KEY, state text);
CREATE TABLE versioned (id integer PRIMARY KEY, version integer NOT NULL DEFAULT 1);
INSERT INTO versioned VALUES (1);
INSERT INTO judged VALUES (1, 'a');
CREATE FUNCTION live(s text) RETURNS TABLE (step integer, answer text) LANGUAGE plpgsql AS $$
DECLARE
    calls text[] := ARRAY[
        'outcome FROM %1$I.idem_begin(''k'', lease => ''1 us'')', 'outcome || attempt FROM %1$I.idem_begin(''k'')',
        '%1$I.idem_extend(''k'') > now()', '%1$I.idem_checkpoint(''k'', ''c'')', '%1$I.idem_finish(''k'', ''1'')',
        'outcome || result FROM %1$I.idem_begin(''k'')', 'status FROM %1$I.idem_get(''k'')',
        'result FROM %1$I.idem_execute(''e'', ''SELECT 1 AS a'')', '%1$I.idem_scope_set(''s'', lease => ''1 h'')',
        'lease_expires_at > now() + ''59 min'' FROM %1$I.idem_begin(''k'', ''s'')', '%1$I.idem_scope_reset(''s'')',
        '%1$I.idem_purge()', 'action FROM %1$I.idem_stat_cleanup', 'count(*) FROM %1$I.idem_expire_run()',
        '%1$I.idem_cleanup_pause()', '%1$I.idem_cleanup_resume()', '%1$I.idem_cleanup_resume()',
        '%1$I.idem_machine_define(''m'', ''{a}'', ''{{a,b,go},{b,a,back}}'')',
        '%1$I.idem_can_transition(''m'', ''a'', ''b'')',
        'format(''%%s'', %1$I.idem_machine_attach(''judged'', ''state'', ''m''))',
        'outcome FROM %1$I.idem_fire(''judged'', ''1'', ''go'')',
        'outcome FROM %1$I.idem_fire(''judged'', ''1'', ''back'', ''e'')',
        'outcome FROM %1$I.idem_fire(''judged'', ''1'', ''back'', ''e'')',
        'count(*) FROM %1$I.idem_history_of(''judged'', ''1'')',
        'event FROM %1$I.idem_allowed_events(''judged'', ''1'')',
        'col FROM %1$I.idem_machine_attachments', 'count(*) FROM %1$I.idem_machine_validate(''judged'')',
        '%1$I.idem_machine_detach(''judged'', ''state'')',
        'format(''%%s'', %1$I.idem_version_attach(''versioned''))', 'mode FROM %1$I.idem_version_attachments',
        '%1$I.idem_cas(''versioned'', ''1'', version, ''{}'') - version FROM versioned', '%1$I.idem_version_detach(''versioned'')',
        'depth FROM %1$I.idem_session_lock(''l'')', 'depth FROM %1$I.idem_xact_lock(''l'')',
        'count(*) FROM %1$I.idem_locks', '%1$I.idem_session_unlock(''l'')',
        '%1$I.idem_forget(''k'')', '%1$I.idem_forget(''e'')', '%1$I.idem_forget(''k'', ''s'', true)',
        '%1$I.idem_grant(''regress_idem_app'', true)',
        '%1$I.idem_revoke(''regress_idem_app'')', 'count(*) FROM %1$I.idem_records'];
BEGIN
    FOR i IN 1..cardinality(calls) LOOP
        step := i;
        EXECUTE 'SELECT ' || format(calls[i], s) INTO answer;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT * FROM live('My schema @ 1.');
ALTER SCHEMA "My schema @ 1." RENAME TO "its $""other""\'s ";
SELECT string_agg(answer, ' ' ORDER BY step) FROM live('its $"other"\''s ');
-- Another schema under the old name does not matter, and records stay.
CREATE SCHEMA "My schema @ 1.";
CREATE TABLE "My schema @ 1.".idem_records (a integer);
SELECT outcome FROM "its $""other""\'s ".idem_begin('kept');
ALTER SCHEMA "its $""other""\'s " RENAME TO idem;
SELECT outcome FROM idem.idem_begin('kept');
SELECT string_agg(answer, ' ' ORDER BY step) FROM live('idem');
-- Tables with a machine follow, too.
SELECT idem.idem_machine_attach('judged', 'state', 'm', history => true);
ALTER SCHEMA idem RENAME TO "idem 3";
UPDATE judged SET state = 'b';
SELECT outcome FROM "idem 3".idem_fire('judged', '1', 'back');
SELECT from_state, to_state, event FROM "idem 3".idem_history_of('judged', '1');
ALTER SCHEMA "idem 3" RENAME TO idem;
UPDATE judged SET state = 'nowhere';
\echo :SQLSTATE
-- In one transaction.
BEGIN;
ALTER SCHEMA idem RENAME TO idem2;
SELECT outcome FROM idem2.idem_begin('kept');
ROLLBACK;
SELECT outcome FROM idem.idem_begin('kept');
DROP SCHEMA "My schema @ 1." CASCADE;

-- Dropped and created again: in the session, in one transaction, elsewhere. What it judges is said, and goes along.
DROP EXTENSION pg_idem;
\echo :SQLSTATE
DROP EXTENSION pg_idem CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'judged'::regclass;
UPDATE judged SET state = 'a';
CREATE EXTENSION pg_idem SCHEMA idem;
SELECT string_agg(answer, ' ' ORDER BY step) FROM live('idem');
BEGIN;
SELECT outcome FROM idem.idem_begin('k');
DROP EXTENSION pg_idem;
CREATE EXTENSION pg_idem SCHEMA idem;
SELECT outcome FROM idem.idem_begin('k');
SELECT idem.idem_finish('k', '1');
COMMIT;
SELECT outcome, result FROM idem.idem_begin('k');
BEGIN;
DROP EXTENSION pg_idem;
CREATE EXTENSION pg_idem SCHEMA public;
SELECT outcome FROM public.idem_begin('k');
ROLLBACK;
SELECT outcome, result FROM idem.idem_begin('k');
BEGIN;
DROP EXTENSION pg_idem;
CREATE EXTENSION pg_idem SCHEMA public;
SELECT public.idem_scope_set('default', on_abandoned => 'hold');
SELECT outcome FROM public.idem_begin('k', lease => '1 us');
SELECT public.idem_finish('k', '2');
COMMIT;
SELECT outcome, result FROM public.idem_begin('k');
DROP SCHEMA idem;
DROP EXTENSION pg_idem;
SELECT count(*) FROM pg_class WHERE relname LIKE 'idem%';
CREATE EXTENSION pg_idem SCHEMA public;
SELECT string_agg(answer, ' ' ORDER BY step) FROM live('public');
-- A prepared statement of before.
PREPARE claim AS SELECT outcome FROM idem_begin('prepared');
EXECUTE claim;
DROP EXTENSION pg_idem;
CREATE EXTENSION pg_idem SCHEMA public;
EXECUTE claim;
EXECUTE claim;

\c :home
DROP DATABASE regress_idem_extension;
DROP ROLE regress_idem_app;
