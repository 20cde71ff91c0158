CREATE TYPE @extschema@.idem_lock_grant AS (
    acquired boolean,
    token bigint,
    expires_at timestamptz,
    holder text,
    data jsonb,
    after_loss boolean,
    depth integer,
    retry_after interval
);
REVOKE ALL ON TYPE @extschema@.idem_lock_grant FROM PUBLIC;
COMMENT ON TYPE @extschema@.idem_lock_grant IS
    'answer of the functions that take a lock: whether it was acquired; the other columns apply where they are not null';
