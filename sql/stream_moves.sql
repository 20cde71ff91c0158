-- Rows that move between partitions are no deliveries, and a row that does not arrive hides none that is.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
CREATE TABLE t (id text, part integer) PARTITION BY LIST (part);
CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2);
SELECT idem_stream_attach('t', 'mv', 'id');
INSERT INTO t VALUES ('a', 1), ('b', 1), ('c', 1);

-- The first try finds no partition.
BEGIN;
SAVEPOINT s;
UPDATE t SET part = 99 WHERE id = 'a';
ROLLBACK TO s;
UPDATE t SET part = 2 WHERE id = 'a';
INSERT INTO t VALUES ('b', 1) RETURNING id;
COMMIT;
DO $$
BEGIN
    BEGIN
        UPDATE t SET part = 3 WHERE id = 'a';
    EXCEPTION WHEN check_violation THEN
        INSERT INTO t VALUES ('b', 1);
        CREATE TABLE t3 PARTITION OF t FOR VALUES IN (3);
        UPDATE t SET part = 3 WHERE id = 'a';
    END;
    INSERT INTO t VALUES ('b', 1);
END $$;
SELECT id, part FROM t ORDER BY id;

-- A trigger of the user leaves the row out after it was deleted.
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id = 'c' THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_skip BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION skip();
BEGIN;
UPDATE t SET part = 2 WHERE id = 'c';
INSERT INTO t VALUES ('b', 1) RETURNING id;
ROLLBACK;
WITH moved AS (UPDATE t SET part = 2 WHERE id IN ('c', 'a') RETURNING id)
INSERT INTO t SELECT 'b', 1 FROM moved RETURNING id;
SELECT id, part FROM t ORDER BY id;
DROP TRIGGER a_skip ON t;

-- A later trigger keeps the row where it is, the first time.
CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('regress.stay', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER zz_stay BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION stay();
BEGIN;
SET LOCAL regress.stay = 'on';
UPDATE t SET part = 1 WHERE id = 'a';
SET LOCAL regress.stay = 'off';
UPDATE t SET part = 1 WHERE id = 'a';
INSERT INTO t VALUES ('b', 1) RETURNING id;
COMMIT;
SELECT id, part FROM t ORDER BY id;
DROP TRIGGER zz_stay ON t;

-- Nobody asks where it arrives.
BEGIN;
ALTER TABLE t2 DISABLE TRIGGER zy_idem_id_accept;
UPDATE t SET part = 2 WHERE id = 'a';
INSERT INTO t VALUES ('b', 1) RETURNING id;
ROLLBACK;

-- What RETURNING shows of a row that moves may be delivered in the same statement.
CREATE TABLE u (id text, part integer) PARTITION BY LIST (part);
CREATE TABLE u1 PARTITION OF u FOR VALUES IN (1, 2);
SELECT idem_stream_attach('u', 'other', 'id');
INSERT INTO u VALUES ('b', 1);
WITH moved AS (UPDATE t SET part = 3 - part RETURNING id, part)
INSERT INTO u SELECT id, part FROM moved RETURNING id;
WITH moved AS (UPDATE t SET part = 3 - part RETURNING id, part)
INSERT INTO t SELECT id, part FROM moved RETURNING id;
SELECT id, part FROM t ORDER BY id;
DROP TABLE u;

-- Statements that triggers run while a row moves are not taken for its arrival, nor do they hide it.
CREATE FUNCTION deliver() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id = 'a' AND pg_trigger_depth() = 1 THEN
        INSERT INTO t VALUES ('b', 1), ('b', 2);
        UPDATE t SET part = 3 - part WHERE id = 'b';
        PERFORM attempt_rows('UPDATE t SET part = 99 WHERE id = ''b''');
        INSERT INTO t VALUES ('a', 1), ('b', 2), ('nested', 2);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_deliver BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION deliver();
UPDATE t SET part = 3 - part WHERE id = 'a';
SELECT id, part FROM t ORDER BY id;
DROP TRIGGER a_deliver ON t;

-- A second judge, of another stream, hears of moves as well, and needs no DELETE part of its own.
CREATE TRIGGER mine BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id <> 'q')
    EXECUTE FUNCTION idem_accept_row('second', 'id');
INSERT INTO t VALUES ('n', 1), ('q', 1);
UPDATE t SET part = 2 WHERE id IN ('n', 'q');
UPDATE t SET part = 1;
SELECT id, part FROM t ORDER BY id;
INSERT INTO t VALUES ('n', 2), ('b', 2) RETURNING id;
-- But somebody must be told of each row, before one is lost.
DROP TRIGGER zy_idem_id_accept ON t;
DROP TRIGGER zy_idem_id_move ON t;
SELECT attempt_rows($$INSERT INTO t VALUES ('o', 1)$$);
SELECT attempt_rows($$UPDATE t SET part = 2 WHERE id = 'n'$$);
CREATE TRIGGER mine_del BEFORE DELETE ON t FOR EACH ROW WHEN (OLD.id <> 'q')
    EXECUTE FUNCTION idem_accept_row('second', 'id');
