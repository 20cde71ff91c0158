CREATE TYPE @extschema@.idem_claim AS (
    outcome text,
    token bigint,
    attempt integer,
    code integer,
    result jsonb,
    body bytea,
    failed boolean,
    checkpoint text,
    checkpoint_data jsonb,
    owner text,
    lease_expires_at timestamptz,
    expires_at timestamptz,
    retry_after interval
);
REVOKE ALL ON TYPE @extschema@.idem_claim FROM PUBLIC;
COMMENT ON TYPE @extschema@.idem_claim IS
    'answer of idem_begin and idem_execute: outcome says what to do, the other columns apply where they are not null';

CREATE TYPE @extschema@.idem_record AS (
    scope text,
    key text,
    status text,
    token bigint,
    attempt integer,
    owner text,
    created_at timestamptz,
    lease_expires_at timestamptz,
    expires_at timestamptz,
    completed_at timestamptz,
    fingerprint bytea,
    code integer,
    result jsonb,
    body bytea,
    checkpoint text,
    checkpoint_data jsonb
);
REVOKE ALL ON TYPE @extschema@.idem_record FROM PUBLIC;
COMMENT ON TYPE @extschema@.idem_record IS 'one idempotency record, as idem_get shows it';
