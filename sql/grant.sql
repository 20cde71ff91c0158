-- Who may call what: nobody, until idem_grant says so.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_operator, regress_idem_member, "regress idem ""odd"" role";
RESET client_min_messages;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_operator;
CREATE ROLE regress_idem_member IN ROLE regress_idem_app;
CREATE ROLE "regress idem ""odd"" role";
CREATE TABLE plain_table (at timestamptz);
CREATE INDEX ON plain_table (at);
CREATE VIEW callable AS
    SELECT proname AS function, has_function_privilege('regress_idem_app', p.oid, 'EXECUTE') AS app,
        has_function_privilege('regress_idem_operator', p.oid, 'EXECUTE') AS operator,
        has_function_privilege('regress_idem_member', p.oid, 'EXECUTE') AS member,
        has_function_privilege('regress idem "odd" role', p.oid, 'EXECUTE') AS odd
    FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'pg_idem';
SELECT bool_or(app OR operator OR member OR odd) AS anybody FROM callable;
SELECT idem_grant('regress_idem_app');
SELECT idem_grant('regress_idem_operator', operator => true);
SELECT idem_grant('"regress idem ""odd"" role"', NULL);
SELECT * FROM callable ORDER BY function;

-- Applications see no table, operators read all but the sequence and write none.
SELECT role, object, string_agg(privilege, ' ' ORDER BY privilege) FILTER (WHERE has) AS privileges
FROM unnest(ARRAY['regress_idem_app', 'regress_idem_operator']) AS role,
    unnest(ARRAY['idem_archive', 'idem_cleanup_paused', 'idem_expiries', 'idem_history', 'idem_history_ids',
        'idem_locks', 'idem_machine_attachments', 'idem_machines', 'idem_records', 'idem_scopes',
        'idem_stat_cleanup', 'idem_tokens', 'idem_version_attachments']) AS object,
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege,
    LATERAL (SELECT has_table_privilege(role, object, privilege) AS has) AS h
GROUP BY role, object ORDER BY role, object;
SELECT has_sequence_privilege('regress_idem_operator', 'idem_tokens', 'USAGE, SELECT, UPDATE') AS tokens;
-- Ids are drawn with the caller's rights.
SELECT role, string_agg(privilege, ' ')
FROM unnest(ARRAY['regress_idem_app', 'regress_idem_operator']) AS role,
    unnest(ARRAY['SELECT', 'USAGE', 'UPDATE']) AS privilege
WHERE has_sequence_privilege(role, 'idem_snowflake_seq', privilege) GROUP BY role ORDER BY role;

SET ROLE regress_idem_app;
SELECT outcome FROM idem_begin('k', 'grant');
SELECT idem_checkpoint('k', 'c', scope => 'grant');
SELECT idem_extend('k', 'grant') > now() AS extended;
SELECT idem_finish('k', '1', 'grant');
SELECT outcome, result FROM idem_begin('k', 'grant');
SELECT status FROM idem_get('k', 'grant');
SELECT outcome, result FROM idem_execute('e', 'SELECT current_user AS who', scope => 'grant');
SELECT outcome FROM idem_begin('r', 'grant');
SELECT idem_release('r', 'grant');
SELECT outcome FROM idem_begin('f', 'grant');
SELECT idem_fail('f', scope => 'grant');
SELECT octet_length(idem_fingerprint('{}')), idem_key('a'), idem_child_key('a', 'b');
SELECT depth FROM idem_session_lock('grant');
SELECT depth FROM idem_xact_lock('grant');
SELECT idem_session_unlock('grant');
CREATE TEMPORARY TABLE kept AS SELECT * FROM idem_get('k', 'grant');
DROP TABLE kept;
\set VERBOSITY sqlstate
SELECT idem_resolve('k', 'retry', 'grant');
SELECT idem_forget('k', 'grant');
SELECT idem_purge();
SELECT idem_scope_set('grant');
SELECT idem_scope_reset('grant');
SELECT idem_grant('regress_idem_app', true);
SELECT idem_revoke('regress_idem_operator');
SELECT FROM idem_records;
SELECT FROM idem_scopes;
SELECT nextval('idem_tokens');
SELECT idem_cleanup_now();
SELECT idem_cleanup_pause();
SELECT idem_cleanup_resume();
SELECT FROM idem_cleanup_status();
SELECT FROM idem_stat_cleanup;
SELECT idem_expire_attach('plain_table', 'at', '1 day');
SELECT idem_expire_detach('plain_table');
SELECT FROM idem_expire_run();
SELECT FROM idem_archive;
SELECT FROM idem_expiries;
SELECT FROM idem_cleanup_paused;
SELECT FROM idem_history;
SELECT FROM idem_machines;
SELECT nextval('idem_history_ids');
SELECT FROM idem_machine_attachments;
SELECT FROM idem_locks;
SELECT FROM idem_version_attachments;
SELECT idem_version_attach('plain_table');
SELECT FROM idem_lock_entries();
SELECT idem_machine_define('grant', '{a}', '{}');
\set VERBOSITY default
SET ROLE regress_idem_member;
SELECT outcome, result FROM idem_begin('k', 'grant');
SET ROLE regress_idem_operator;
SELECT idem_scope_set('grant', lease => '1 h');
SELECT idem_forget('k', 'grant'), idem_scope_reset('grant'), idem_purge() >= 0 AS purged;
SELECT count(*) FROM idem_records WHERE scope = 'grant';
SELECT idem_cleanup_pause();
SELECT count(*) AS pauses FROM idem_cleanup_paused;
SELECT relation, state FROM idem_stat_cleanup;
SELECT idem_cleanup_resume();
SELECT count(*) FROM idem_expire_run();
SELECT FROM idem_archive LIMIT 0;
SELECT FROM idem_expiries LIMIT 0;
SELECT FROM idem_machines LIMIT 0;
SELECT FROM idem_history LIMIT 0;
SELECT count(*) FROM idem_machine_attachments;
SELECT count(*) FROM idem_locks;
SELECT count(*) FROM idem_version_attachments;
\set VERBOSITY sqlstate
DELETE FROM idem_records;
DELETE FROM idem_cleanup_paused;
INSERT INTO idem_expiries (rel) VALUES ('idem_scopes');
DELETE FROM idem_archive;
-- The right to call attach is not the right to have rows of any table deleted.
SELECT idem_expire_attach('plain_table', 'at', '1 day');
SELECT idem_expire_detach('plain_table');
SELECT idem_grant('regress_idem_operator');
\set VERBOSITY default
RESET ROLE;

