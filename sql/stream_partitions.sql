-- The owner may put a partitioned table in the place of idem_producers, or a trigger on it: SQL then does what direct
-- access did.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_streams;
\c regress_idem_streams
CREATE EXTENSION pg_idem;
CREATE FUNCTION live(s text) RETURNS TABLE (step integer, answer text) LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
    calls text[] := ARRAY[
        'idem_accept(%1$L, %2$L, 1, 1, 3, ''\x01'', ''{"n": 3}'')', 'idem_accept(%1$L, %2$L, 1, 1, 3, ''\x01'')',
        'idem_accept(%1$L, %2$L, 1, 1, 3, ''\x02'')', 'idem_accept(%1$L, %2$L, 1, 5)', 'idem_accept(%1$L, %2$L, 1, 3, 5)',
        'idem_accept(%1$L, %2$L, 1, 4)', 'idem_accept_result(%1$L, %2$L, 1, 4, ''1'')', 'idem_accept(%1$L, %2$L, 1, 4)',
        'array_agg(n) FROM idem_accept_many(%1$L, %2$L, 1, ''{4,6,5}'') AS n', 'row(epoch, last_seq) FROM idem_producer(''p'', %1$L)',
        'idem_accept(%1$L, %2$L, 1, 7)', 'idem_accept(%1$L, %2$L, 2, 7)', 'idem_accept(%1$L, 0, 2, 7)'];
BEGIN
    SELECT producer_id INTO id FROM idem_producer('p', s);
    FOR i IN 1..cardinality(calls) LOOP
        step := i;
        BEGIN
            EXECUTE 'SELECT ' || format(calls[i], s, id) INTO answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLSTATE;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE TABLE plain AS SELECT * FROM live('before');
SELECT * FROM plain ORDER BY step;

-- The exchange, with what was stored, under a session that knows the old table.
BEGIN;
ALTER EXTENSION pg_idem DROP TABLE idem_producers;
ALTER TABLE idem_producers RENAME TO idem_producers_before;
CREATE TABLE idem_producers (LIKE idem_producers_before, PRIMARY KEY (stream, producer_id), UNIQUE (stream, producer))
    PARTITION BY HASH (stream);
SELECT format('CREATE TABLE idem_producers_%s PARTITION OF idem_producers FOR VALUES WITH (MODULUS 4, REMAINDER %s) WITH (fillfactor = 50)', i, i)
FROM generate_series(0, 3) AS i \gexec
CREATE INDEX ON idem_producers (expires_at);
INSERT INTO idem_producers SELECT * FROM idem_producers_before;
DROP TABLE idem_producers_before;
ALTER EXTENSION pg_idem ADD TABLE idem_producers;
COMMIT;
SELECT outcome FROM idem_producers AS p, idem_accept('before', producer_id, 2, 7) WHERE stream = 'before';
SELECT count(*) FROM plain FULL JOIN live('after') AS l USING (step) WHERE plain.answer IS DISTINCT FROM l.answer;
-- An idle one expires there as well.
UPDATE idem_producers SET expires_at = clock_timestamp() WHERE stream = 'after';
SELECT idem_purge();
SELECT stream FROM idem_producers;
SELECT relation, action FROM idem_stat_cleanup;
SELECT expired FROM idem_expire_run();

-- A plain table again, with a trigger.
DROP EXTENSION pg_idem;
CREATE EXTENSION pg_idem;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% % %', TG_OP, NEW.epoch, NEW.last_seq;
    RETURN NEW;
END $$;
CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON idem_producers FOR EACH ROW EXECUTE FUNCTION tell();
SELECT producer_id, epoch FROM idem_producer('p', 's');
SELECT outcome FROM idem_accept('s', 1, 1, 1);
SELECT outcome FROM idem_accept('s', 1, 1, 1);
DROP TRIGGER tell ON idem_producers;
SELECT outcome FROM idem_accept('s', 1, 1, 2);
-- Altered beyond use.
ALTER TABLE idem_producers RENAME COLUMN last_seq TO last;
SELECT outcome FROM idem_accept('s', 1, 1, 3);
\echo :SQLSTATE
ALTER TABLE idem_producers RENAME COLUMN last TO last_seq;
ALTER TABLE idem_producers ADD COLUMN note text DEFAULT 'kept';
SELECT outcome FROM idem_accept('s', 1, 1, 3);
SELECT last_seq, note FROM idem_producers;
\c :home
DROP DATABASE regress_idem_streams;
