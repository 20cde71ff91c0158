-- Whoever may call the functions gets nothing else by them. In a database of its own, because some of what follows
-- would bend the meaning of everybody's SQL.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_security;
\c regress_idem_security
\set SHOW_CONTEXT never
CREATE EXTENSION pg_idem;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_other;
CREATE ROLE regress_idem_member IN ROLE regress_idem_other;
CREATE ROLE regress_idem_owner;
SELECT idem_grant('regress_idem_app'), idem_grant('regress_idem_other');

-- Nothing is open to PUBLIC.
CREATE VIEW acls AS
    SELECT d.objid, pg_describe_object(d.classid, d.objid, 0) AS object, coalesce(p.proacl, c.relacl, t.typacl) AS acl,
        d.classid = 'pg_proc'::regclass OR c.relkind IN ('r', 'p', 'S', 'v', 'm')
            OR d.classid = 'pg_type'::regclass AS has_acl
    FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
        AND extname = 'pg_idem'
    LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
    LEFT JOIN pg_type AS t ON d.classid = 'pg_type'::regclass AND d.objid = t.oid
    WHERE d.deptype = 'e'
        -- From 17 on array types and tables' row types are members of their own.
        AND coalesce(t.typcategory <> 'A' AND (SELECT relkind = 'c' FROM pg_class WHERE oid = t.typrelid), true);
SELECT count(*) > 20 AS enough_objects,
    count(*) FILTER (WHERE NOT coalesce(has_acl, false)) AS objects_of_other_kinds FROM acls;
SELECT object FROM acls WHERE acl IS NULL OR EXISTS (SELECT FROM aclexplode(acl) WHERE grantee = 0) ORDER BY object;
SELECT count(*) AS definer_functions FROM pg_proc JOIN acls ON objid = pg_proc.oid WHERE prosecdef;

-- The caller's statement runs with the caller's rights.
SET ROLE regress_idem_app;
SELECT outcome, result FROM idem_execute('who', 'SELECT current_user, session_user <> current_user AS set_role');
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM idem_execute('refused', statement);
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || current_user;
END $$;
SELECT statement, pg_temp.refused(statement)
FROM unnest(ARRAY['SELECT FROM idem_records', 'DELETE FROM idem_records', 'SELECT nextval(''idem_tokens'')',
    'UPDATE idem_scopes SET lease = NULL', 'SELECT idem_purge()', 'ALTER TABLE idem_records ADD COLUMN mine text',
    'SELECT pg_read_file(''PG_VERSION'')']) AS statement;
SELECT current_user;
-- An error inside our own SQL gives the caller its name back.
SELECT idem_finish('never', '1');
SELECT current_user;
SELECT pg_temp.refused('SELECT 1/0');
RESET ROLE;
-- The same session in another role.
SET SESSION AUTHORIZATION regress_idem_other;
SELECT outcome, result FROM idem_execute('who 2', 'SELECT current_user, session_user');
RESET SESSION AUTHORIZATION;

