\set key random(1, :records)
SELECT status, token, attempt, code, result, body, status = 'failed', checkpoint, checkpoint_data, owner, lease_expires_at, expires_at, NULL::interval FROM idem_records WHERE key = :key AND scope = 'default';
