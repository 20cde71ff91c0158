-- Numbers for generators of ids: the lowest free one, for as long as its lease lasts.

\pset format unaligned
\pset tuples_only on
\pset null NULL

-- The lowest, and the next.
SELECT acquired, node, name, token > 0, clock_timestamp() - claimed_at BETWEEN '0' AND '1 min',
    expires_at - claimed_at FROM idem_node_claim();
SELECT acquired, node, name, expires_at - claimed_at FROM idem_node_claim(ttl => '1 hour', owner => 'web-1');
SELECT name, kind, holder, remaining > '59 min' FROM idem_locks WHERE holder = 'web-1';
-- The claim says what the record says.
SELECT claimed_at, expires_at, token FROM idem_node_claim('same') \gset said_
SELECT acquired_at = :'said_claimed_at', expires_at = :'said_expires_at', token = :said_token
FROM idem_locks WHERE name = 'same:0';

-- It is a durable lock: prolonged, fenced, given back and taken again, with a greater token.
SELECT node, name, token FROM idem_node_claim('lock', '1 min') \gset
SELECT idem_lock_extend(:'name', :token, '1 hour') > clock_timestamp() + '59 min';
SELECT idem_fence(:'name', :token);
SELECT acquired FROM idem_lock(:'name', '1 min');
SELECT node FROM idem_node_claim('lock');
SELECT idem_unlock(:'name', :token);
SELECT node, token > :token FROM idem_node_claim('lock');
-- A number that was locked by its name is not given out.
SELECT acquired FROM idem_lock('lock:2', '1 hour');
SELECT node FROM idem_node_claim('lock');

-- Lapsed, it is taken over, with a window that begins after the former one.
SELECT node, name, token, expires_at FROM idem_node_claim('lapse', '1 ms') \gset
CALL until_lapsed(:'name', 'idem.lock');
SELECT acquired, node, token > :token, claimed_at >= :'expires_at' FROM idem_node_claim('lapse');
SELECT attempt(format('SELECT idem_lock_extend(%L, %s)', :'name', :token)) ~ '^ID410';
SELECT attempt(format('SELECT idem_fence(%L, %s)', :'name', :token)) ~ '^ID021';
-- Given back and resting, it is not free.
SELECT name, token FROM idem_node_claim('rest', '1 min') \gset
SELECT idem_unlock(:'name', :token, at_least => '1 hour');
SELECT node FROM idem_node_claim('rest');

-- Ranges, and an answer when all are taken.
SELECT node FROM idem_node_claim('range', first => 7, last => 8);
SELECT node FROM idem_node_claim('range', first => 7, last => 8);
SELECT * FROM idem_node_claim('range', first => 7, last => 8);
SELECT node FROM idem_node_claim('range', first => 6, last => 8);
SELECT node FROM idem_node_claim('range', first => 1023);
SELECT acquired FROM idem_node_claim('range', first => 1023, last => 1023);
SELECT node FROM idem_node_claim('range', first => 0, last => 0);
SELECT array_agg(node ORDER BY node) = array_agg(i ORDER BY i), bool_and(node = i)
FROM generate_series(0, 1023) AS i, idem_node_claim('all', '1 hour', owner => i::text);
SELECT acquired FROM idem_node_claim('all');
SELECT idem_unlock('all:1000', token) FROM idem_locks WHERE name = 'all:1000';
SELECT node FROM idem_node_claim('all');

-- Pools do not meet, whatever they are called.
SELECT node, name FROM (VALUES ('a'), ('a:0'), ('a/0'), ('A'), ('Flüße'), ('%'), (' ')) AS v (pool), idem_node_claim(pool)
ORDER BY pool COLLATE "C";
SELECT node, name = idem_key('Flüße', '1') FROM idem_node_claim('Flüße');
SELECT node, length(name) FROM idem_node_claim(repeat('x', 507), first => 1023);
SELECT node, length(name) FROM idem_node_claim(repeat(':', 169), first => 1023);

-- Bad arguments.
SELECT attempt('SELECT idem_node_claim(NULL)');
SELECT attempt($$SELECT idem_node_claim('')$$);
SELECT attempt($$SELECT idem_node_claim(repeat('x', 508))$$);
SELECT attempt($$SELECT idem_node_claim(repeat(':', 170))$$);
SELECT attempt($$SELECT idem_node_claim('bad', NULL)$$);
SELECT attempt($$SELECT idem_node_claim('bad', '0')$$);
SELECT attempt($$SELECT idem_node_claim('bad', '-1 s')$$);
SELECT attempt($$SELECT idem_node_claim('bad', '20000 years')$$);
SELECT attempt($$SELECT idem_node_claim('bad', first => NULL)$$);
SELECT attempt($$SELECT idem_node_claim('bad', last => NULL)$$);
SELECT attempt($$SELECT idem_node_claim('bad', first => -1)$$);
SELECT attempt($$SELECT idem_node_claim('bad', last => 1024)$$);
SELECT attempt($$SELECT idem_node_claim('bad', first => 6, last => 5)$$);
SELECT attempt($$SELECT idem_node_claim('bad', owner => '')$$);
SELECT count(*) FROM idem_records WHERE key LIKE 'bad:%';
BEGIN READ ONLY;
SELECT idem_node_claim('bad');
ROLLBACK;

-- The newest state counts at every isolation level, also what this transaction did.
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT a.node, b.node FROM idem_node_claim('level') AS a, idem_node_claim('level') AS b;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT node FROM idem_node_claim('level');
SELECT node, idem_unlock(name, token) FROM idem_node_claim('level');
SELECT node FROM idem_node_claim('level');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT node FROM idem_node_claim('level');
SELECT node, idem_unlock(name, token) FROM idem_node_claim('level');
SELECT node FROM idem_node_claim('level');
SELECT acquired FROM idem_node_claim('level', last => 3);
COMMIT;
-- In its own transaction a number is held whatever the clock says.
BEGIN;
SELECT node, name FROM idem_node_claim('own', '1 ms') \gset
CALL until_lapsed(:'name', 'idem.lock');
SELECT node FROM idem_node_claim('own');
COMMIT;
-- What is rolled back is free.
BEGIN;
SELECT node FROM idem_node_claim('undone');
SAVEPOINT s;
SELECT node FROM idem_node_claim('undone');
ROLLBACK TO s;
SELECT node FROM idem_node_claim('undone');
ROLLBACK;
SELECT node FROM idem_node_claim('undone');

-- Rights: the function, and the scope of the locks.
CREATE ROLE regress_idem_node;
SET ROLE regress_idem_node;
SELECT idem_node_claim('rights');
RESET ROLE;
SELECT idem_grant('regress_idem_node');
SET ROLE regress_idem_node;
SELECT node FROM idem_node_claim('rights');
RESET ROLE;
CREATE ROLE regress_idem_other;
SELECT idem_scope_set('idem.lock', member => 'regress_idem_other');
SET ROLE regress_idem_node;
\set VERBOSITY sqlstate
SELECT idem_node_claim('rights');
\set VERBOSITY default
RESET ROLE;
SELECT idem_scope_reset('idem.lock');
DROP OWNED BY regress_idem_node;
DROP ROLE regress_idem_node, regress_idem_other;
DELETE FROM idem_records WHERE scope = 'idem.lock';