SELECT attempt_rows($$UPDATE t SET part = 2 WHERE id = 'n'$$);
DROP TRIGGER mine_del ON t;
CREATE TRIGGER mine_del BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION idem_accept_row('second', 'id');
SELECT attempt_rows($$UPDATE t SET part = 2 WHERE id = 'n'$$);
ALTER TABLE t DISABLE TRIGGER mine_del;
SELECT attempt_rows($$UPDATE t SET part = 1 WHERE id = 'n'$$);
ALTER TABLE t ENABLE ALWAYS TRIGGER mine_del;
SELECT attempt_rows($$UPDATE t SET part = 1 WHERE id = 'n'$$);
SELECT id, part FROM t ORDER BY id;

-- One partition's trigger does not hear of what leaves another.
CREATE TABLE w (id text, part integer) PARTITION BY LIST (part);
CREATE TABLE w1 PARTITION OF w FOR VALUES IN (1);
CREATE TABLE w2 PARTITION OF w FOR VALUES IN (2);
CREATE TRIGGER mine BEFORE INSERT OR DELETE ON w2 FOR EACH ROW EXECUTE FUNCTION idem_accept_row('ww', 'id');
INSERT INTO w VALUES ('x', 1);
SELECT outcome FROM idem_accept_id('ww', 'x');
SELECT attempt_rows('UPDATE w SET part = 2');
CREATE TRIGGER told BEFORE DELETE ON w FOR EACH ROW EXECUTE FUNCTION idem_accept_row('ww', 'id');
SELECT attempt_rows('UPDATE w SET part = 2');
SELECT * FROM w;
DROP TABLE w;

-- A row that does not meet the WHEN clause is told of, and not asked for.
DROP TRIGGER mine ON t;
CREATE TRIGGER mine BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id IS NOT NULL)
    EXECUTE FUNCTION idem_accept_row('second', 'id');
BEGIN;
INSERT INTO t VALUES (NULL, 1);
UPDATE t SET part = 2 WHERE id IS NULL;
INSERT INTO t VALUES ('n', 1) RETURNING id;
COMMIT;
SELECT id, part FROM t ORDER BY id;
DROP TABLE t;

-- The same with numbers of producers.
CREATE TABLE p (producer bigint, epoch integer, seq bigint, part integer) PARTITION BY LIST (part);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
SELECT idem_stream_attach('p', 'pv', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
SELECT producer_id AS p FROM idem_producer('x', 'pv') \gset
INSERT INTO p SELECT :p, 1, n, 1 FROM generate_series(1, 3) AS n;
BEGIN;
SAVEPOINT s;
UPDATE p SET part = 99 WHERE seq = 1;
ROLLBACK TO s;
UPDATE p SET part = 2 WHERE seq = 1;
INSERT INTO p VALUES (:p, 1, 2, 1) RETURNING seq;
COMMIT;
CREATE FUNCTION skip_third() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq = 3 THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_skip BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION skip_third();
BEGIN;
UPDATE p SET part = 2 WHERE seq = 3;
INSERT INTO p VALUES (:p, 1, 2, 1) RETURNING seq;
ROLLBACK;
DROP TRIGGER a_skip ON p;
CREATE TRIGGER zz_stay BEFORE DELETE ON p FOR EACH ROW EXECUTE FUNCTION stay();
BEGIN;
SET LOCAL regress.stay = 'on';
UPDATE p SET part = 1 WHERE seq = 1;
SET LOCAL regress.stay = 'off';
UPDATE p SET part = 1 WHERE seq = 1;
INSERT INTO p VALUES (:p, 1, 2, 1) RETURNING seq;
COMMIT;
DROP TRIGGER zz_stay ON p;
CREATE TRIGGER mine BEFORE INSERT ON p FOR EACH ROW WHEN (NEW.seq IS NOT NULL)
    EXECUTE FUNCTION idem_accept_row('seqs', 'seq');
INSERT INTO p VALUES (:p, 1, 4, 1);
UPDATE p SET part = 3 - part;
INSERT INTO p VALUES (:p, 1, 4, 1) RETURNING seq;
SELECT seq, part FROM p ORDER BY seq;
DROP TRIGGER mine ON p;
SELECT idem_stream_detach('p');
CREATE TRIGGER mine BEFORE INSERT ON p FOR EACH ROW WHEN (NEW.seq IS NOT NULL)
    EXECUTE FUNCTION idem_accept_row('pv', 'producer', 'epoch', 'seq');
CREATE TRIGGER mine_del BEFORE DELETE ON p FOR EACH ROW
    EXECUTE FUNCTION idem_accept_row('pv', 'producer', 'epoch', 'seq');
BEGIN;
INSERT INTO p VALUES (:p, 1, NULL, 1);
UPDATE p SET part = 2 WHERE seq IS NULL;
INSERT INTO p VALUES (:p, 1, 2, 1), (:p, 1, 5, 1) RETURNING seq;
COMMIT;
SELECT seq, part FROM p ORDER BY seq;
DROP TABLE p;
DELETE FROM idem_records;
DELETE FROM idem_producers;
DROP FUNCTION skip, skip_third, stay, deliver;
