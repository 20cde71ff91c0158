-- Messages by their ids: new once, and afterwards what they were.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_cleanup_pause();
CREATE FUNCTION records() RETURNS TABLE (key text, status text, result jsonb) LANGUAGE sql AS $$
    SELECT key, status, result FROM idem_records WHERE scope = 'idem.message' ORDER BY key
$$;
-- How long an id is kept from now on.
CREATE FUNCTION kept(id text, most interval) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN expires_at = 'infinity' THEN 'for ever'
        WHEN expires_at - clock_timestamp() BETWEEN most - interval '1 minute' AND most THEN 'that long'
        ELSE (expires_at - clock_timestamp())::text END
    FROM idem_records WHERE scope = 'idem.message' AND key = idem_key('s', id)
$$;

-- The first is accepted, the second is not, and both say since when.
SELECT outcome, first_seen <= clock_timestamp() AS seen, result FROM idem_accept_id('s', 'm1', result => '{"n": 1}');
SELECT first_seen AS first FROM idem_accept_id('s', 'm1') \gset
SELECT outcome, first_seen = :'first' AS same, result FROM idem_accept_id('s', 'm1', result => '{"n": 2}');
-- In one transaction as well.
BEGIN;
SELECT outcome, result FROM idem_accept_id('s', 'm2');
SELECT outcome, result FROM idem_accept_id('s', 'm2');
COMMIT;
-- Streams do not know of one another, however the parts are cut.
SELECT outcome FROM idem_accept_id('s2', 'm1');
SELECT outcome FROM idem_accept_id('a:b', 'c');
SELECT outcome FROM idem_accept_id('a', 'b:c');
SELECT * FROM records();
SELECT status, result FROM idem_get(idem_key('s', 'm1'), 'idem.message');

-- Every kind of nothing is a result of its own.
SELECT (idem_accept_id('s', 'none')).outcome;
SELECT (idem_accept_id('s', 'null', result => 'null')).outcome;
SELECT (idem_accept_id('s', 'false', result => 'false')).outcome;
SELECT (idem_accept_id('s', 'empty', result => '""')).outcome;
SELECT id, (idem_accept_id('s', id)).result FROM unnest('{none,"null",false,empty}'::text[]) AS id;

-- A hash is compared where both sides have one.
SELECT outcome FROM idem_accept_id('s', 'h1', hash => '\x01', result => '1');
SELECT attempt($$SELECT idem_accept_id('s', 'h1', hash => '\x02')$$);
SELECT outcome, result FROM idem_accept_id('s', 'h1', hash => '\x01');
SELECT outcome, result FROM idem_accept_id('s', 'h1');
SELECT outcome FROM idem_accept_id('s', 'h2');
SELECT outcome FROM idem_accept_id('s', 'h2', hash => '\x02');
SELECT outcome FROM idem_accept_id('s', 'h2', hash => '\x03');
SELECT outcome FROM idem_accept_id('s', 'h3', hash => idem_fingerprint('{"a": 1.0}'));
SELECT outcome FROM idem_accept_id('s', 'h3', hash => idem_fingerprint('{"a": 1}'));

-- Ids of any kind, and those that are none.
SELECT outcome FROM idem_accept_id('s', repeat('x', 510));
SELECT outcome FROM idem_accept_id('s', repeat('x', 510));
SELECT attempt(format('SELECT idem_accept_id(%L, %L)', 's', repeat('x', 511)));
SELECT attempt(format('SELECT idem_accept_id(%L, %L)', 's', repeat('x', 513)));
SELECT attempt(format('SELECT idem_accept_id(%L, %L)', 's', repeat(':', 200)));
SELECT attempt(format('SELECT idem_accept_id(%L, %L)', repeat('s', 129), 'x'));
SELECT attempt(format('SELECT idem_accept_id(%L, %L)', 's', repeat('x', 10000000)));
SELECT outcome FROM idem_accept_id('s', 'Größe ☃ 訊息');
SELECT outcome FROM idem_accept_id('s', 'Größe ☃ 訊息');
SELECT outcome FROM idem_accept_id('s', ' m1');
SELECT outcome FROM idem_accept_id('s', E'm1\n');
SELECT outcome FROM idem_accept_id('s', 'M1');
SELECT attempt($$SELECT idem_accept_id('s', '')$$);
SELECT attempt($$SELECT idem_accept_id('s', NULL)$$);
SELECT attempt($$SELECT idem_accept_id('', 'm')$$);
SELECT attempt($$SELECT idem_accept_id(NULL, 'm')$$);
SELECT attempt($$SELECT idem_accept_id('s', 'm', hash => '')$$);
SELECT attempt($$SELECT idem_accept_id('s', 'm', hash => decode(repeat('00', 129), 'hex'))$$);
SELECT attempt($$SELECT idem_accept_id('s', 'm', '0')$$);
SELECT attempt($$SELECT idem_accept_id('s', 'm', '-1 day')$$);