-- Granting again changes nothing; taking back takes all of it, from that role only.
SELECT idem_grant('regress_idem_app');
SELECT idem_revoke('regress_idem_operator'), idem_revoke('"regress idem ""odd"" role"');
SELECT idem_revoke('regress_idem_operator');
SELECT bool_or(operator OR odd) AS revoked_roles, count(*) FILTER (WHERE app) AS app FROM callable;
SELECT bool_or(has_table_privilege('regress_idem_operator', object, 'SELECT')) AS tables
FROM unnest(ARRAY['idem_archive', 'idem_cleanup_paused', 'idem_expiries', 'idem_history', 'idem_locks',
        'idem_machine_attachments', 'idem_machines', 'idem_records', 'idem_scopes', 'idem_stat_cleanup',
        'idem_version_attachments']) AS object;
SELECT idem_grant(NULL);
\echo :SQLSTATE
SELECT idem_revoke(NULL);
\echo :SQLSTATE
SELECT idem_grant(0::regrole);
\echo :SQLSTATE
SELECT idem_grant('regress_idem_nobody');
\echo :SQLSTATE
SELECT idem_revoke('regress_idem_app');
SELECT bool_or(app) AS app FROM callable;
DROP VIEW callable;
DROP TABLE plain_table;
-- A privilege given by hand is enough for what it names.
GRANT EXECUTE ON FUNCTION idem_begin(text, text, bytea, interval, interval, interval, text, boolean,
    boolean) TO regress_idem_app;
SET plan_cache_mode = force_generic_plan;
PREPARE claim AS SELECT outcome FROM idem_begin('by hand', 'grant');
EXECUTE claim;
SET ROLE regress_idem_app;
EXECUTE claim;
SELECT outcome FROM idem_begin('by hand', 'grant');
SELECT outcome FROM idem_begin('by hand', 'grant', lease => '1 h');
RESET ROLE;
RESET plan_cache_mode;
DEALLOCATE claim;
REVOKE EXECUTE ON FUNCTION idem_begin(text, text, bytea, interval, interval, interval, text, boolean, boolean)
FROM regress_idem_app;
-- What was taken back by hand stays so, also where the planner has a shorter call.
SELECT idem_grant('regress_idem_app');
REVOKE EXECUTE ON FUNCTION idem_begin(text, text, bytea, interval, interval, interval, text, boolean, boolean)
FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT FROM idem_begin('denied', 'grant');
\echo :SQLSTATE
SELECT outcome FROM idem_begin('denied', 'grant', lease => '1 h');
\echo :SQLSTATE
RESET ROLE;
SELECT idem_revoke('regress_idem_app');
-- What is left is the use of the schema, which the role may have for other reasons.
SELECT count(*) AS schema_privileges FROM pg_namespace, aclexplode(nspacl)
WHERE nspname = 'public' AND grantee = 'regress_idem_app'::regrole;
DROP OWNED BY regress_idem_app, regress_idem_operator, "regress idem ""odd"" role";
DROP ROLE regress_idem_app, regress_idem_operator, regress_idem_member, "regress idem ""odd"" role";
