-- Durable locks in one session: taking, finding taken, prolonging, giving back, losing and fencing.
SET timezone = 'UTC';

-- The token of the present holder, for a test to hand in as its own.
CREATE FUNCTION token_of(lock text) RETURNS bigint LANGUAGE sql AS $$
    SELECT token FROM idem_records WHERE scope = 'idem.lock' AND key = lock
$$;


\pset format unaligned
\pset tuples_only on
\pset null NULL

-- Taken, and found taken: who has it, until when and why, but never with which token.
SELECT acquired, token > 0, expires_at > clock_timestamp() + '50 s', holder, data, after_loss, depth, retry_after
    FROM idem_lock('report', '1 minute', owner => 'node-1', data => '{"pid": 17}');
SELECT acquired, token, expires_at > clock_timestamp() + '50 s', holder, data, after_loss, depth,
       retry_after BETWEEN '50 s' AND '1 min'
    FROM idem_lock('report', '1 minute', owner => 'node-2');
-- The waiting is bounded, and a lock is nobody's twice, not even its holder's.
SELECT acquired, holder FROM idem_lock('report', '1 minute', wait => '20 ms', owner => 'node-1');

-- Prolonged, never shortened.
SELECT idem_lock_extend('report', ttl => '1 hour') > clock_timestamp() + '59 min';
SELECT idem_lock_extend('report', ttl => '1 s') > clock_timestamp() + '59 min';
SELECT idem_lock_extend('report', token_of('report'), '1 s') > clock_timestamp() + '59 min';
-- Without a ttl it is the default lease, 60 s.
SELECT acquired, expires_at BETWEEN clock_timestamp() + '50 s' AND clock_timestamp() + '1 min' FROM idem_lock('default', NULL);
SELECT idem_lock_extend('default') BETWEEN clock_timestamp() + '50 s' AND clock_timestamp() + '1 min';

-- Given back once.
SELECT idem_unlock('report');
SELECT idem_unlock('report');
SELECT attempt($$SELECT idem_lock_extend('report')$$);
SELECT attempt($$SELECT idem_fence('report')$$);
-- To be had at once by the next, whose token is higher.
SELECT token_of('report') AS former \gset
SELECT acquired, token > :former, after_loss FROM idem_lock('report', '1 minute', owner => 'node-2');
SELECT attempt(format('SELECT idem_unlock(%L, %s)', 'report', :former));
SELECT attempt(format('SELECT idem_lock_extend(%L, %s)', 'report', :former));
SELECT attempt(format('SELECT idem_fence(%L, %s)', 'report', :former));
SELECT attempt(format('SELECT idem_fence(%L, %s)', 'report', token_of('report')));

-- Lost: prolonging it is refused although nobody took it; a fence still holds, and giving back works, late as it is.
SELECT acquired FROM idem_lock('brief', '1 ms');
CALL until_lapsed('brief', 'idem.lock');
SELECT attempt($$SELECT idem_lock_extend('brief')$$);
SELECT attempt($$SELECT idem_fence('brief')$$);
SELECT idem_unlock('brief');
-- Lost and taken at once by the first who looks.
SELECT acquired, after_loss FROM idem_lock('brief', '1 ms');
SELECT token_of('brief') AS former \gset
CALL until_lapsed('brief', 'idem.lock');
SELECT acquired, after_loss, token > :former FROM idem_lock('brief', '1 minute');
SELECT attempt(format('SELECT idem_unlock(%L, %s)', 'brief', :former));

-- With a delay a lost lock stays shut that much longer; the holder's own end stays what it was.
SELECT acquired FROM idem_lock('slow', '1 ms', delay => '1 hour');
CALL until_lapsed('slow', 'idem.lock');
SELECT acquired, expires_at < clock_timestamp(), retry_after BETWEEN '59 min' AND '1 hour' FROM idem_lock('slow', '1 ms');
SELECT attempt($$SELECT idem_lock_extend('slow')$$);
-- One that was given back does not, and the next holder sets its own delay.
SELECT idem_unlock('slow');
SELECT acquired, after_loss FROM idem_lock('slow', '1 hour', delay => '5 s');
SELECT idem_unlock('slow');
SELECT acquired, after_loss FROM idem_lock('slow', '1 ms');
CALL until_lapsed('slow', 'idem.lock');
SELECT acquired, after_loss FROM idem_lock('slow', '1 ms');

