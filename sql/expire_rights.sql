-- With whose rights the rows of a table expire, and what their triggers and constraints may do then.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_rights;
\c regress_idem_rights
\set SHOW_CONTEXT never
CREATE EXTENSION pg_idem;
SELECT idem_cleanup_pause();
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_member IN ROLE regress_idem_owner;
CREATE ROLE regress_idem_operator;
CREATE ROLE regress_idem_other;
SELECT idem_grant('regress_idem_operator', true), idem_grant('regress_idem_owner', true);
CREATE SCHEMA shop AUTHORIZATION regress_idem_owner;
GRANT USAGE ON SCHEMA shop TO PUBLIC;

-- Only an owner, or who may become one, decides that rows expire; then any operator may have it done.
SET ROLE regress_idem_owner;
CREATE TABLE shop.orders (id integer PRIMARY KEY, at timestamptz, note text);
CREATE INDEX ON shop.orders (at);
RESET ROLE;
CREATE FUNCTION attempt_as(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM set_config('role', role, true);
    EXECUTE statement INTO answer;
    PERFORM set_config('role', 'none', true);
    RETURN coalesce(answer, 'accepted');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT role, attempt_as(role, $$SELECT idem_expire_attach('shop.orders', 'at', '1 day')$$)
FROM unnest(ARRAY['regress_idem_other', 'regress_idem_operator', 'regress_idem_member', 'regress_idem_owner']) AS role;
SELECT role, attempt_as(role, $$SELECT idem_expire_detach('shop.orders')$$)
FROM unnest(ARRAY['regress_idem_other', 'regress_idem_operator', 'regress_idem_member', 'regress_idem_owner']) AS role;
SELECT idem_expire_attach('shop.orders', 'at', '1 day');
INSERT INTO shop.orders VALUES (1, 'epoch'), (2, 'infinity');
SET ROLE regress_idem_operator;
SELECT * FROM idem_expire_run('shop.orders');
SELECT current_user, current_setting('search_path');
\set VERBOSITY sqlstate
SELECT * FROM shop.orders;
DELETE FROM shop.orders;
\set VERBOSITY default
RESET ROLE;
SELECT id FROM shop.orders;

-- Triggers run as the owner of the table, in a schema path of the server's choice.
SET ROLE regress_idem_owner;
CREATE TABLE shop.seen (nr serial, who text, what text);
CREATE FUNCTION shop.see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop.seen (who, what) VALUES (current_user,
        TG_NAME || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || current_setting('search_path'));
    RETURN OLD;
END $$;
CREATE TRIGGER a BEFORE DELETE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.see();
CREATE TRIGGER b AFTER DELETE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.see();
CREATE TRIGGER c AFTER DELETE ON shop.orders FOR EACH STATEMENT EXECUTE FUNCTION shop.see();
RESET ROLE;
INSERT INTO shop.orders VALUES (1, 'epoch');
SET ROLE regress_idem_operator;
SET search_path = shop, public;
SELECT * FROM public.idem_expire_run();
SELECT current_user, current_setting('search_path');
RESET search_path;
RESET ROLE;
SELECT who, what FROM shop.seen ORDER BY nr;
DROP TRIGGER a ON shop.orders;
DROP TRIGGER b ON shop.orders;
DROP TRIGGER c ON shop.orders;
-- One that keeps its row has it kept, one that objects takes the call with it.
CREATE FUNCTION shop.keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.note = 'object' THEN
        RAISE EXCEPTION 'not this one' USING ERRCODE = 'ZZ001';
    END IF;
    RETURN CASE WHEN OLD.note = 'keep' THEN NULL ELSE OLD END;
END $$;
CREATE TRIGGER keep BEFORE DELETE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.keep();
INSERT INTO shop.orders VALUES (1, 'epoch', 'keep'), (3, 'epoch', 'go');
SELECT * FROM idem_expire_run();
INSERT INTO shop.orders VALUES (3, 'epoch', 'object'), (4, 'epoch', 'go');
SELECT * FROM idem_expire_run();
\echo :SQLSTATE
SELECT current_user, current_setting('search_path');
SELECT id FROM shop.orders ORDER BY id;
DROP TRIGGER keep ON shop.orders;

-- A trigger that reaches for more. The server refuses, whoever calls: it is a security-restricted operation.
CREATE FUNCTION shop.reach() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE OLD.note;
    RETURN OLD;
END $$;
ALTER FUNCTION shop.reach() OWNER TO regress_idem_owner;
CREATE TRIGGER reach AFTER DELETE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.reach();
CREATE FUNCTION reach(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE shop.orders;
    INSERT INTO shop.orders VALUES (1, 'epoch', statement);
    PERFORM public.idem_expire_run('shop.orders');
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT statement, reach(statement) FROM unnest(ARRAY['SET ROLE postgres', 'SET ROLE NONE', 'RESET ROLE',
    'SET SESSION AUTHORIZATION postgres', 'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION DEFAULT',
    'SELECT set_config(''role'', ''none'', false)', 'CREATE TEMPORARY TABLE mine (a integer)',
    'CREATE TRIGGER t BEFORE INSERT ON public.idem_records FOR EACH ROW EXECUTE FUNCTION shop.reach()',
    'DELETE FROM public.idem_records', 'DELETE FROM public.idem_expiries',
    'SELECT public.idem_grant(''regress_idem_owner'')', 'ALTER ROLE regress_idem_owner SUPERUSER', 'LISTEN something',
    'COMMIT', 'SELECT pg_read_file(''PG_VERSION'')', 'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
    'INSERT INTO shop.seen (who, what) VALUES (current_user, ''allowed'')']) AS statement;
SELECT who FROM shop.seen WHERE what = 'allowed';
SELECT current_user, current_setting('search_path');
-- What it sets for the session is gone afterwards, and its own calls of ours do no harm.
SELECT reach('SET search_path = shop'), current_setting('search_path');
SELECT reach('SELECT public.idem_expire_run(''shop.orders'')'),
    reach('SELECT public.idem_expire_detach(''shop.orders'')');
SELECT count(*) FROM idem_expiries;
SELECT idem_expire_attach('shop.orders', 'at', '1 day');
DROP TRIGGER reach ON shop.orders;
DROP FUNCTION reach, shop.reach;

-- The caller's names and operators mean nothing here; neither do those of the owner's index.
CREATE SCHEMA hostile AUTHORIZATION regress_idem_operator;
SET ROLE regress_idem_operator;
CREATE FUNCTION hostile.hijacked(anyelement, anyelement) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'hijacked as %', current_user;
END $$;
CREATE OPERATOR hostile.<= (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = hostile.hijacked);
CREATE OPERATOR hostile.= (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = hostile.hijacked);
CREATE FUNCTION hostile.compare(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql 
    AS 'SELECT hostile.hijacked($1, $2)';
CREATE OPERATOR hostile.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = hostile.compare);
CREATE FUNCTION hostile.compare(tid, tid) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.hijacked($1, $2)';
CREATE OPERATOR hostile.= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = hostile.compare);
CREATE TABLE hostile.orders (id integer, at timestamptz);
CREATE TABLE hostile.idem_expiries (rel regclass);
CREATE TEMPORARY TABLE orders (id integer, at timestamptz);
CREATE TEMPORARY TABLE idem_expiries (rel regclass);
RESET ROLE;
TRUNCATE shop.orders;
INSERT INTO shop.orders VALUES (1, 'epoch'), (2, 'infinity');
SET ROLE regress_idem_operator;
SET search_path = hostile, pg_temp, pg_catalog, public, shop;
SELECT rows, more FROM public.idem_expire_run('shop.orders');
SELECT rows, more FROM public.idem_expire_run();
RESET search_path;
DROP TABLE pg_temp.orders, pg_temp.idem_expiries;
RESET ROLE;
SELECT id FROM shop.orders;
-- An index on an expression is evaluated as the owner as well.
SET ROLE regress_idem_owner;
CREATE FUNCTION shop.who(integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF current_user <> 'regress_idem_owner' THEN
        RAISE 'evaluated as %', current_user;
    END IF;
    RETURN current_user;
END $$;
CREATE INDEX ON shop.orders (shop.who(id));
CREATE INDEX ON shop.orders (id) WHERE shop.who(id) = 'x';
INSERT INTO shop.orders VALUES (1, 'epoch');
ANALYZE shop.orders;
RESET ROLE;
SELECT rows, more FROM idem_expire_run('shop.orders');
SELECT relation, backlog_estimate >= 0 AS estimated FROM idem_stat_cleanup WHERE relation = 'shop.orders'::regclass;
DROP FUNCTION shop.who CASCADE;

-- Row security hides nothing that expires, not even from an owner whom it is forced on.
ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_idem_owner;
SELECT count(*) FROM shop.orders;
RESET ROLE;
INSERT INTO shop.orders VALUES (1, 'epoch'), (3, 'epoch');
SET ROLE regress_idem_operator;
SELECT rows, more FROM idem_expire_run('shop.orders');
SET row_security = off;
SELECT rows, more FROM idem_expire_run('shop.orders');
RESET row_security;
RESET ROLE;
SELECT id FROM shop.orders;
ALTER TABLE shop.orders NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
-- An owner who took the right to delete from himself meant it.
REVOKE DELETE ON shop.orders FROM regress_idem_owner;
INSERT INTO shop.orders VALUES (1, 'epoch');
SELECT rows, more FROM idem_expire_run('shop.orders');
\echo :SQLSTATE
GRANT DELETE ON shop.orders TO regress_idem_owner;

-- Foreign keys: rows that hang on go along, or hold on to theirs.
SET ROLE regress_idem_owner;
CREATE TABLE shop.lines (order_id integer REFERENCES shop.orders ON DELETE CASCADE, nr integer,
    PRIMARY KEY (order_id, nr));
CREATE TABLE shop.notes (order_id integer REFERENCES shop.orders ON DELETE SET NULL);
CREATE TABLE shop.bills (order_id integer REFERENCES shop.orders);
INSERT INTO shop.orders VALUES (3, 'epoch'), (4, 'epoch');
INSERT INTO shop.lines VALUES (2, 1), (3, 1), (3, 2), (4, 1);
INSERT INTO shop.notes VALUES (3);
RESET ROLE;
SELECT rows FROM idem_expire_run('shop.orders', 2);
SELECT * FROM shop.lines;
SELECT * FROM shop.notes;
SELECT rows, more FROM idem_expire_run('shop.orders');
INSERT INTO shop.orders VALUES (1, 'epoch'), (3, 'epoch');
INSERT INTO shop.bills VALUES (3);
SELECT rows, more FROM idem_expire_run('shop.orders');
\echo :SQLSTATE
SELECT id FROM shop.orders ORDER BY id;
-- Deferred: the server puts off nothing in a restricted operation, so it has to be asked for at once.
TRUNCATE shop.bills;
ALTER TABLE shop.bills ALTER CONSTRAINT bills_order_id_fkey DEFERRABLE INITIALLY DEFERRED;
INSERT INTO shop.bills VALUES (3);
SELECT rows, more FROM idem_expire_run('shop.orders');
\echo :SQLSTATE
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT rows, more FROM idem_expire_run('shop.orders');
COMMIT;
SELECT id FROM shop.orders ORDER BY id;
TRUNCATE shop.bills;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT rows, more FROM idem_expire_run('shop.orders');
COMMIT;
SELECT id FROM shop.orders ORDER BY id;

-- A partition that belongs to somebody else is emptied as that one, not as the owner of the whole.
SET ROLE regress_idem_owner;
CREATE TABLE shop.logs (id integer, at timestamptz) PARTITION BY LIST (id);
CREATE TABLE shop.logs_1 PARTITION OF shop.logs FOR VALUES IN (1);
CREATE TABLE shop.logs_2 PARTITION OF shop.logs FOR VALUES IN (2);
CREATE INDEX ON shop.logs (at);
CREATE FUNCTION shop.see_log() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
    RAISE NOTICE '% as %', TG_RELID::regclass, current_user;
    RETURN OLD;
END $$;
CREATE TRIGGER see AFTER DELETE ON shop.logs FOR EACH ROW EXECUTE FUNCTION shop.see_log();
SELECT idem_expire_attach('shop.logs', 'at', '1 day');
RESET ROLE;
ALTER TABLE shop.logs_2 OWNER TO regress_idem_other;
INSERT INTO shop.logs VALUES (1, 'epoch'), (2, 'epoch');
SELECT rows, more FROM idem_expire_run('shop.logs');
SET ROLE regress_idem_owner;
SELECT idem_expire_attach('shop.logs', 'at', '2 days');
RESET ROLE;
-- A trigger that is put off would run at the commit with the caller's rights: the server refuses.
SET ROLE regress_idem_owner;
CREATE CONSTRAINT TRIGGER late AFTER DELETE ON shop.logs_1 DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION shop.see_log();
RESET ROLE;
INSERT INTO shop.logs VALUES (1, 'epoch');
SELECT rows, more FROM idem_expire_run('shop.logs');
\echo :SQLSTATE
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT rows, more FROM idem_expire_run('shop.logs');
COMMIT;
-- The owner's archive takes rows with the owner's rights, and only so.
SET ROLE regress_idem_owner;
DROP TABLE shop.bills;
CREATE TABLE shop.old_orders (LIKE shop.orders);
SELECT idem_expire_attach('shop.orders', 'at', '1 day', action => 'archive', archive => 'shop.old_orders');
RESET ROLE;
INSERT INTO shop.orders VALUES (1, 'epoch');
SET ROLE regress_idem_operator;
SELECT rows, more FROM idem_expire_run('shop.orders');
RESET ROLE;
SELECT id FROM shop.old_orders;

\c :home
DROP DATABASE regress_idem_rights;
DROP ROLE regress_idem_owner, regress_idem_member, regress_idem_operator, regress_idem_other;
