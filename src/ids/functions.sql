-- Ids are drawn with the caller's rights, as the default of a column is computed.
CREATE FUNCTION @extschema@.idem_snowflake(
    seq regclass DEFAULT '@extschema@.idem_snowflake_seq'
) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake(regclass) IS
    'the next id: 41 bits of milliseconds, 10 of the server''s number, 12 of a counter';

CREATE FUNCTION @extschema@.idem_snowflake_batch(
    n integer,
    seq regclass DEFAULT '@extschema@.idem_snowflake_seq'
) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_batch(integer, regclass) IS
    'the next n ids, ascending';

CREATE FUNCTION @extschema@.idem_snowflake_create(
    name text,
    epoch timestamptz DEFAULT '2025-01-01 00:00:00+00'
) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_create(text, timestamptz) IS
    'make a sequence that makes ids, with the caller''s rights';

CREATE FUNCTION @extschema@.idem_snowflake_parts(
    id bigint,
    seq regclass DEFAULT '@extschema@.idem_snowflake_seq',
    OUT at timestamptz,
    OUT node integer,
    OUT counter integer
)
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_parts(bigint, regclass) IS
    'when and where an id was made';

CREATE FUNCTION @extschema@.idem_snowflake_floor(
    at timestamptz,
    seq regclass DEFAULT '@extschema@.idem_snowflake_seq'
) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_floor(timestamptz, regclass) IS
    'the least id of a millisecond, for ranges';

CREATE FUNCTION @extschema@.idem_snowflake_text(id bigint) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_text(bigint) IS
    'an id as 13 characters that sort like the number';

CREATE FUNCTION @extschema@.idem_snowflake_from_text(id text) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_snowflake_from_text(text) IS
    'the id that idem_snowflake_text wrote';

CREATE FUNCTION @extschema@.idem_uuid7(shift interval DEFAULT NULL) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_uuid7(interval) IS
    'a UUID of version 7, greater than the one before in this session';

CREATE FUNCTION @extschema@.idem_uuid7_floor(at timestamptz) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_uuid7_floor(timestamptz) IS
    'the least UUID of version 7 of a millisecond, for ranges';

CREATE FUNCTION @extschema@.idem_uuid_time(id uuid) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_uuid_time(uuid) IS
    'when a UUID of version 1, 6 or 7 was made; NULL for others';

CREATE FUNCTION @extschema@.idem_node_claim(
    pool text DEFAULT 'snowflake',
    ttl interval DEFAULT '5 min',
    first integer DEFAULT 0,
    last integer DEFAULT 1023,
    owner text DEFAULT NULL,
    OUT acquired boolean,
    OUT node integer,
    OUT name text,
    OUT token bigint,
    OUT claimed_at timestamptz,
    OUT expires_at timestamptz
)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_node_claim(text, interval, integer, integer, text) IS
    'take the lowest free number of a pool for a limited time, as a durable lock';

REVOKE ALL ON FUNCTION
    @extschema@.idem_snowflake(regclass),
    @extschema@.idem_snowflake_batch(integer, regclass),
    @extschema@.idem_snowflake_create(text, timestamptz),
    @extschema@.idem_snowflake_parts(bigint, regclass),
    @extschema@.idem_snowflake_floor(timestamptz, regclass),
    @extschema@.idem_snowflake_text(bigint),
    @extschema@.idem_snowflake_from_text(text),
    @extschema@.idem_uuid7(interval),
    @extschema@.idem_uuid7_floor(timestamptz),
    @extschema@.idem_uuid_time(uuid),
    @extschema@.idem_node_claim(text, interval, integer, integer, text)
FROM PUBLIC;
