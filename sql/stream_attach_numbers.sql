-- Tables whose rows are numbered messages of producers.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
-- Ids come from a sequence that other tests draw from as well, so no output shows one.
CREATE FUNCTION write(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(attempt_rows(statement), 'producer \d+', 'producer N', 'g')
$$;
CREATE TABLE events (producer bigint, epoch integer, seq bigint, body text);
SELECT idem_stream_attach('events', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
SELECT * FROM idem_stream_attachments;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'events'::regclass ORDER BY tgname;
SELECT producer_id AS a FROM idem_producer('a', 'numbers') \gset
SELECT producer_id AS b FROM idem_producer('b', 'numbers') \gset
-- Rows that go to a producer by its number: those from one number to another.
CREATE FUNCTION put(producer bigint, first bigint, last bigint, epoch bigint DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT write(format('INSERT INTO events SELECT %s, %s, n FROM generate_series(%s, %s) AS n', producer, epoch,
        first, last))
$$;
CREATE FUNCTION progress() RETURNS TABLE (name text, last_seq bigint, lasts bigint[]) LANGUAGE sql AS $$
    SELECT producer, last_seq, lasts FROM idem_producers WHERE stream ~ '^numbers' ORDER BY producer
$$;

-- In order, again, and some of both.
SELECT put(:a, 1, 3);
SELECT put(:a, 1, 3);
SELECT put(:a, 2, 12);
SELECT put(:a, 12, 13);
SELECT * FROM progress();
SELECT count(*), max(seq) FROM events;
-- A number left out undoes the statement, and the progress with it.
SELECT put(:a, 14, 14);
SELECT put(:a, 16, 20);
SELECT write(format('INSERT INTO events VALUES (%1$s, 1, 15), (%1$s, 1, 16), (%1$s, 1, 18)', :a));
SELECT * FROM progress();
SELECT put(:a, 15, 16);
-- Several producers, in any mixture, also within themselves.
SELECT write(format('INSERT INTO events VALUES (%1$s, 1, 17), (%2$s, 1, 1), (%2$s, 1, 1), (%1$s, 1, 17), (%1$s, 1, 18),
    (%2$s, 1, 2), (%1$s, 1, 3)', :a, :b));
SELECT * FROM progress();
-- What idem_accept knows the table knows, and the other way round.
SELECT outcome, first_seq, last_seq, remembered FROM idem_accept('numbers', :a, 1, 18);
SELECT outcome FROM idem_accept('numbers', :a, 1, 19, 21, result => '"batch"');
SELECT put(:a, 18, 22);
SELECT outcome, result FROM idem_accept('numbers', :a, 1, 19, 21);
SELECT array_agg(seq ORDER BY seq) FROM events WHERE producer = :a AND seq > 17;
SELECT put(:a, 23, 25);
SELECT outcome, result, remembered FROM idem_accept('numbers', :a, 1, 19, 21);
SELECT put(:a, 26, 40);
SELECT outcome, result, remembered FROM idem_accept('numbers', :a, 1, 19, 21);
SELECT outcome, remembered FROM idem_accept('numbers', :a, 1, 37);

-- Rows that say too little, or what nobody gave out.
SELECT write(format('INSERT INTO events VALUES (NULL, 1, 1)'));
SELECT write(format('INSERT INTO events VALUES (%s, NULL, 41)', :a));
SELECT write(format('INSERT INTO events VALUES (%s, 1, NULL)', :a));
SELECT write(format('INSERT INTO events VALUES (%s, 1, 0)', :a));
SELECT write(format('INSERT INTO events VALUES (%s, 0, 41)', :a));
SELECT write(format('INSERT INTO events VALUES (%s, 2, 41)', :a));
SELECT write('INSERT INTO events VALUES (-1, 1, 1)');
SELECT producer_id AS other FROM idem_producer('a', 'another') \gset
SELECT write(format('INSERT INTO events VALUES (%s, 1, 1)', :other));
-- A new registration fences the old one, in the middle of a transaction too.
BEGIN;
SELECT put(:b, 3, 4);
SELECT epoch, last_seq FROM idem_producer('b', 'numbers');
SELECT put(:b, 5, 5);
SELECT put(:b, 5, 6, 2);
COMMIT;
SELECT * FROM progress();

-- Subtransactions that roll back take their progress with them, and those that do not keep it.
BEGIN;
SELECT put(:a, 41, 45);
SAVEPOINT s;
SELECT put(:a, 46, 50);
ROLLBACK TO s;
SELECT put(:a, 48, 50);
SELECT put(:a, 46, 47);
RELEASE s;
SAVEPOINT t;
SELECT put(:a, 48, 49);
RELEASE t;
SELECT put(:a, 49, 50);
COMMIT;
SELECT * FROM progress();
BEGIN;
SELECT put(:a, 51, 60);
ROLLBACK;
SELECT put(:a, 52, 60);
-- In the middle of a statement as well: each row runs one that fails, one that does not, and one that asks.
CREATE TABLE log (producer bigint, epoch integer, seq bigint);
SELECT idem_stream_attach('log', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.body = 'fails' THEN
        BEGIN
            INSERT INTO log VALUES (NEW.producer, 1, NEW.seq), (NEW.producer, 1, NEW.seq + 1);
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    ELSIF NEW.body = 'takes' THEN
        BEGIN
            INSERT INTO log VALUES (NEW.producer, 1, NEW.seq);
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    ELSIF NEW.body = 'asks' THEN
        NEW.body := 'asked at ' || (idem_accept('numbers', NEW.producer, 1, NEW.seq - 1)).outcome;
    ELSIF NEW.body = 'accepts' THEN
        BEGIN
            PERFORM idem_accept('numbers', NEW.producer, 1, NEW.seq);
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION disturb();
SELECT write(format('INSERT INTO events SELECT %s, 1, 50 + n, body FROM unnest(%L::text[]) WITH ORDINALITY AS t (body,
    n)', :a, '{plain,plain,fails,takes,plain,asks,fails,accepts,plain,plain,accepts,plain,fails,plain}'));
SELECT seq, body FROM events WHERE producer = :a AND seq > 50 ORDER BY seq;
SELECT seq FROM log;
SELECT * FROM progress();
DROP TRIGGER a ON events;
DROP TABLE log;

-- A row that ON CONFLICT leaves out is a message that has come.
DELETE FROM events;
CREATE UNIQUE INDEX events_body ON events (body);
INSERT INTO events VALUES (:a, 1, 65, 'unique');
SELECT write(format('INSERT INTO events VALUES (%1$s, 1, 66, %2$L), (%1$s, 1, 67, %3$L) ON CONFLICT DO NOTHING', :a,
    'unique', 'other'));
SELECT * FROM progress();
DROP INDEX events_body;
-- Other settings: gaps, no memory, and refusing what is not remembered.
SELECT idem_stream_set('numbers', mode => 'monotonic', remember => 0);
SELECT put(:a, 70, 75), put(:a, 75, 76), put(:a, 60, 60);
SELECT * FROM progress();
SELECT idem_stream_set('numbers', remember => 3, too_old => 'refuse');
SELECT put(:a, 80, 85);
SELECT put(:a, 83, 86);
SELECT put(:a, 83, 86);
SELECT * FROM progress();
SELECT idem_stream_reset('numbers');

-- The state is written once for a statement, however many rows it has.
BEGIN;
SELECT n_tup_upd AS before FROM pg_stat_xact_user_tables WHERE relname = 'idem_producers' \gset
SELECT put(:a, 87, 2000);
SELECT n_tup_upd - :before AS updates FROM pg_stat_xact_user_tables WHERE relname = 'idem_producers';
SELECT put(:a, 2001, 2001);
SELECT n_tup_upd - :before AS updates FROM pg_stat_xact_user_tables WHERE relname = 'idem_producers';
SELECT put(:a, 1000, 2001);
SELECT n_tup_upd - :before AS updates FROM pg_stat_xact_user_tables WHERE relname = 'idem_producers';
COMMIT;
SELECT * FROM progress();

-- Partitions; one that was made later tells nobody of the end of a statement.
CREATE TABLE parted (day integer, producer integer, epoch bigint, seq integer) PARTITION BY LIST (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
SELECT idem_stream_attach('parted', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('parted'))
ORDER BY 1, 2;
SELECT write(format('INSERT INTO parted SELECT n %% 2 + 1, %s, 1, n FROM generate_series(2000, 2010) AS n', :a));
SELECT * FROM progress();
UPDATE parted SET day = 3 - day;
SELECT count(*), count(*) FILTER (WHERE day = seq % 2 + 1) FROM parted;
BEGIN;
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(2010, 2020) AS n', :a));
SELECT last_seq FROM idem_producers WHERE producer_id = :a;
SELECT outcome FROM idem_accept('numbers', :a, 1, 2020);
SELECT last_seq FROM idem_producers WHERE producer_id = :a;
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(2021, 2030) AS n', :a));
COMMIT;
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(2031, 2040) AS n', :a));
SELECT * FROM progress();
-- An epoch that no producer can have.
SELECT write(format('INSERT INTO parted VALUES (1, %s, 5000000000, 1)', :b));
SELECT write(format('INSERT INTO parted VALUES (1, %s, -7, 1)', :b));
BEGIN;
UPDATE idem_producers SET epoch = 2147483647 WHERE producer_id = :b;
SELECT write(format('INSERT INTO parted VALUES (1, %s, 5000000000, 7)', :b));
ROLLBACK;
-- Settings that change in between are for what comes after.
SELECT producer_id AS kept FROM idem_producer('kept', 'numbers') \gset
BEGIN;
SELECT idem_stream_set('numbers', remember => 0);
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(1, 4) AS n', :kept));
SELECT idem_stream_set('numbers', remember => 7);
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(5, 14) AS n', :kept));
SELECT idem_stream_set('numbers', remember => 3);
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(15, 16) AS n', :kept));
COMMIT;
SELECT last_seq, lasts FROM idem_producers WHERE producer_id = :kept;
SELECT idem_stream_set('numbers', remember => 1000);
SELECT outcome FROM idem_accept('numbers', :kept, 1, 17, result => '17');
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(18, 1017) AS n', :kept));
SELECT last_seq, cardinality(lasts), lasts[1], lasts[1000], results FROM idem_producers WHERE producer_id = :kept;
DELETE FROM idem_producers WHERE producer_id = :kept;
-- A repeated row prolongs the producer, in memory too.
SELECT producer_id AS kept FROM idem_producer('kept', 'numbers') \gset
BEGIN;
SELECT write(format('INSERT INTO parted_2 VALUES (2, %s, 1, 1), (2, %1$s, 1, 2)', :kept));
SELECT idem_stream_set('numbers', retain => '100 days');
SELECT write(format('INSERT INTO parted_2 VALUES (2, %s, 1, 1)', :kept));
COMMIT;
SELECT expires_at > clock_timestamp() + interval '99 days' AS kept, last_seq, lasts FROM idem_producers
WHERE producer_id = :kept;
SELECT idem_stream_reset('numbers');
-- So idem_purge leaves it, although the row says that it is over.
BEGIN;
SELECT write(format('INSERT INTO parted_2 VALUES (2, %s, 1, 3)', :kept));
UPDATE idem_producers SET expires_at = '-infinity' WHERE producer_id = :kept;
SELECT write(format('INSERT INTO parted_2 VALUES (2, %s, 1, 4)', :kept));
SELECT idem_purge();
SELECT write(format('INSERT INTO parted_2 VALUES (2, %s, 1, 5), (2, %1$s, 1, 6)', :kept));
-- And what was accepted is written when nothing else may be.
SET TRANSACTION READ ONLY;
COMMIT;
SELECT last_seq FROM idem_producers WHERE producer_id = :kept;
DELETE FROM idem_producers WHERE producer_id = :kept;
-- Whoever takes the producer away while its progress is in memory has nothing accepted without it.
SELECT producer_id AS gone FROM idem_producer('gone', 'numbers') \gset
BEGIN;
INSERT INTO parted_2 SELECT 2, :gone, 1, n FROM generate_series(1, 5) AS n;
DELETE FROM idem_producers WHERE producer_id = :gone;
SELECT write(format('INSERT INTO parted_2 SELECT 2, %s, 1, n FROM generate_series(6, 8) AS n', :gone));
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
SELECT count(*) FROM parted WHERE producer = :gone;
DELETE FROM idem_producers WHERE producer_id = :gone;
SELECT idem_stream_detach('parted');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('parted'));
DROP TABLE parted;

-- By hand.
SELECT idem_stream_detach('events');
CREATE TRIGGER mine BEFORE INSERT ON events FOR EACH ROW
    EXECUTE FUNCTION idem_accept_row('numbers', 'producer', 'epoch', 'seq');
SELECT put(:a, 2040, 2042);
SELECT * FROM progress();
CREATE TRIGGER wrong AFTER INSERT ON events EXECUTE FUNCTION idem_accept_row('numbers', 'producer', 'epoch', 'seq');
SELECT put(:a, 2043, 2043);
DROP TRIGGER wrong ON events;

-- An expired producer is told so.
UPDATE idem_producers SET expires_at = '-infinity' WHERE producer_id = :a;
SELECT regexp_replace(put(:a, 2043, 2043), '\d{4}-\S+ \S+', 'T');
SELECT epoch, last_seq FROM idem_producer('a', 'numbers');
SELECT put(:a, 2043, 2043, 2);
-- The extension may go in the transaction that wrote, and come again: nothing is left of what the former one accepted.
CREATE TABLE late (producer bigint, epoch integer, seq bigint) PARTITION BY LIST (producer);
SELECT idem_stream_attach('late', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
CREATE TABLE late_1 PARTITION OF late DEFAULT;
SELECT producer_id AS late FROM idem_producer('late', 'numbers') \gset
BEGIN;
SELECT write(format('INSERT INTO late_1 SELECT %s, 1, n FROM generate_series(1, 5) AS n', :late));
SAVEPOINT before;
DROP EXTENSION pg_idem CASCADE;
CREATE EXTENSION pg_idem;
SELECT idem_stream_attach('late', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
SELECT write(format('INSERT INTO late_1 VALUES (%s, 1, 3)', :late));
SELECT setval('idem_producer_ids', :late, false) = :late AS begun;
SELECT producer_id = :late AS again, last_seq FROM idem_producer('late', 'numbers');
SELECT write(format('INSERT INTO late_1 SELECT %s, 1, n FROM generate_series(1, 2) AS n', :late));
SELECT write(format('INSERT INTO late_1 SELECT %s, 1, n FROM generate_series(3, 4) AS n', :late));
SELECT last_seq FROM idem_producers;
ROLLBACK TO before;
-- But all, where it never went.
COMMIT;
SELECT last_seq FROM idem_producers WHERE producer_id = :late;
SELECT write(format('INSERT INTO late_1 SELECT %s, 1, n FROM generate_series(4, 6) AS n', :late));
SELECT count(*) FROM late;
BEGIN;
SELECT write(format('INSERT INTO late_1 SELECT %s, 1, n FROM generate_series(7, 9) AS n', :late));
DROP EXTENSION pg_idem CASCADE;
CREATE EXTENSION pg_idem;
SELECT epoch, last_seq FROM idem_producer('late', 'numbers');
COMMIT;
SELECT idem_stream_attach('events', 'numbers', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
DELETE FROM events;
SELECT producer_id AS a FROM idem_producer('a', 'numbers') \gset
BEGIN;
SELECT put(:a, 1, 5);
DROP EXTENSION pg_idem CASCADE;
COMMIT;
SELECT max(seq) FROM events;
CREATE EXTENSION pg_idem;
DROP TABLE events, late;
DROP FUNCTION write, put, progress, disturb;
