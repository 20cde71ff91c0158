-- Leaves exactly :records finished keys '1', '2', ... in both tables. They stay for longer than the benchmark
-- runs, so that none of them has to be claimed anew.
TRUNCATE idem_records, requests;
INSERT INTO idem_records (scope, key, status, token, attempt, owner, created_at, lease_expires_at, expires_at,
    completed_at, code, result)
SELECT 'default', n, 'finished', nextval('idem_tokens'), 1, 'pgbench', now(), now() + interval '1 minute',
    now() + interval '30 days', now(), 200, '{"id": 42}'
FROM generate_series(1, :records) AS n;
INSERT INTO requests (key, status, code, result)
SELECT n, 'finished', 200, '{"id": 42}' FROM generate_series(1, :records) AS n;
VACUUM (FREEZE, ANALYZE) idem_records, requests;
