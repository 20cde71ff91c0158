-- Finishing is a heap-only update: it adds nothing to an index. The counters are those of this session that it has
-- not reported yet, which are exact at once.
CREATE PROCEDURE finish_many(prefix text, times integer, separately boolean) LANGUAGE plpgsql AS $$
DECLARE
    before record;
    after record;
BEGIN
    SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd INTO before FROM pg_stat_xact_user_tables
        WHERE relid = 'idem_records'::regclass;
    FOR i IN 1..times LOOP
        PERFORM idem_begin(prefix || i, 'hot', '\x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021');
        IF separately THEN
            COMMIT;
        END IF;
        PERFORM idem_finish(prefix || i, jsonb_build_object('order', i, 'status', 'paid'), 'hot', code => 201);
        COMMIT;
    END LOOP;
    SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd INTO after FROM pg_stat_xact_user_tables
        WHERE relid = 'idem_records'::regclass;
    RAISE NOTICE 'claimed %, finished %, at least 99 %% of them heap-only: %', after.n_tup_ins - before.n_tup_ins,
        after.n_tup_upd - before.n_tup_upd, after.n_tup_hot_upd - before.n_tup_hot_upd >= 0.99 * times;
END $$;
CALL finish_many('together ', 2000, false);
CALL finish_many('apart ', 2000, true);
DROP PROCEDURE finish_many;
-- The indexes lead to every record.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM idem_records WHERE key >= 'apart ' AND key < 'apart!' AND scope = 'hot' AND status = 'finished';
SELECT count(*) FROM idem_records WHERE expires_at > now() AND scope = 'hot' AND status = 'finished';
RESET enable_seqscan;
RESET enable_bitmapscan;
-- The index on expires_at is the only one beside the key, and nothing after the claim changes what it holds.
SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) ~ 'USING btree \((key, scope|expires_at)\)$' AS as_expected
FROM pg_index WHERE indrelid = 'idem_records'::regclass ORDER BY 1;