-- The cap on results is that of the scope, and what it refuses is not accepted.
SELECT idem_scope_set('idem.message', max_result_bytes => 100);
SELECT attempt($$SELECT idem_accept_id('s', 'big', result => to_jsonb(repeat('x', 200)))$$);
SELECT outcome FROM idem_accept_id('s', 'big', result => to_jsonb(repeat('x', 80)));
SELECT attempt($$SELECT idem_accept_id('s', 'big', result => to_jsonb(repeat('x', 200)))$$);
SELECT idem_scope_reset('idem.message');
SELECT outcome FROM idem_accept_id('s', 'large', result => to_jsonb(repeat('x', 500000)));
SELECT outcome, octet_length(result::text) FROM idem_accept_id('s', 'large');

-- The window: what the call says, or else the stream, or the scope, or the setting.
SELECT idem_stream_set('s', message_retain => '2 hours');
SELECT idem_scope_set('idem.message', retain => '3 hours');
SELECT (idem_accept_id('s', 'w1', '1 hour')).outcome, kept('w1', '1 hour');
SELECT (idem_accept_id('s', 'w2')).outcome;
SELECT kept('w1', '1 hour'), kept('w2', '2 hours');
SELECT idem_stream_reset('s');
SELECT (idem_accept_id('s', 'w3')).outcome;
SELECT idem_scope_reset('idem.message');
SELECT (idem_accept_id('s', 'w4')).outcome;
SELECT (idem_accept_id('s', 'w5', '1000 years')).outcome;
SELECT kept('w3', '3 hours'), kept('w4', '1 day'), kept('w5', '1 day') > '900 years';
-- A duplicate moves it only where the stream says so, and then only as far as it must.
SELECT (idem_accept_id('s', 'w1', '5 hours')).outcome;
SELECT kept('w1', '1 hour');
SELECT idem_stream_set('s', refresh => true, message_retain => '10 hours');
SELECT (idem_accept_id('s', 'w1')).outcome;
SELECT kept('w1', '11 hours');
SELECT xmin AS before FROM idem_records WHERE key = 's:w1' \gset
SELECT (idem_accept_id('s', 'w1')).outcome;
SELECT (idem_accept_id('s', 'w1', '1 hour')).outcome;
SELECT kept('w1', '11 hours'), xmin = :'before' AS unchanged FROM idem_records WHERE key = 's:w1';
SELECT (idem_accept_id('s', 'w1', '20 hours')).outcome;
SELECT kept('w1', '22 hours');
SELECT outcome, result FROM idem_accept_id('s', 'm1');
SELECT outcome, first_seen = :'first' AS same, result FROM idem_accept_id('s', 'm1');
SELECT idem_stream_reset('s');

-- When the window is over the id is as good as unknown, purged or not.
UPDATE idem_records SET expires_at = '-infinity' WHERE key IN ('s:m1', 's:h1');
SELECT outcome, first_seen > :'first' AS later FROM idem_accept_id('s', 'm1', result => '"again"');
SELECT outcome, first_seen > :'first' AS later, result FROM idem_accept_id('s', 'm1');
SELECT outcome FROM idem_accept_id('s', 'h1', hash => '\x02');
SELECT status, attempt, fingerprint, result, completed_at = created_at AS at_once
FROM idem_get('s:h1', 'idem.message');
UPDATE idem_records SET expires_at = '-infinity' WHERE key = 's:m2';
SELECT idem_purge() > 0 AS purged;
SELECT outcome FROM idem_accept_id('s', 'm2');
-- A scope that archives keeps what was.
SELECT idem_scope_set('idem.message', on_expiry => 'archive');
UPDATE idem_records SET expires_at = '-infinity' WHERE key = 's:m1';
SELECT outcome FROM idem_accept_id('s', 'm1', result => '"third"');
SELECT key, status, result FROM idem_archive WHERE scope = 'idem.message';
SELECT idem_scope_reset('idem.message');

-- An id can be forgotten, once.
SELECT idem_accept_forget('s', 'm1');
SELECT idem_accept_forget('s', 'm1');
SELECT idem_accept_forget('s', 'never');
SELECT outcome FROM idem_accept_id('s', 'm1');
BEGIN;
SELECT idem_accept_forget('s', 'm1');
SELECT outcome FROM idem_accept_id('s', 'm1', result => '"new"');
SELECT outcome, result FROM idem_accept_id('s', 'm1');
COMMIT;
UPDATE idem_records SET expires_at = '-infinity' WHERE key = 's:m1';
SELECT idem_accept_forget('s', 'm1');
SELECT count(*) FROM idem_records WHERE key = 's:m1';
SELECT attempt($$SELECT idem_accept_forget('s', '')$$);
SELECT attempt($$SELECT idem_accept_forget(NULL, 'x')$$);

