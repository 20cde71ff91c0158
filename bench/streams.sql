-- Producers that pgbench's clients send for, one each, with ids from 1 on; one more with a short history, and one with a
-- history of :records batches. Beside them what people write by hand: a row a producer with the last number, and the
-- last five numbers for who wants to remember.
CREATE EXTENSION pg_idem;
SELECT count(idem_producer('client ' || n, 'bench')) FROM generate_series(1, 66) AS n;
CREATE TABLE progress (
    producer bigint PRIMARY KEY,
    epoch integer NOT NULL,
    last_seq bigint NOT NULL,
    recent bigint[] NOT NULL
) WITH (fillfactor = 50);
INSERT INTO progress SELECT n, 1, 0, '{}' FROM generate_series(1, 66) AS n;
CREATE PROCEDURE accept(producer bigint, batches bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..batches LOOP
        PERFORM idem_accept('bench', producer, 1, n);
        COMMIT;
    END LOOP;
END $$;
SET synchronous_commit = off;
CALL accept(65, 10);
CALL accept(66, :records);