-- Scopes that belong to a role.
SELECT idem_scope_set('theirs', member => 'regress_idem_other');
CREATE FUNCTION may(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT * FROM ' || call;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION use_scope() RETURNS TABLE (call text, answer text) LANGUAGE sql AS $$
    SELECT call, may(call) FROM unnest(ARRAY[
        $c$idem_begin('k', 'theirs')$c$, $c$idem_extend('k', 'theirs')$c$,
        $c$idem_checkpoint('k', 'c', scope => 'theirs')$c$,
        $c$idem_get('k', 'theirs')$c$, $c$idem_finish('k', scope => 'theirs')$c$,
        $c$idem_fail('k', scope => 'theirs')$c$,
        $c$idem_release('k', 'theirs')$c$, $c$idem_execute('e', 'SELECT 1', scope => 'theirs')$c$]) AS call
$$;
SET ROLE regress_idem_app;
SELECT * FROM use_scope();
SET ROLE regress_idem_member;
SELECT * FROM use_scope();
SELECT outcome, result FROM idem_begin('e', 'theirs');
SET ROLE regress_idem_app;
SELECT outcome, result FROM idem_begin('e', 'theirs');
\echo :SQLSTATE
RESET ROLE;
SELECT outcome FROM idem_begin('e', 'theirs');
-- A member that is gone lets nobody in but superusers; another takes its place.
CREATE ROLE regress_idem_gone;
SELECT idem_scope_set('gone', member => 'regress_idem_gone');
DROP ROLE regress_idem_gone;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_begin('k', 'gone');
RESET ROLE;
SELECT idem_scope_set('gone', member => 'regress_idem_app');
SET ROLE regress_idem_app;
SELECT outcome FROM idem_begin('k', 'gone');
RESET ROLE;
DROP FUNCTION may, use_scope;

-- Tables of an ordinary owner, behind row security that lets nobody through, not even the owner.
ALTER TABLE idem_records OWNER TO regress_idem_owner;
ALTER TABLE idem_scopes OWNER TO regress_idem_owner;
ALTER TABLE idem_archive OWNER TO regress_idem_owner;
ALTER TABLE idem_history OWNER TO regress_idem_owner;
ALTER TABLE idem_machines OWNER TO regress_idem_owner;
ALTER TABLE idem_expiries OWNER TO regress_idem_owner;
ALTER TABLE idem_cleanup_paused OWNER TO regress_idem_owner;
-- For the partitions of the archive.
GRANT CREATE ON SCHEMA public TO regress_idem_owner;
ALTER SEQUENCE idem_tokens OWNER TO regress_idem_owner;
ALTER SEQUENCE idem_history_ids OWNER TO regress_idem_owner;
ALTER TABLE idem_records ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE idem_scopes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
ALTER TABLE idem_machines ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE idem_history ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TABLE judged (id text PRIMARY KEY, status text DEFAULT 'new');
GRANT SELECT, INSERT, UPDATE ON judged TO regress_idem_app;
SELECT idem_machine_attach('judged', 'status', 'order', history => true);
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship},{new,lost,lose}}');
SET ROLE regress_idem_owner;
SELECT count(*) FROM idem_records;
SELECT count(*) FROM idem_machines;
SET ROLE regress_idem_app;
INSERT INTO judged VALUES ('rls');
SELECT outcome FROM idem_fire('judged', '"rls"', 'pay', 'e');
SELECT outcome FROM idem_fire('judged', '"rls"', 'pay', 'e');
UPDATE judged SET status = 'lost';
\echo :SQLSTATE
SELECT from_state, to_state FROM idem_history_of('judged', '"rls"');
SELECT outcome FROM idem_begin('rls', 'rls', lease => '1 us');
SELECT outcome, attempt FROM idem_begin('rls', 'rls');
SELECT idem_extend('rls', 'rls') > now() AS extended;
SELECT idem_checkpoint('rls', 'c', scope => 'rls');
SELECT status, checkpoint FROM idem_get('rls', 'rls');
SELECT idem_finish('rls', '1', 'rls');
SELECT outcome, result FROM idem_begin('rls', 'rls');
SET row_security = off;
SELECT outcome, result FROM idem_begin('rls', 'rls');
SELECT outcome FROM idem_begin('rls 2', 'rls');
UPDATE judged SET status = 'shipped';
SELECT from_state, to_state FROM idem_history_of('judged', '"rls"');
RESET row_security;
SELECT outcome, result FROM idem_execute('rls 3', 'SELECT 1 AS a', scope => 'rls');
RESET ROLE;
SELECT idem_scope_set('rls', lease => '1 h'), idem_scope_reset('rls');
ALTER TABLE idem_records NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
ALTER TABLE idem_scopes NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
ALTER TABLE idem_machines NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
ALTER TABLE idem_history NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
DROP TABLE judged;
SELECT scope, key, status FROM idem_records WHERE scope = 'rls' ORDER BY key;

-- A caller whose schema comes before pg_catalog and redefines what our SQL might say.
CREATE SCHEMA hostile AUTHORIZATION regress_idem_app;
SET ROLE regress_idem_app;
CREATE FUNCTION hostile.hijacked(who text) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN RAISE '% hijacked as %', who, current_user; END $$;
DO $$
DECLARE
    type text;
    operator text;
    name text;
