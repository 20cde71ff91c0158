-- Tables whose rows expire. attnum follows a renamed column. table_oid repeats rel as a number once the attachment is
-- confirmed. A row that is loaded from a dump is not, and the table is left alone until somebody says that the
-- restore is complete; the names then tell whether it is the table that was meant.
CREATE TABLE @extschema@.idem_expiries (
    rel regclass PRIMARY KEY,
    table_oid oid NOT NULL,
    table_name text COLLATE "C" NOT NULL,
    attnum smallint NOT NULL,
    col name NOT NULL,
    after interval NOT NULL,
    batch integer CHECK (batch OPERATOR(pg_catalog.>=) 1),
    action text COLLATE "C" NOT NULL
        CHECK (action OPERATOR(pg_catalog.=) 'delete' OR action OPERATOR(pg_catalog.=) 'archive'),
    archive_name text COLLATE "C",
    archive regclass CHECK ((archive IS NOT NULL) OPERATOR(pg_catalog.=) (action OPERATOR(pg_catalog.=) 'archive'))
);
REVOKE ALL ON TABLE @extschema@.idem_expiries FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_expiries IS
    'tables whose rows expire; written by idem_expire_attach and idem_expire_detach';

CREATE FUNCTION @extschema@.idem_expiry_loaded() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
REVOKE ALL ON FUNCTION @extschema@.idem_expiry_loaded() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.idem_expiry_loaded() IS
    'trigger function that leaves a new attachment to be confirmed';
CREATE TRIGGER idem_expiry_loaded BEFORE INSERT ON @extschema@.idem_expiries
    FOR EACH ROW EXECUTE FUNCTION @extschema@.idem_expiry_loaded();
ALTER TABLE @extschema@.idem_expiries ENABLE ALWAYS TRIGGER idem_expiry_loaded;

-- One row while cleanup of this database is paused.
CREATE TABLE @extschema@.idem_cleanup_paused (
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL
);
CREATE UNIQUE INDEX idem_cleanup_paused_once ON @extschema@.idem_cleanup_paused ((true));
REVOKE ALL ON TABLE @extschema@.idem_cleanup_paused FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_cleanup_paused IS
    'one row while cleanup of this database is paused; written by idem_cleanup_pause and idem_cleanup_resume';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_expiries'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_cleanup_paused'::pg_catalog.regclass, '');