-- What a savepoint takes back was never accepted.
BEGIN;
SAVEPOINT s;
SELECT outcome FROM idem_accept_id('s', 'sp');
ROLLBACK TO s;
SELECT outcome FROM idem_accept_id('s', 'sp', result => '"kept"');
SAVEPOINT t;
SELECT outcome, result FROM idem_accept_id('s', 'sp');
SELECT idem_accept_forget('s', 'sp');
ROLLBACK TO t;
SELECT outcome, result FROM idem_accept_id('s', 'sp');
COMMIT;
SELECT outcome, result FROM idem_accept_id('s', 'sp');

-- A claim that somebody made in the reserved scope is not ours to judge; when it is over, it is nobody's.
SELECT outcome FROM idem_begin(idem_key('s', 'claimed'), 'idem.message');
SELECT attempt($$SELECT idem_accept_id('s', 'claimed')$$);
SELECT idem_accept_forget('s', 'claimed');
UPDATE idem_records SET lease_expires_at = '-infinity' WHERE key = 's:claimed';
SELECT outcome FROM idem_accept_id('s', 'claimed', result => '1');
SELECT outcome, result FROM idem_accept_id('s', 'claimed');
SELECT outcome FROM idem_begin(idem_key('s', 'released'), 'idem.message');
SELECT idem_release(idem_key('s', 'released'), 'idem.message');
SELECT outcome FROM idem_accept_id('s', 'released');

-- The same at every isolation level.
CREATE PROCEDURE live() LANGUAGE plpgsql AS $$
DECLARE
    id text := 'level ' || current_setting('transaction_isolation');
BEGIN
    RAISE INFO '% % % %', (idem_accept_id('s', id, hash => '\x01', result => '7')).outcome,
        (idem_accept_id('s', id)).outcome, (idem_accept_id('s', id)).result, attempt(format(
        'SELECT idem_accept_id(%L, %L, hash => %L)', 's', id, '\x02'));
    COMMIT;
    RAISE INFO '% %', (idem_accept_id('s', id)).outcome, idem_accept_forget('s', id);
    COMMIT;
    RAISE INFO '%', (idem_accept_id('s', id)).outcome;
END $$;
CALL live();
SET default_transaction_isolation = 'repeatable read';
CALL live();
SET default_transaction_isolation = 'serializable';
CALL live();
RESET default_transaction_isolation;
BEGIN READ ONLY;
SELECT idem_accept_id('s', 'm1');
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_accept_forget('s', 'm1');
\echo :SQLSTATE
ROLLBACK;

-- A new id costs one row that is written once, and a known one costs none.
CREATE FUNCTION writes() RETURNS bigint LANGUAGE sql AS $$
    SELECT n_tup_ins + 1000 * n_tup_upd + 1000 * n_tup_del FROM pg_stat_xact_user_tables
    WHERE relname = 'idem_records'
$$;
BEGIN;
SELECT writes() AS before \gset
SELECT count(*) FROM (SELECT idem_accept_id('cost', i::text) FROM generate_series(1, 100) AS i) AS a;
SELECT writes() - :before AS writes;
COMMIT;
BEGIN;
SELECT writes() AS before \gset
SELECT count(*) FROM (SELECT idem_accept_id('cost', i::text) FROM generate_series(1, 100) AS i) AS a;
SELECT writes() - :before AS writes, pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
COMMIT;

-- A stream that belongs to a role, and those who may not call at all.
CREATE ROLE regress_idem_sender;
CREATE ROLE regress_idem_stranger;
CREATE ROLE regress_idem_nobody;
SELECT idem_grant('regress_idem_sender');
SELECT idem_grant('regress_idem_stranger');
SELECT idem_stream_set('private', member => 'regress_idem_sender');
SET ROLE regress_idem_stranger;
SELECT outcome FROM idem_accept_id('s', 'of a stranger');
SELECT attempt($$SELECT idem_accept_id('private', 'm')$$);
SELECT attempt($$SELECT idem_accept_forget('private', 'm')$$);
SELECT attempt($$SELECT idem_begin('s:x', 'idem.message')$$);
SET ROLE regress_idem_sender;
SELECT outcome FROM idem_accept_id('private', 'm');
SELECT idem_accept_forget('private', 'm');
SET ROLE regress_idem_nobody;
SELECT attempt($$SELECT idem_accept_id('s', 'm')$$);
SELECT attempt($$SELECT idem_accept_forget('s', 'm')$$);
RESET ROLE;
SELECT idem_stream_reset('private');
DROP OWNED BY regress_idem_sender, regress_idem_stranger;
DROP ROLE regress_idem_sender, regress_idem_stranger, regress_idem_nobody;
DELETE FROM idem_records;
DROP FUNCTION records, kept, writes;
DROP PROCEDURE live;
