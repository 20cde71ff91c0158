\set name random(1, 9223372036854775806)
INSERT INTO locks AS present (name, token, owner, expires_at)
VALUES (:name, nextval('lock_tokens'), current_user, clock_timestamp() + interval '30 seconds')
ON CONFLICT (name) DO UPDATE
SET token = excluded.token, owner = excluded.owner, expires_at = excluded.expires_at
WHERE present.expires_at <= clock_timestamp()
RETURNING token \gset
DELETE FROM locks WHERE name = :name AND token = :token;
