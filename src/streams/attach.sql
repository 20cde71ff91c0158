CREATE FUNCTION @extschema@.idem_accept_row() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION @extschema@.idem_accept_row() IS
    'trigger function that leaves out rows whose message the stream has accepted before';

CREATE FUNCTION @extschema@.idem_stream_attach(
    rel regclass,
    stream text,
    msg_id name DEFAULT NULL,
    producer_id name DEFAULT NULL,
    epoch name DEFAULT NULL,
    seq name DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_stream_attach(regclass, text, name, name, name, name) IS
    'makes a table store each message once: rows of messages that the stream has accepted before are left out';

CREATE FUNCTION @extschema@.idem_stream_detach(rel regclass) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_stream_detach(regclass) IS
    'takes back idem_stream_attach';

CREATE FUNCTION @extschema@.idem_stream_attached(
    OUT rel regclass,
    OUT stream text,
    OUT msg_id name,
    OUT producer_id name,
    OUT epoch name,
    OUT seq name
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_stream_attached() IS
    'what idem_stream_attachments shows';

CREATE VIEW @extschema@.idem_stream_attachments AS
    SELECT rel, stream, msg_id, producer_id, epoch, seq FROM @extschema@.idem_stream_attached();
REVOKE ALL ON TABLE @extschema@.idem_stream_attachments FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_stream_attachments IS
    'the tables of this database whose rows are messages of a stream';

REVOKE ALL ON FUNCTION
    @extschema@.idem_accept_row(),
    @extschema@.idem_stream_attach(regclass, text, name, name, name, name),
    @extschema@.idem_stream_detach(regclass),
    @extschema@.idem_stream_attached()
FROM PUBLIC;
