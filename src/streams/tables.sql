CREATE TABLE @extschema@.idem_streams (
    stream text COLLATE "C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(stream) OPERATOR(pg_catalog.>=) 1
            AND pg_catalog.octet_length(stream) OPERATOR(pg_catalog.<=) 128),
    mode text COLLATE "C" NOT NULL DEFAULT 'strict'
        CHECK (mode OPERATOR(pg_catalog.=) 'strict' OR mode OPERATOR(pg_catalog.=) 'monotonic'),
    remember integer NOT NULL DEFAULT 5
        CHECK (remember OPERATOR(pg_catalog.>=) 0 AND remember OPERATOR(pg_catalog.<=) 1000),
    retain interval CHECK (retain OPERATOR(pg_catalog.>) '0'::pg_catalog.interval),
    too_old text COLLATE "C" NOT NULL DEFAULT 'duplicate'
        CHECK (too_old OPERATOR(pg_catalog.=) 'duplicate' OR too_old OPERATOR(pg_catalog.=) 'refuse'),
    message_retain interval CHECK (message_retain OPERATOR(pg_catalog.>) '0'::pg_catalog.interval),
    refresh boolean NOT NULL DEFAULT false,
    member regrole
);
REVOKE ALL ON TABLE @extschema@.idem_streams FROM PUBLIC;
REVOKE ALL ON TYPE @extschema@.idem_streams FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_streams IS
    'settings of each stream that differ from the defaults; written by idem_stream_set';
COMMENT ON COLUMN @extschema@.idem_streams.mode IS
    'strict: no number may be left out; monotonic: numbers only have to grow';
COMMENT ON COLUMN @extschema@.idem_streams.remember IS
    'how many of the last batches of a producer are remembered with their results';
COMMENT ON COLUMN @extschema@.idem_streams.too_old IS
    'what a repeated batch is that is not remembered any more: duplicate, or refused';

CREATE FUNCTION @extschema@.idem_streams_changed() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
REVOKE ALL ON FUNCTION @extschema@.idem_streams_changed() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.idem_streams_changed() IS
    'trigger function that makes every session read the settings of streams again';
CREATE TRIGGER idem_streams_changed
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON @extschema@.idem_streams
    FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.idem_streams_changed();
ALTER TABLE @extschema@.idem_streams ENABLE ALWAYS TRIGGER idem_streams_changed;

CREATE SEQUENCE @extschema@.idem_producer_ids AS bigint CACHE 1;
REVOKE ALL ON SEQUENCE @extschema@.idem_producer_ids FROM PUBLIC;
COMMENT ON SEQUENCE @extschema@.idem_producer_ids IS
    'source of producer ids; never set it back, or a producer that expired could be taken for a new one';

-- Accepting must stay a heap-only update, so no index may name a column that changes with each batch, and pages keep
-- room for further versions. That is why expires_at moves only when little of it is left.
CREATE TABLE @extschema@.idem_producers (
    producer_id bigint PRIMARY KEY,
    stream text COLLATE "C" NOT NULL,
    producer text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- What accepting changes stands last: the log of an update leaves out what the versions begin with alike.
    epoch integer NOT NULL,
    last_seq bigint NOT NULL,
    -- The batches remembered, oldest first. The two last arrays are null while they would hold nulls only.
    firsts bigint[] NOT NULL,
    lasts bigint[] NOT NULL,
    hashes bytea[],
    results jsonb[],
    UNIQUE (stream, producer)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05
);
REVOKE ALL ON TABLE @extschema@.idem_producers FROM PUBLIC;
REVOKE ALL ON TYPE @extschema@.idem_producers FROM PUBLIC;
CREATE INDEX idem_producers_expires_at_idx ON @extschema@.idem_producers (expires_at);
COMMENT ON TABLE @extschema@.idem_producers IS
    'one row for each producer of a stream: how far it got; written by the idem_ functions only';
COMMENT ON COLUMN @extschema@.idem_producers.epoch IS
    'which registration of the producer is the present one; earlier ones are fenced';
COMMENT ON COLUMN @extschema@.idem_producers.last_seq IS 'greatest number accepted; 0 before the first';
COMMENT ON COLUMN @extschema@.idem_producers.expires_at IS 'when the producer counts as unknown unless it is used before';
COMMENT ON COLUMN @extschema@.idem_producers.firsts IS 'first number of each remembered batch, as it was sent';
COMMENT ON COLUMN @extschema@.idem_producers.lasts IS 'last number of each remembered batch';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_streams'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_producer_ids'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_producers'::pg_catalog.regclass, '');
