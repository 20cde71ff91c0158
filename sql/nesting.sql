-- Called from wherever SQL can call a function.

-- The same statement, twice: the second call sees the first.
SELECT (idem_begin('same statement', 'nesting')).outcome AS first,
    (idem_begin('same statement', 'nesting')).outcome AS second;
SELECT i, outcome, owner FROM generate_series(1, 3) AS i, idem_begin('rows', 'nesting', owner => 'row ' || i);
WITH c AS MATERIALIZED (SELECT * FROM idem_begin('cte', 'nesting'))
SELECT outcome, idem_finish('cte', to_jsonb(token > 0), 'nesting', token) FROM c;
SELECT outcome, result FROM idem_begin('cte', 'nesting');

-- A trigger that lets every message in once.
CREATE TABLE messages (id text, body text);
CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim idem_claim := idem_begin(idem_key('message', NEW.id), 'nesting', idem_fingerprint(to_jsonb(NEW)));
BEGIN
    CASE claim.outcome
        WHEN 'started' THEN
            PERFORM idem_finish(idem_key('message', NEW.id), to_jsonb(NEW), 'nesting');
            RETURN NEW;
        WHEN 'replayed' THEN
            RETURN NULL;
    END CASE;
EXCEPTION WHEN case_not_found THEN
    RAISE '% %', NEW.id, claim.outcome;
END $$;
CREATE TRIGGER once BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION once();
INSERT INTO messages VALUES ('1', 'a'), ('2', 'b'), ('1', 'a');
INSERT INTO messages VALUES ('2', 'b'), ('3', 'c');
INSERT INTO messages VALUES ('3', 'other');
COPY messages FROM stdin;
3	c
4	d
4	d
\.
SELECT * FROM messages ORDER BY id;
BEGIN;
INSERT INTO messages VALUES ('5', 'rolled back');
ROLLBACK;
INSERT INTO messages VALUES ('5', 'at last');
SELECT * FROM messages WHERE id = '5';
-- A deferred one, which runs at COMMIT.
CREATE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM idem_finish('deferred', to_jsonb(NEW), 'nesting');
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER settle AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION settle();
BEGIN;
SELECT outcome FROM idem_begin('deferred', 'nesting');
INSERT INTO messages VALUES ('6', 'deferred');
SELECT outcome FROM idem_begin('deferred', 'nesting');
COMMIT;
SELECT outcome, result FROM idem_begin('deferred', 'nesting');
DROP TABLE messages;
DROP FUNCTION once, settle;

-- Functions in functions, in every language at hand.
CREATE FUNCTION pay(k text, amount integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    claim idem_claim;
BEGIN
    SELECT * INTO claim FROM idem_begin(k, 'nesting', idem_fingerprint(to_jsonb(amount)));
    IF claim.outcome = 'started' THEN
        PERFORM idem_finish(k, jsonb_build_object('paid', amount), 'nesting', claim.token);
        RETURN jsonb_build_object('paid', amount);
    END IF;
    RETURN coalesce(claim.result, to_jsonb(claim.outcome));
END $$;
CREATE FUNCTION pay_twice(k text, amount integer) RETURNS TABLE (first jsonb, second jsonb)
    LANGUAGE sql AS $$ SELECT pay(k, amount), pay(k, amount) $$;
SELECT pay('pay 1', 5), pay('pay 1', 5), pay('pay 1', 6);
SELECT * FROM pay_twice('pay 2', 7);
DO $$ BEGIN RAISE NOTICE '%', (SELECT p FROM pay_twice('pay 3', 8) AS p); END $$;
CREATE FUNCTION begin_in_sql(k text) RETURNS text LANGUAGE sql AS $$ SELECT outcome FROM idem_begin(k, 'nesting') $$;
SELECT begin_in_sql('sql'), begin_in_sql('sql');
-- An exception block takes back what it caught.
CREATE FUNCTION try(k text, fail boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        PERFORM idem_begin(k, 'nesting', strict => true);
        PERFORM 1 / (NOT fail)::integer;
        RETURN idem_finish(k, '1', 'nesting');
    EXCEPTION WHEN division_by_zero THEN
        RETURN 'failed';
    END;
END $$;
SELECT try('try', true);
SELECT try('try', false);
SELECT try('try', false);
-- A procedure that commits between claim and result.
CREATE PROCEDURE work(k text) LANGUAGE plpgsql AS $$
DECLARE
    claim idem_claim := idem_begin(k, 'nesting');
BEGIN
    COMMIT;
    PERFORM idem_checkpoint(k, 'committed', '1', 'nesting', claim.token);
    ROLLBACK;
    PERFORM idem_finish(k, to_jsonb((SELECT checkpoint IS NULL FROM idem_get(k, 'nesting'))), 'nesting', claim.token);
END $$;
CALL work('procedure');
SELECT outcome, result FROM idem_begin('procedure', 'nesting');
DROP FUNCTION pay_twice, pay, begin_in_sql, try;
DROP PROCEDURE work;

-- A function with rights of its own, for a caller who has none.
CREATE ROLE regress_idem_caller;
CREATE FUNCTION definer(k text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    RETURN (idem_execute(k, 'SELECT current_user <> ''regress_idem_caller'' AS definer', scope => 'nesting')).result;
END $$;
SET ROLE regress_idem_caller;
SELECT definer('definer'), definer('definer');
\set VERBOSITY sqlstate
SELECT idem_begin('definer', 'nesting');
\set VERBOSITY default
RESET ROLE;
DROP FUNCTION definer;
DROP ROLE regress_idem_caller;

-- Cursors claim what is fetched.
BEGIN;
DECLARE c CURSOR FOR SELECT i, (idem_begin('cursor ' || i, 'nesting')).outcome FROM generate_series(1, 3) AS i;
FETCH 2 FROM c;
SELECT count(*) FROM idem_records WHERE scope = 'nesting' AND key LIKE 'cursor %';
COMMIT;
SELECT count(*) FROM idem_records WHERE scope = 'nesting' AND key LIKE 'cursor %';

-- Prepared statements, past the change to a generic plan.
PREPARE claim(text) AS SELECT outcome, result FROM idem_begin($1, 'nesting');
PREPARE finish(text, jsonb) AS SELECT idem_finish($1, $2, 'nesting');
EXECUTE claim('prepared');
EXECUTE claim('prepared');
EXECUTE finish('prepared', '1');
EXECUTE finish('prepared', '1');
SELECT count(*) FROM generate_series(1, 10) AS i, idem_begin('prepared ' || i, 'nesting');
EXECUTE claim('prepared 1');
EXECUTE claim('prepared 2');
EXECUTE claim('prepared 3');
EXECUTE claim('prepared 4');
EXECUTE claim('prepared');
EXECUTE finish('prepared 5', '5');
EXECUTE claim('prepared 5');
DEALLOCATE claim;
DEALLOCATE finish;

-- In a default, and in an INSERT that claims what it inserts.
CREATE TABLE jobs (name text, token bigint DEFAULT (idem_begin('default', 'nesting')).token, CHECK (token IS NOT NULL));
INSERT INTO jobs VALUES ('first');
INSERT INTO jobs VALUES ('second');
INSERT INTO jobs SELECT 'third', c.token FROM idem_begin('insert', 'nesting') AS c WHERE outcome = 'started';
INSERT INTO jobs SELECT 'fourth', c.token FROM idem_begin('insert', 'nesting') AS c WHERE outcome = 'started';
SELECT name FROM jobs ORDER BY name;
DROP TABLE jobs;
