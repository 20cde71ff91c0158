-- Accepting is a heap-only update: it adds nothing to an index. The counters are those of this session that it has not
-- reported yet, which are exact at once.
CREATE PROCEDURE accept_many_times(id bigint, first integer, times integer) LANGUAGE plpgsql AS $$
DECLARE
    before record;
    after record;
BEGIN
    SELECT n_tup_upd, n_tup_hot_upd INTO before FROM pg_stat_xact_user_tables WHERE relid = 'idem_producers'::regclass;
    FOR i IN first..first + times - 1 LOOP
        PERFORM idem_accept('hot', id, 1, i, hash => '\x0102030405060708090a0b0c0d0e0f10',
            result => jsonb_build_object('order', i, 'status', 'paid'));
        COMMIT;
    END LOOP;
    SELECT n_tup_upd, n_tup_hot_upd INTO after FROM pg_stat_xact_user_tables WHERE relid = 'idem_producers'::regclass;
    RAISE NOTICE 'accepted %, at least 99 %% of them heap-only: %', after.n_tup_upd - before.n_tup_upd,
        after.n_tup_hot_upd - before.n_tup_hot_upd >= 0.99 * times;
END $$;
SELECT producer_id AS id FROM idem_producer('hot', 'hot') \gset
SELECT pg_relation_size('idem_producers') AS size \gset
CALL accept_many_times(:id, 1, 5000);
-- The indexes lead to the producer, and the table has not grown.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT last_seq FROM idem_producers WHERE producer_id = :id;
SELECT last_seq FROM idem_producers WHERE stream = 'hot' AND producer = 'hot';
SELECT count(*) FROM idem_producers WHERE expires_at > now() AND stream = 'hot';
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT pg_relation_size('idem_producers') - :size <= 8 * 8192 AS small;
-- No index names what accepting changes.
SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) ~ 'USING btree \((producer_id|stream, producer|expires_at)\)$' AS as_expected
FROM pg_index WHERE indrelid = 'idem_producers'::regclass ORDER BY 1;
-- Nor does it leave memory or plans behind.
CREATE FUNCTION used(OUT bytes numeric) LANGUAGE plpgsql AS $$
BEGIN
    bytes := 0;
    -- PostgreSQL 13 does not tell.
    IF to_regclass('pg_catalog.pg_backend_memory_contexts') IS NOT NULL THEN
        EXECUTE $q$SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name <> 'CacheMemoryContext'$q$ INTO bytes;
    END IF;
END $$;
CALL accept_many_times(:id, 5001, 100);
SELECT bytes >= 0 AS warm FROM used();
SELECT bytes FROM used() \gset
CALL accept_many_times(:id, 5101, 3000);
SELECT bytes - :bytes < 100000 AS as_before FROM used();
-- Within a statement memory is given back after each call.
CREATE FUNCTION most_memory(from_seq integer, times integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first_bytes numeric;
    last_bytes numeric;
    answer record;
BEGIN
    FOR answer IN SELECT n, (idem_accept('hot', (SELECT producer_id FROM idem_producers WHERE stream = 'hot'), 1, n)).outcome,
            CASE WHEN n % 500 = 0 THEN used() END AS bytes
        FROM generate_series(from_seq, from_seq + times) AS n LOOP
        first_bytes := coalesce(first_bytes, answer.bytes);
        last_bytes := coalesce(answer.bytes, last_bytes);
    END LOOP;
    RETURN last_bytes - first_bytes < 1000000;
END $$;
SELECT most_memory(8101, 2000);
DELETE FROM idem_producers WHERE stream = 'hot';
DROP FUNCTION used, most_memory;
DROP PROCEDURE accept_many_times;