-- Given back, but shut until long enough after it was granted; the token is void at once.
SELECT acquired FROM idem_lock('nightly', '1 minute', owner => 'node-1', data => '1', delay => '1 day');
SELECT token_of('nightly') AS former \gset
SELECT idem_unlock('nightly', at_least => '1 hour');
SELECT acquired, holder, data, retry_after BETWEEN '59 min' AND '1 hour' FROM idem_lock('nightly', '1 minute');
SELECT kind, holder, remaining > '59 min' AS remaining FROM idem_locks WHERE name = 'nightly';
SELECT attempt(format('SELECT idem_lock_extend(%L, %s)', 'nightly', :former));
SELECT attempt(format('SELECT idem_unlock(%L, %s)', 'nightly', :former));
SELECT attempt(format('SELECT idem_fence(%L, %s)', 'nightly', :former));
-- Whoever has it next has not taken it from somebody who was lost.
SELECT acquired FROM idem_lock('rest', '1 minute');
SELECT idem_unlock('rest', at_least => '2 s');
CALL until_lapsed('rest', 'idem.lock');
SELECT acquired, after_loss FROM idem_lock('rest', '1 minute');
-- Held long enough already.
SELECT acquired FROM idem_lock('long', '1 minute');
SELECT idem_unlock('long', at_least => '0');
SELECT acquired FROM idem_lock('long', '1 minute');
SELECT idem_unlock('long', at_least => '1 us');
SELECT acquired FROM idem_lock('long', '1 minute');

-- Rolled back: never held, and the token stays burnt.
BEGIN;
SELECT acquired FROM idem_lock('rolled', '1 minute');
SELECT token_of('rolled') AS burnt \gset
ROLLBACK;
SELECT attempt(format('SELECT idem_lock_extend(%L, %s)', 'rolled', :burnt));
SELECT attempt(format('SELECT idem_fence(%L, %s)', 'rolled', :burnt));
SELECT attempt(format('SELECT idem_unlock(%L, %s)', 'rolled', :burnt));
SELECT acquired, token > :burnt FROM idem_lock('rolled', '1 minute');
BEGIN;
SELECT idem_unlock('rolled');
SAVEPOINT s;
SELECT acquired FROM idem_lock('rolled', '1 minute');
ROLLBACK TO s;
SELECT acquired FROM idem_lock('rolled', '1 minute');
ROLLBACK;
-- Held again, by the token that was current before.
SELECT acquired FROM idem_lock('rolled', '1 minute');
SELECT idem_unlock('rolled', token_of('rolled'));

-- In the transaction that took it the lock is held whatever the clock says.
BEGIN;
SELECT acquired FROM idem_lock('quick', '1 ms');
CALL until_lapsed('quick', 'idem.lock');
SELECT acquired FROM idem_lock('quick', '1 ms');
SELECT idem_lock_extend('quick', ttl => '1 minute') > clock_timestamp();
SELECT idem_fence('quick');
COMMIT;
SELECT idem_unlock('quick');

