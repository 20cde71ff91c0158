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

REVOKE ALL ON FUNCTION
    @extschema@.idem_stream_set(text, text, integer, interval, text, interval, boolean, regrole),
    @extschema@.idem_stream_reset(text)
FROM PUBLIC;
