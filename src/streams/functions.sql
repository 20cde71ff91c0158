CREATE FUNCTION @extschema@.idem_stream_set(
    stream text,
    mode text DEFAULT NULL,
    remember integer DEFAULT NULL,
    retain interval DEFAULT NULL,
    too_old text DEFAULT NULL,
    message_retain interval DEFAULT NULL,
    refresh boolean DEFAULT NULL,
    member regrole DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_stream_set(text, text, integer, interval, text, interval, boolean, regrole) IS
    'change the settings of a stream; what is left out stays as it is';

CREATE FUNCTION @extschema@.idem_stream_reset(stream text) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_stream_reset(text) IS
    'put a stream back to the defaults; false when it had no settings of its own';

CREATE FUNCTION @extschema@.idem_producer(
    producer text,
    stream text DEFAULT 'default',
    OUT producer_id bigint,
    OUT epoch integer,
    OUT last_seq bigint
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_producer(text, text) IS
    'register a producer of a stream, and fence its earlier registrations; says how far it got';

CREATE FUNCTION @extschema@.idem_accept(
    stream text,
    producer_id bigint,
    epoch integer,
    seq bigint,
    last_seq bigint DEFAULT NULL,
    hash bytea DEFAULT NULL,
    result jsonb DEFAULT NULL
) RETURNS @extschema@.idem_acceptance
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_accept(text, bigint, integer, bigint, bigint, bytea, jsonb) IS
    'accept a message or batch of a producer once; a repeated one gets what was kept of it';

CREATE FUNCTION @extschema@.idem_accept_result(
    stream text,
    producer_id bigint,
    epoch integer,
    seq bigint,
    result jsonb
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_accept_result(text, bigint, integer, bigint, jsonb) IS
    'keep the result of an accepted batch that was not known when it was accepted';

CREATE FUNCTION @extschema@.idem_accept_many(
    stream text,
    producer_id bigint,
    epoch integer,
    seqs bigint[]
) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_accept_many(text, bigint, integer, bigint[]) IS
    'accept many messages of a producer at once; returns the numbers that are new, in order';

REVOKE ALL ON FUNCTION
    @extschema@.idem_stream_set(text, text, integer, interval, text, interval, boolean, regrole),
    @extschema@.idem_stream_reset(text),
    @extschema@.idem_producer(text, text),
    @extschema@.idem_accept(text, bigint, integer, bigint, bigint, bytea, jsonb),
    @extschema@.idem_accept_result(text, bigint, integer, bigint, jsonb),
    @extschema@.idem_accept_many(text, bigint, integer, bigint[])
FROM PUBLIC;