BEGIN
    FOREACH type IN ARRAY ARRAY['text', 'int8', 'int4', 'int2', 'timestamptz', 'interval', 'bytea', 'jsonb', 'bool',
        'oid', 'regrole'] LOOP
        EXECUTE format('CREATE FUNCTION hostile.compare(pg_catalog.%1$I, pg_catalog.%1$I) RETURNS boolean LANGUAGE sql AS $f$ SELECT hostile.hijacked(''operator'') $f$', type);
        EXECUTE format('CREATE FUNCTION hostile.combine(pg_catalog.%1$I, pg_catalog.%1$I) RETURNS pg_catalog.%1$I LANGUAGE sql AS $f$ SELECT CASE WHEN hostile.hijacked(''operator'') THEN $1 END $f$', type);
        FOREACH operator IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>='] LOOP
            EXECUTE format('CREATE OPERATOR hostile.%2$s (LEFTARG = pg_catalog.%1$I, RIGHTARG = pg_catalog.%1$I, FUNCTION = hostile.compare)', type, operator);
        END LOOP;
        FOREACH operator IN ARRAY ARRAY['+', '-', '||'] LOOP
            EXECUTE format('CREATE OPERATOR hostile.%2$s (LEFTARG = pg_catalog.%1$I, RIGHTARG = pg_catalog.%1$I, FUNCTION = hostile.combine)', type, operator);
        END LOOP;
    END LOOP;
    FOREACH name IN ARRAY ARRAY['clock_timestamp()', 'now()', 'statement_timestamp()', 'transaction_timestamp()'] LOOP
        EXECUTE format('CREATE FUNCTION hostile.%s RETURNS timestamptz LANGUAGE sql AS $f$ SELECT CASE WHEN hostile.hijacked(''function'') THEN timestamptz ''epoch'' END $f$', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['nextval(regclass)', 'nextval(text)', 'octet_length(text)', 'octet_length(bytea)',
        'current_setting(text)', 'pg_backend_pid()'] LOOP
        EXECUTE format('CREATE FUNCTION hostile.%s RETURNS bigint LANGUAGE sql AS $f$ SELECT CASE WHEN hostile.hijacked(''function'') THEN 1 END $f$', name);
    END LOOP;
END $$;
CREATE FUNCTION hostile.add(timestamptz, interval) RETURNS timestamptz
    LANGUAGE sql AS $$ SELECT CASE WHEN hostile.hijacked('operator') THEN $1 END $$;
CREATE OPERATOR hostile.+ (LEFTARG = timestamptz, RIGHTARG = interval, FUNCTION = hostile.add);
CREATE FUNCTION hostile.sha256(bytea) RETURNS bytea
    LANGUAGE sql AS $$ SELECT CASE WHEN hostile.hijacked('function') THEN $1 END $$;
CREATE TABLE hostile.idem_records (LIKE pg_catalog.pg_class);
CREATE TABLE hostile.idem_scopes (LIKE pg_catalog.pg_class);
CREATE TABLE hostile.idem_machines (LIKE pg_catalog.pg_class);
CREATE TABLE hostile.idem_history (LIKE pg_catalog.pg_class);
CREATE TABLE hostile.judged (LIKE pg_catalog.pg_class);
CREATE SEQUENCE hostile.idem_tokens;
CREATE TEMPORARY TABLE idem_records (LIKE pg_catalog.pg_class);
CREATE TEMPORARY TABLE idem_scopes (LIKE pg_catalog.pg_class);
CREATE TEMPORARY TABLE idem_machines (LIKE pg_catalog.pg_class);
CREATE TEMPORARY TABLE idem_history (LIKE pg_catalog.pg_class);
CREATE TEMPORARY TABLE idem_changes (LIKE pg_catalog.pg_class);
CREATE TEMPORARY SEQUENCE idem_tokens;
CREATE TEMPORARY SEQUENCE idem_history_ids;
CREATE DOMAIN hostile.text AS pg_catalog.text CHECK (hostile.hijacked('type'));
CREATE DOMAIN hostile.interval AS pg_catalog.interval CHECK (hostile.hijacked('type'));
CREATE DOMAIN hostile.oid AS pg_catalog.oid CHECK (hostile.hijacked('type'));
RESET ROLE;
-- Casts belong to everybody's types, so only a superuser can make such.
CREATE FUNCTION hostile.cast(bigint) RETURNS pg_catalog.text
    LANGUAGE sql AS $$ SELECT CASE WHEN hostile.hijacked('cast') THEN '' END $$;
CREATE FUNCTION hostile.cast(integer) RETURNS pg_catalog.text
    LANGUAGE sql AS $$ SELECT CASE WHEN hostile.hijacked('cast') THEN '' END $$;
CREATE FUNCTION hostile.cast(pg_catalog.text) RETURNS bytea
    LANGUAGE sql AS $$ SELECT CASE WHEN hostile.hijacked('cast') THEN '\x'::bytea END $$;
CREATE CAST (bigint AS pg_catalog.text) WITH FUNCTION hostile.cast(bigint) AS IMPLICIT;
CREATE CAST (integer AS pg_catalog.text) WITH FUNCTION hostile.cast(integer) AS IMPLICIT;
CREATE CAST (pg_catalog.text AS bytea) WITH FUNCTION hostile.cast(pg_catalog.text) AS IMPLICIT;

-- In a session whose plans were made before, in a new one, and with the same again for superusers.
CREATE FUNCTION public.live_hostile(k pg_catalog.text, OUT step integer, OUT answer pg_catalog.text)
    RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    calls pg_catalog.text[] := ARRAY[
        'outcome FROM public.idem_begin(%1$L, ''hostile'', ''\x01'', lease => ''1 us'')',
        'outcome FROM public.idem_begin(%1$L, ''hostile'', ''\x02'')',
        'outcome FROM public.idem_begin(%1$L, ''hostile'', ''\x01'', wait => ''1 s'')',
        'outcome FROM public.idem_begin(%1$L, ''hostile'', ''\x01'', wait => ''0'')',
        '''extended'' FROM public.idem_extend(%1$L, ''hostile'', lease => ''1 h'')',
        '''set'' FROM public.idem_checkpoint(%1$L, ''c'', ''1'', ''hostile'')',
        'status FROM public.idem_get(%1$L, ''hostile'')',
        'public.idem_finish(%1$L, ''1'', ''hostile'', code => 1, body => ''\x00'')',
        'public.idem_finish(%1$L, ''1'', ''hostile'', code => 1, body => ''\x00'')',
        'pg_catalog.format(''%%s'', result) FROM public.idem_begin(%1$L, ''hostile'')',
        'outcome FROM public.idem_begin(%1$L, ''hostile 2'')',
        'pg_catalog.format(''%%s'', public.idem_release(%1$L, ''hostile 2''))',
        'outcome FROM public.idem_begin(%1$L, ''hostile 2'')',
        'public.idem_fail(%1$L, scope => ''hostile 2'')',
        'pg_catalog.format(''%%s'', result) FROM public.idem_execute(%1$L, ''SELECT $1::pg_catalog.int4 AS a'', ''[1]'', ''hostile 3'')',
        'public.idem_key(%1$L)', 'public.idem_child_key(''a'', ''b'')',
        'pg_catalog.encode(public.idem_fingerprint(''{}''), ''hex'')',
        'outcome FROM public.idem_fire(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''pay'', ''e'', col => ''a'')',
        'outcome FROM public.idem_fire(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''pay'', ''e'', col => ''a'')',
        'outcome FROM public.idem_fire(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''pay'', col => ''b'')',
        'outcome FROM public.idem_fire(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''go'', col => ''c'')',
        'event FROM public.idem_allowed_events(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''a'')',
        'pg_catalog.string_agg(to_state, '','') FROM public.idem_history_of(''public.judged'', pg_catalog.to_jsonb(%1$L::pg_catalog.text), ''a'')',
        'pg_catalog.format(''%%s'', public.idem_can_transition(''order'', ''new'', ''paid''))',
        'pg_catalog.format(''%%s'', pg_catalog.length(public.idem_machine_diagram(''order'', rel => ''public.judged'', col => ''b'')) OPERATOR(pg_catalog.>) 0)',
        'pg_catalog.format(''%%s'', pg_catalog.count(*)) FROM public.idem_machine_transitions(''order'')'];
BEGIN
    FOR i IN 1..pg_catalog.cardinality(calls) LOOP
        step := i;
        EXECUTE 'SELECT ' OPERATOR(pg_catalog.||) pg_catalog.format(calls[i], k) INTO answer;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE TYPE public.status AS ENUM ('new', 'paid', 'shipped', 'lost');
CREATE TABLE public.judged (id pg_catalog.text PRIMARY KEY, a pg_catalog.text DEFAULT 'new', b public.status DEFAULT 'new',
    c integer DEFAULT 1);
SELECT idem_machine_define('number', '{1}', '{{1,2,go}}');
SELECT idem_machine_attach('judged', 'a', 'order', history => true), idem_machine_attach('judged', 'b', 'order'),
    idem_machine_attach('judged', 'c', 'number');
INSERT INTO public.judged VALUES ('old session'), ('new session'), ('superuser');
GRANT SELECT, UPDATE ON public.judged TO regress_idem_app;
CREATE TABLE public.operated (id integer PRIMARY KEY, status pg_catalog.text, machine pg_catalog.text, v integer, w integer);
INSERT INTO public.operated VALUES (1, 'new'), (2, 'gone');
CREATE TABLE public.expiring (at timestamptz);
CREATE INDEX ON public.expiring (at);
INSERT INTO public.expiring SELECT timestamptz 'epoch' FROM pg_catalog.generate_series(1, 9);
CREATE FUNCTION public.operate_hostile(k pg_catalog.text) RETURNS SETOF pg_catalog.text LANGUAGE plpgsql AS $$
DECLARE
    calls pg_catalog.text[] := ARRAY[
        '''done'' FROM public.idem_scope_set(''hostile 4'', ''1 h'', ''1 us'', 3, ''hold'', 1000, ''archive'', false)',
        'outcome FROM public.idem_begin(%1$L, ''hostile 4'')',
        'outcome FROM public.idem_begin(%1$L, ''hostile 4'')',
        'public.idem_resolve(%1$L, ''finish'', ''hostile 4'', ''1'')',
        'pg_catalog.format(''%%s'', public.idem_forget(%1$L, ''hostile 4''))',
        'outcome FROM public.idem_begin(%1$L, ''hostile 4'', lease => ''1 us'', retain => ''1 us'')',
        'pg_catalog.format(''%%s'', public.idem_purge())',
        'pg_catalog.format(''%%s'', pg_catalog.count(*)) FROM public.idem_archive WHERE key OPERATOR(pg_catalog.=) %1$L',
        '''attached'' FROM public.idem_expire_attach(''public.expiring'', ''at'', ''1 d'')',
        'pg_catalog.format(''%%s %%s %%s'', expired, rows, more) FROM public.idem_expire_run(max_rows => 1)',
        'pg_catalog.format(''%%s'', public.idem_expire_detach(''public.expiring''))',
        '''paused'' FROM public.idem_cleanup_pause()',
        'pg_catalog.string_agg(state, '','') FROM public.idem_cleanup_status()',
        'pg_catalog.format(''%%s'', public.idem_cleanup_resume())',
        'pg_catalog.format(''%%s'', public.idem_scope_reset(''hostile 4''))',
        'pg_catalog.format(''%%s'', public.idem_machine_define(%1$L, ''{new}'', ''{{new,paid,pay},{paid,gone,go}}''))',
        '''attached'' FROM public.idem_machine_attach(''public.operated'', ''status'', %1$L, history => true, machine_col => ''machine'', version_col => ''v'')',
        'pg_catalog.format(''%%s'', pg_catalog.count(*)) FROM public.idem_machine_validate(''public.operated'')',
        'pg_catalog.format(''%%s'', pg_catalog.count(*)) FROM public.idem_machine_attachments',
        'pg_catalog.format(''%%s'', public.idem_machine_migrate(''public.operated'', ''status'', ''{"gone": "new"}'', machine => %1$L))',
        'pg_catalog.format(''%%s'', public.idem_machine_migrate(''public.operated'', ''status'', ''{"paid": "gone"}'', machine => %1$L, max_rows => 1))',
        'pg_catalog.format(''%%s'', public.idem_machine_detach(''public.operated'', ''status''))',
        '''attached'' FROM public.idem_version_attach(''public.operated'', ''w'', ''expect'', ''{machine}'', true)',
        'pg_catalog.format(''%%s'', public.idem_cas(''public.operated'', ''1'', (SELECT w FROM public.operated WHERE id OPERATOR(pg_catalog.=) 1), ''{}''))',
        'pg_catalog.format(''%%s'', pg_catalog.count(*)) FROM public.idem_version_attachments',
        'pg_catalog.format(''%%s'', public.idem_version_detach(''public.operated'', ''w''))',
        '''done'' FROM public.idem_grant(''regress_idem_member'')',
        '''done'' FROM public.idem_revoke(''regress_idem_member'')'];
    answer pg_catalog.text;
BEGIN
    FOR i IN 1..pg_catalog.cardinality(calls) LOOP
        EXECUTE 'SELECT ' OPERATOR(pg_catalog.||) pg_catalog.format(calls[i], k) INTO answer;
        RETURN NEXT answer;
    END LOOP;
END $$;
SET ROLE regress_idem_app;
SET search_path = hostile, pg_catalog, public;
SELECT 1 = 1;
SELECT * FROM public.live_hostile('old session');
RESET ROLE;
SELECT * FROM public.operate_hostile('old session');
\c -
SET ROLE regress_idem_app;
SET search_path = hostile, pg_catalog, public;
CREATE TEMPORARY TABLE idem_records (LIKE pg_catalog.pg_class);
CREATE TEMPORARY TABLE idem_scopes (LIKE pg_catalog.pg_class);
SELECT * FROM public.live_hostile('new session');
RESET ROLE;
SELECT * FROM public.operate_hostile('new session');
SELECT * FROM public.live_hostile('superuser');

\c :home
DROP DATABASE regress_idem_security;
DROP ROLE regress_idem_app, regress_idem_other, regress_idem_member, regress_idem_owner;
