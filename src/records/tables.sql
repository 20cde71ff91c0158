-- CACHE must stay 1: tokens of successive claims of a key have to grow, whichever session draws them.
CREATE SEQUENCE @extschema@.idem_tokens AS bigint CACHE 1;
REVOKE ALL ON SEQUENCE @extschema@.idem_tokens FROM PUBLIC;
COMMENT ON SEQUENCE @extschema@.idem_tokens IS
    'source of fencing tokens; never set it back, or an old token could match a new claim';

-- No CHECK on status: evaluating one costs as much as the whole insert, because its expression is read and
-- planned anew for each statement. The functions refuse a status that they do not know.
-- Finishing must stay a heap-only update, so no index may name a column that changes after the claim, and
-- pages keep room for the second version.
CREATE TABLE @extschema@.idem_records (
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    token bigint NOT NULL,
    attempt integer NOT NULL,
    created_at timestamptz NOT NULL,
    lease_expires_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    owner text COLLATE "C",
    fingerprint bytea,
    checkpoint text COLLATE "C",
    checkpoint_data jsonb,
    -- What finishing changes stands last: the log of an update leaves out what the versions begin with alike.
    status text COLLATE "C" NOT NULL,
    completed_at timestamptz,
    code integer,
    result jsonb,
    body bytea,
    -- The key comes first because it tells records apart sooner than the scope, which many of them share.
    PRIMARY KEY (key, scope)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);
REVOKE ALL ON TABLE @extschema@.idem_records FROM PUBLIC;
-- A column of the row type in anybody's table would stand in the way of every ALTER TABLE.
REVOKE ALL ON TYPE @extschema@.idem_records FROM PUBLIC;
CREATE INDEX idem_records_expires_at_idx ON @extschema@.idem_records (expires_at);
COMMENT ON TABLE @extschema@.idem_records IS
    'one row per claimed key; written by the idem_ functions only';
COMMENT ON COLUMN @extschema@.idem_records.status IS 'in_progress, finished, failed or released';
COMMENT ON COLUMN @extschema@.idem_records.token IS 'fencing token of the current claim';
COMMENT ON COLUMN @extschema@.idem_records.attempt IS 'how often the work was claimed since it was new';
COMMENT ON COLUMN @extschema@.idem_records.lease_expires_at IS
    'when another session may take the claim over; -infinity: an operator decided that it may';
COMMENT ON COLUMN @extschema@.idem_records.expires_at IS
    'when the record counts as absent; fixed by the first claim';

-- What scopes with on_expiry => 'archive' keep of expired records. One partition for each month (UTC) in which
-- records were moved, named idem_archive_YYYY_MM; made when cleanup first needs it. None belongs to the extension, so
-- that all are dumped like any table. The index by key is made there and not
-- here: it would be made a second time, and fail, where a dump is restored.
CREATE TABLE @extschema@.idem_archive (
    archived_at timestamptz NOT NULL,
    LIKE @extschema@.idem_records
) PARTITION BY RANGE (archived_at);
REVOKE ALL ON TABLE @extschema@.idem_archive FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_archive IS
    'expired records of scopes with on_expiry => ''archive'', by month of their move';

CREATE TABLE @extschema@.idem_scopes (
    scope text COLLATE "C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(scope) OPERATOR(pg_catalog.>=) 1
            AND pg_catalog.octet_length(scope) OPERATOR(pg_catalog.<=) 128),
    retain interval CHECK (retain OPERATOR(pg_catalog.>) '0'::pg_catalog.interval),
    lease interval CHECK (lease OPERATOR(pg_catalog.>) '0'::pg_catalog.interval),
    max_attempts integer CHECK (max_attempts OPERATOR(pg_catalog.>=) 1),
    on_abandoned text COLLATE "C" NOT NULL DEFAULT 'retry'
        CHECK (on_abandoned OPERATOR(pg_catalog.=) 'retry' OR on_abandoned OPERATOR(pg_catalog.=) 'hold'),
    max_result_bytes integer CHECK (max_result_bytes OPERATOR(pg_catalog.>=) 0),
    on_expiry text COLLATE "C" NOT NULL DEFAULT 'delete'
        CHECK (on_expiry OPERATOR(pg_catalog.=) 'delete' OR on_expiry OPERATOR(pg_catalog.=) 'archive'),
    require_fingerprint boolean NOT NULL DEFAULT false,
    member regrole
);
REVOKE ALL ON TABLE @extschema@.idem_scopes FROM PUBLIC;
REVOKE ALL ON TYPE @extschema@.idem_scopes FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_scopes IS
    'policy of each scope that differs from the settings idem.*; written by idem_scope_set';

CREATE FUNCTION @extschema@.idem_scopes_changed() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
REVOKE ALL ON FUNCTION @extschema@.idem_scopes_changed() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.idem_scopes_changed() IS
    'trigger function that makes every session read a changed scope again';
CREATE TRIGGER idem_scopes_changed
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON @extschema@.idem_scopes
    FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.idem_scopes_changed();
ALTER TABLE @extschema@.idem_scopes ENABLE ALWAYS TRIGGER idem_scopes_changed;

SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_records'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_tokens'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_scopes'::pg_catalog.regclass, '');
