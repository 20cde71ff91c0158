CREATE TYPE @extschema@.idem_message_acceptance AS (
    outcome text,
    first_seen timestamptz,
    result jsonb
);
REVOKE ALL ON TYPE @extschema@.idem_message_acceptance FROM PUBLIC;
COMMENT ON TYPE @extschema@.idem_message_acceptance IS
    'answer of idem_accept_id: whether the message is new, when it was first seen, and what was kept of a repeated one';

CREATE FUNCTION @extschema@.idem_accept_id(
    stream text,
    msg_id text,
    retain interval DEFAULT NULL,
    hash bytea DEFAULT NULL,
    result jsonb DEFAULT NULL
) RETURNS @extschema@.idem_message_acceptance
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_accept_id(text, text, interval, bytea, jsonb) IS
    'accepts a message unless its stream has seen the id; a repeated one gets the result that was kept';

CREATE FUNCTION @extschema@.idem_accept_forget(stream text, msg_id text) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_accept_forget(text, text) IS
    'makes a message id unknown again, so that the message can be delivered once more';

REVOKE ALL ON FUNCTION
    @extschema@.idem_accept_id(text, text, interval, bytea, jsonb),
    @extschema@.idem_accept_forget(text, text)
FROM PUBLIC;
