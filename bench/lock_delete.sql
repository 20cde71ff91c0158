INSERT INTO locks AS present (name, token, owner, expires_at)
VALUES (:client_id, nextval('lock_tokens'), current_user, clock_timestamp() + interval '30 seconds')
ON CONFLICT (name) DO UPDATE
SET token = excluded.token, owner = excluded.owner, expires_at = excluded.expires_at
WHERE present.expires_at <= clock_timestamp()
RETURNING token \gset
DELETE FROM locks WHERE name = :client_id AND token = :token;
