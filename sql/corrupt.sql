-- Tables that somebody changed: what can work works, the rest says what is wrong, and putting it right is enough.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_corrupt;
\c regress_idem_corrupt
CREATE EXTENSION pg_idem;
CREATE FUNCTION live(k text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    IF (idem_begin(k, 'corrupt', '\x01', owner => 'me')).outcome = 'started' THEN
        PERFORM idem_checkpoint(k, 'half', '1', 'corrupt');
        PERFORM idem_finish(k, '{"a": 1}', 'corrupt', code => 7, body => '\x00');
    END IF;
    RETURN (SELECT row(c.outcome, c.code, c.result, c.body, c.owner, r.status, r.fingerprint, r.checkpoint,
        r.checkpoint_data)
        FROM idem_begin(k, 'corrupt') AS c, idem_get(k, 'corrupt') AS r);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', SQLSTATE, SQLERRM, nullif(hint, ''));
END $$;
SELECT live('as it was');

-- A status that is none.
UPDATE idem_records SET status = 'lost';
SELECT outcome FROM idem_begin('as it was', 'corrupt');
\echo :SQLSTATE
SELECT count(*) FROM idem_get('as it was', 'corrupt');
SELECT live('beside it');
DELETE FROM idem_records WHERE status = 'lost';
SELECT outcome FROM idem_begin('as it was', 'corrupt');

-- Missing pieces.
ALTER TABLE idem_records RENAME TO elsewhere;
SELECT live('no records');
ALTER TABLE elsewhere RENAME TO idem_records;
SELECT live('records again');
ALTER TABLE idem_records RENAME COLUMN body TO content;
SELECT live('no body');
ALTER TABLE idem_records RENAME COLUMN content TO body;
SELECT live('body again');
ALTER TABLE idem_records ALTER COLUMN result TYPE json;
SELECT outcome, result FROM idem_begin('body again', 'corrupt');
\echo :SQLSTATE
SELECT live('body again');
ALTER TABLE idem_records ALTER COLUMN result TYPE jsonb;
SELECT live('body again'), live('result again');
ALTER TYPE idem_claim RENAME TO idem_claim_before;
\c -
SELECT live('no type');
ALTER TYPE idem_claim_before RENAME TO idem_claim;
SELECT live('type again');
ALTER SEQUENCE idem_tokens RENAME TO elsewhere;
\c -
SELECT live('no tokens');
ALTER SEQUENCE elsewhere RENAME TO idem_tokens;
SELECT live('tokens again');
ALTER TABLE idem_scopes RENAME TO elsewhere;
\c -
SELECT live('no scopes');
ALTER TABLE elsewhere RENAME TO idem_scopes;
SELECT live('scopes again');
ALTER TABLE idem_records DROP CONSTRAINT idem_records_pkey;
SELECT left(live('no key'), 5) AS no_key;
ALTER TABLE idem_records ADD PRIMARY KEY (key, scope);
SELECT live('key again');

-- Changes that are allowed: more columns, another order of columns, other indexes, no WAL.
ALTER TABLE idem_records ADD COLUMN note text DEFAULT 'new',
    ADD COLUMN size integer GENERATED ALWAYS AS (attempt * 12) STORED;
SELECT live('more columns');
SELECT note, size FROM idem_records WHERE key = 'more columns';
ALTER TABLE idem_records ADD COLUMN owner2 text COLLATE "C";
UPDATE idem_records SET owner2 = owner;
ALTER TABLE idem_records DROP COLUMN owner;
ALTER TABLE idem_records RENAME COLUMN owner2 TO owner;
SELECT live('other order'), live('more columns');
CREATE INDEX ON idem_records (scope);
CREATE INDEX ON idem_records (owner) WHERE status = 'in_progress';
CREATE INDEX ON idem_records (lower(key));
SELECT live('more indexes');
SET enable_seqscan = off;
SELECT key, status FROM idem_records WHERE lower(key) = 'more indexes';
SELECT count(*) FROM idem_records WHERE status = 'in_progress' AND owner = 'me';
RESET enable_seqscan;
ALTER TABLE idem_records DROP CONSTRAINT idem_records_pkey, ADD PRIMARY KEY (scope, key);
SELECT live('key of another order'), live('more columns');
ALTER TABLE idem_records DROP CONSTRAINT idem_records_pkey, ADD PRIMARY KEY (key, scope);
ALTER TABLE idem_records SET UNLOGGED;
SELECT live('unlogged'), live('more columns');
ALTER TABLE idem_records SET LOGGED;
ALTER TABLE idem_records ALTER COLUMN key TYPE text COLLATE "POSIX";
SELECT live('other collation'), live('more columns');
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := NEW.key; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT ON idem_records FOR EACH ROW EXECUTE FUNCTION note();
SELECT live('with a trigger');
SELECT note FROM idem_records WHERE key = 'with a trigger';
-- A trigger or a rule that keeps a claim from being written must not look like a claim.
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER skip BEFORE INSERT ON idem_records FOR EACH ROW EXECUTE FUNCTION skip();
SELECT live('skipped');
DROP TRIGGER skip ON idem_records;
SELECT live('not skipped');
DROP TRIGGER note ON idem_records;
-- A table that refers to it, a limit of the owner's own, a trigger after the fact.
CREATE TABLE payments (key text COLLATE "C", scope text COLLATE "C",
    FOREIGN KEY (key, scope) REFERENCES idem_records (key, scope) ON DELETE CASCADE);
SELECT live('referred to');
INSERT INTO payments VALUES ('referred to', 'corrupt');
SELECT idem_forget('referred to', 'corrupt');
SELECT count(*) FROM payments;
ALTER TABLE idem_records ADD CHECK (key <> 'unlucky');
SELECT left(live('unlucky'), 5) AS unlucky, live('lucky');
CREATE TABLE seen (operation text, key text);
CREATE FUNCTION see() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (TG_OP, NEW.key); RETURN NULL; END $$;
CREATE TRIGGER see AFTER INSERT OR UPDATE OF status ON idem_records FOR EACH ROW EXECUTE FUNCTION see();
SELECT live('seen');
SELECT operation, key FROM seen;
DROP TRIGGER see ON idem_records;
DROP TABLE payments;
-- Emptied under a session.
TRUNCATE idem_records;
SELECT live('truncated');
VACUUM FULL idem_records;
SELECT live('rewritten'), live('truncated');
CLUSTER idem_records USING idem_records_pkey;
SELECT live('clustered'), live('truncated');
REINDEX TABLE idem_records;
SELECT live('reindexed'), live('truncated');
-- Cut off at its end, and filled again with other records in the same places.
DELETE FROM idem_records;
VACUUM idem_records;
SELECT live('vacuumed'), live('reindexed');
DELETE FROM idem_records;
VACUUM idem_records;
SELECT live('reindexed'), live('vacuumed');
SELECT count(*) FROM idem_records;
\c :home
DROP DATABASE regress_idem_corrupt;
