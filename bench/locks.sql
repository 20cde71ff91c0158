-- What people write by hand for locks that outlive a transaction: a row a lock, an end that is looked at before somebody
-- else may have it, and a token that tells a late holder from the present one.
CREATE EXTENSION pg_idem;
CREATE SEQUENCE lock_tokens;
CREATE TABLE locks (
    name text PRIMARY KEY,
    token bigint NOT NULL,
    owner text NOT NULL,
    expires_at timestamptz NOT NULL
);
