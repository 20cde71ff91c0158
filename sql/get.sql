-- The record of a key, read only.
SELECT count(*) FROM idem_get('never', 'get');
SELECT token AS token FROM idem_begin('k', 'get', '\x01', owner => 'me') \gset
SELECT scope, key, status, token = :token AS token, attempt, owner, created_at <= now() AS created,
    lease_expires_at > now() AS lease,
    expires_at > now() AS expires, completed_at, fingerprint, code, result, body, checkpoint, checkpoint_data
FROM idem_get('k', 'get');
SELECT idem_checkpoint('k', 'half', '[1]', 'get');
SELECT idem_finish('k', '{"a": 1}', 'get', code => 201, body => '\x00');
-- All of the record, column by column.
SELECT count(*) FROM idem_get('k', 'get') AS g JOIN idem_records AS r ON to_jsonb(g) = to_jsonb(r);
SELECT string_agg(attname, ', ' ORDER BY attnum) AS columns FROM pg_attribute
WHERE attrelid = 'idem_record'::regclass AND attnum > 0;
SELECT string_agg(attname, ', ' ORDER BY attnum) AS columns FROM pg_attribute
WHERE attrelid = 'idem_claim'::regclass AND attnum > 0;
-- Large values.
SELECT outcome FROM idem_begin('large', 'get');
SELECT idem_finish('large', to_jsonb(repeat('x', 500000)), 'get', body => decode(repeat('00ff', 200000), 'hex'));
SELECT length(result #>> '{}'), octet_length(body) FROM idem_get('large', 'get');
-- It belongs to the snapshot of its statement.
SELECT (SELECT outcome FROM idem_begin('same statement', 'get')),
    (SELECT count(*) FROM idem_get('same statement', 'get'));
SELECT status FROM idem_get('same statement', 'get');
BEGIN;
SELECT outcome FROM idem_begin('same transaction', 'get');
SELECT status FROM idem_get('same transaction', 'get');
ROLLBACK;
SELECT count(*) FROM idem_get('same transaction', 'get');
-- Expired is absent, given back is not: its tokens still count.
UPDATE idem_records SET expires_at = clock_timestamp() WHERE scope = 'get' AND key = 'large';
SELECT count(*) FROM idem_get('large', 'get');
SELECT outcome FROM idem_begin('abandoned', 'get', lease => '1 us');
SELECT status FROM idem_get('abandoned', 'get');
UPDATE idem_records SET expires_at = clock_timestamp() WHERE scope = 'get' AND key = 'abandoned';
SELECT count(*) FROM idem_get('abandoned', 'get');
-- In a cursor, and joined.
BEGIN;
DECLARE c CURSOR FOR SELECT status, code FROM idem_get('k', 'get');
FETCH ALL FROM c;
COMMIT;
SELECT k, status FROM unnest(ARRAY['k', 'never', 'same statement']) AS k LEFT
    JOIN idem_get(k, 'get') ON true ORDER BY k;
BEGIN READ ONLY;
SELECT status FROM idem_get('k', 'get');
COMMIT;
