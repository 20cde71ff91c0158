-- A replay is a read: no transaction id, no row lock, no WAL. So is every other answer but "started".
SELECT count(outcome) FROM unnest(ARRAY['finished', 'failed', 'busy', 'executed']) AS k,
    idem_begin(k, 'replay cost', '\x01', lease => '1 h');
SELECT idem_finish('finished', '{"a": 1}', 'replay cost', body => '\x00'), idem_fail('failed', '1', 'replay cost'),
    idem_finish('executed', '1', 'replay cost');
SELECT idem_scope_set('replay cost: held', on_abandoned => 'hold');
SELECT outcome FROM idem_begin('held', 'replay cost: held', lease => '1 us');
CREATE TABLE reads (number integer, call text);
INSERT INTO reads VALUES
    (1, $$outcome FROM idem_begin('finished', 'replay cost', '\x01')$$),
    (2, $$outcome FROM idem_begin('failed', 'replay cost')$$),
    (3, $$outcome FROM idem_begin('busy', 'replay cost')$$),
    (4, $$outcome FROM idem_begin('busy', 'replay cost', wait => '0')$$),
    (5, $$outcome FROM idem_begin('busy', 'replay cost', '\x02')$$),
    (6, $$outcome FROM idem_begin('held', 'replay cost: held')$$),
    (7, $$outcome FROM idem_execute('executed', 'SELECT 1', scope => 'replay cost')$$),
    (8, $$status FROM idem_get('finished', 'replay cost')$$),
    (9, $$outcome FROM idem_begin('finished', 'replay cost', strict => true)$$);
-- The least WAL of several rounds: another process may write some at any time, but not all the time.
CREATE FUNCTION least_wal(call text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    before pg_lsn;
    least numeric;
BEGIN
    -- The first reads may set hint bits.
    EXECUTE 'SELECT ' || call;
    FOR round IN 1..20 LOOP
        before := pg_current_wal_insert_lsn();
        FOR i IN 1..20 LOOP
            EXECUTE 'SELECT ' || call;
        END LOOP;
        least := least(least, pg_current_wal_insert_lsn() - before);
        EXIT WHEN least = 0;
    END LOOP;
    RETURN least;
END $$;
CREATE FUNCTION answer(call text, OUT answer text, OUT xid_assigned boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || call INTO answer;
    xid_assigned := pg_current_xact_id_if_assigned() IS NOT NULL;
END $$;
SELECT number, a.answer, a.xid_assigned, least_wal(call) FROM reads, answer(call) AS a ORDER BY number;
BEGIN;
SELECT count(answer(call)) FROM reads;
SELECT pg_current_xact_id_if_assigned();
SELECT DISTINCT mode FROM pg_locks WHERE pid = pg_backend_pid()
    AND (relation IN ('idem_records'::regclass, 'idem_records_pkey'::regclass)
    OR locktype IN ('tuple', 'transactionid'));
COMMIT;
-- The measure measures: a claim takes an id and writes.
SELECT xid_assigned FROM answer($$outcome FROM idem_begin('new', 'replay cost')$$);
SELECT least_wal($$idem_extend('new', 'replay cost', lease => '1 h')$$) > 0 AS writes;
SELECT idem_scope_reset('replay cost: held');
DROP FUNCTION least_wal, answer;
DROP TABLE reads;
