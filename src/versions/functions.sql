CREATE FUNCTION @extschema@.idem_version_check() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION @extschema@.idem_version_check() IS
    'trigger function that raises the version of a row and refuses stale ones; arguments: column, mode, ignored columns';

CREATE FUNCTION @extschema@.idem_version_attach(
    rel regclass,
    col name DEFAULT 'version',
    mode text DEFAULT 'where',
    ignore name[] DEFAULT '{}',
    fill boolean DEFAULT false
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_version_attach(regclass, name, text, name[], boolean) IS
    'have every update of a table raise the version of its rows, and refuse those that come from a stale one';

CREATE FUNCTION @extschema@.idem_version_detach(rel regclass, col name DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_version_detach(regclass, name) IS
    'end that; false when the table had no such version column';

CREATE FUNCTION @extschema@.idem_cas(rel regclass, key jsonb, expected bigint, changes jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_cas(regclass, jsonb, bigint, jsonb) IS
    'change a row that still has the expected version; returns the new one';

CREATE FUNCTION @extschema@.idem_version_attached(
    OUT rel regclass,
    OUT col name,
    OUT mode text,
    OUT ignore name[]
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_version_attached() IS
    'what idem_version_attachments shows';

CREATE VIEW @extschema@.idem_version_attachments AS
    SELECT rel, col, mode, ignore FROM @extschema@.idem_version_attached();
REVOKE ALL ON TABLE @extschema@.idem_version_attachments FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_version_attachments IS
    'the version columns of this database that are checked';

REVOKE ALL ON FUNCTION
    @extschema@.idem_version_check(),
    @extschema@.idem_version_attach(regclass, name, text, name[], boolean),
    @extschema@.idem_version_detach(regclass, name),
    @extschema@.idem_cas(regclass, jsonb, bigint, jsonb),
    @extschema@.idem_version_attached()
FROM PUBLIC;
