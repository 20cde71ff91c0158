CREATE TYPE @extschema@.idem_acceptance AS (
    outcome text,
    first_seq bigint,
    last_seq bigint,
    result jsonb,
    remembered boolean
);
REVOKE ALL ON TYPE @extschema@.idem_acceptance FROM PUBLIC;
COMMENT ON TYPE @extschema@.idem_acceptance IS
    'answer of idem_accept: whether the batch is new, which of its numbers are, and what was kept of a repeated one';