-- At every isolation level, with a snapshot older than what the lock has become.
CREATE FUNCTION cycle(lock text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    held idem_lock_grant;
BEGIN
    held := idem_lock(lock, '1 minute');
    PERFORM idem_fence(lock, held.token), idem_lock_extend(lock, held.token, '2 minutes');
    RETURN held.acquired::text || idem_unlock(lock, held.token);
END $$;
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT cycle('cycle'), cycle('cycle'); COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT cycle('cycle'), cycle('cycle'); COMMIT;
BEGIN READ ONLY;
SELECT idem_lock('r', '1 minute');
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_lock_extend('r');
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_unlock('r');
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_fence('r');
ROLLBACK;

-- Many locks in one transaction take no room in the lock table, which here has 64 places for each of 100 sessions.
SELECT count(*) FILTER (WHERE acquired) FROM generate_series(1, 20000) AS i, idem_lock('many-' || i, '1 hour');
BEGIN;
SELECT count(*) FILTER (WHERE idem_unlock('many-' || i, token_of('many-' || i))) FROM generate_series(1, 100) AS i;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;

-- Names: any text from 1 to 512 bytes, compared byte by byte.
SELECT acquired, idem_unlock(name) FROM (VALUES ('ü'), ('a b'), (E'tab\there'), ('''"\;--'), (repeat('x', 512)), (repeat('ü', 256))) AS v(name),
    idem_lock(name, '1 minute');
SELECT acquired FROM idem_lock('Report', '1 minute');
SELECT attempt($$SELECT idem_lock(NULL, '1 minute')$$);
SELECT attempt($$SELECT idem_lock('', '1 minute')$$);
SELECT attempt($$SELECT idem_lock(repeat('x', 513), '1 minute')$$);
SELECT attempt($$SELECT idem_lock('x', '0')$$);
SELECT attempt($$SELECT idem_lock('x', '-1 s')$$);
SELECT attempt($$SELECT idem_lock('x', '20000 years')$$);
SELECT attempt($$SELECT idem_lock('x', '1 s', wait => '-1 s')$$);
SELECT attempt($$SELECT idem_lock('x', '1 s', owner => repeat('x', 257))$$);
SELECT attempt($$SELECT idem_lock('x', '1 s', delay => '-1 s')$$);
SELECT attempt($$SELECT idem_lock('x', '1 s', delay => '1 year')$$);
SELECT attempt($$SELECT idem_lock('x', '1 s', data => to_jsonb(repeat('x', 1100000)))$$);
SELECT attempt($$SELECT idem_lock_extend('never')$$);
SELECT attempt($$SELECT idem_lock_extend('Report', ttl => '0')$$);
SELECT attempt($$SELECT idem_unlock('never')$$);
SELECT attempt($$SELECT idem_unlock('never', 1)$$);
SELECT attempt($$SELECT idem_unlock(NULL)$$);
SELECT attempt($$SELECT idem_unlock('Report', at_least => '-1 s')$$);
SELECT attempt($$SELECT idem_fence('')$$);
SELECT attempt($$SELECT idem_fence('never')$$);

-- The scope is the extension's own, but its settings are the operator's.
CREATE ROLE regress_lock_user;
SELECT idem_grant('regress_lock_user');
SET ROLE regress_lock_user;
SELECT attempt($$SELECT outcome FROM idem_begin('report', 'idem.lock')$$);
SELECT acquired FROM idem_lock('mine', '1 minute');
SELECT attempt($$SELECT idem_finish('report', '1', 'idem.lock', 1)$$);
SELECT attempt($$SELECT idem_fail('report', '1', 'idem.lock', 1)$$);
SELECT attempt($$SELECT idem_release('report', 'idem.lock', 1)$$);
SELECT attempt($$SELECT idem_extend('report', 'idem.lock', 1)$$);
SELECT attempt($$SELECT idem_checkpoint('report', 'c', NULL, 'idem.lock', 1)$$);
SELECT attempt($$SELECT token FROM idem_get('report', 'idem.lock')$$);
RESET ROLE;
SELECT idem_scope_set('idem.lock', lease => '2 hours', max_attempts => 1, on_abandoned => 'hold', max_result_bytes => 10);
SELECT acquired, expires_at > clock_timestamp() + '119 min' FROM idem_lock('scoped', NULL);
SELECT attempt($$SELECT idem_lock('y', '1 s', data => '"more than ten bytes"')$$);
-- A lost lock is nobody's work to be decided on.
SELECT acquired FROM idem_lock('held', '1 ms');
CALL until_lapsed('held', 'idem.lock');
SELECT acquired, after_loss FROM idem_lock('held', '1 ms');
SELECT idem_scope_reset('idem.lock');
-- What operators do to the record, they do to the lock.
SELECT idem_forget('scoped', 'idem.lock', force => true);
SELECT acquired, after_loss FROM idem_lock('scoped', '1 minute');
SELECT acquired FROM idem_lock('decided', '1 ms');
CALL until_lapsed('decided', 'idem.lock');
SELECT idem_resolve('decided', 'finish', 'idem.lock', '1');
SELECT acquired, after_loss FROM idem_lock('decided', '1 minute');

-- One record for each name, and the lock outlives none of the records' rules.
SELECT count(*) FROM idem_records WHERE scope = 'idem.lock' AND key = 'report';
DROP OWNED BY regress_lock_user;
DROP ROLE regress_lock_user;
DROP FUNCTION cycle, token_of;
