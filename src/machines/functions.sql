CREATE FUNCTION @extschema@.idem_transition_check() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION @extschema@.idem_transition_check() IS
    'trigger function that refuses what a state machine does not allow; arguments: machine, column, options';

CREATE FUNCTION @extschema@.idem_pin_version() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION @extschema@.idem_pin_version() IS
    'trigger function that gives a new row the newest version of its state machine';

CREATE FUNCTION @extschema@.idem_machine_define(name text, diagram text) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_machine_define(text, text) IS
    'define a state machine by a Mermaid stateDiagram-v2; returns its version';

CREATE FUNCTION @extschema@.idem_machine_define(name text, initial text[], transitions text[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'idem_machine_define_edges' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_machine_define(text, text[], text[]) IS
    'define a state machine by arrays of {from, to} or {from, to, event}; returns its version';

CREATE FUNCTION @extschema@.idem_machine_attach(
    rel regclass,
    col name,
    machine text,
    history boolean DEFAULT false,
    guards jsonb DEFAULT '{}',
    allow_null boolean DEFAULT false,
    always boolean DEFAULT false,
    machine_col name DEFAULT NULL,
    version_col name DEFAULT NULL,
    validate boolean DEFAULT true
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION
    @extschema@.idem_machine_attach(regclass, name, text, boolean, jsonb, boolean, boolean, name, name, boolean) IS
    'have every write to a column of a table judged by a state machine';

CREATE FUNCTION @extschema@.idem_machine_detach(rel regclass, col name) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_machine_detach(regclass, name) IS
    'end that; false when the column had no machine';

CREATE FUNCTION @extschema@.idem_machine_validate(
    rel regclass,
    col name DEFAULT NULL,
    OUT state text,
    OUT rows bigint,
    OUT problem text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_machine_validate(regclass, name) IS
    'what is wrong with an attached table: rows in states that its machine does not know, triggers that do not fire';

CREATE FUNCTION @extschema@.idem_machine_migrate(
    rel regclass,
    col name,
    states jsonb DEFAULT '{}',
    version integer DEFAULT NULL,
    machine text DEFAULT NULL,
    max_rows bigint DEFAULT NULL
) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_machine_migrate(regclass, name, jsonb, integer, text, bigint) IS
    'move rows out of states, given as {"old": "new"}, and pinned rows to a version; returns how many';

CREATE FUNCTION @extschema@.idem_machine_diagram(
    name text,
    format text DEFAULT 'mermaid',
    version integer DEFAULT NULL,
    rel regclass DEFAULT NULL,
    col name DEFAULT NULL
) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_machine_diagram(text, text, integer, regclass, name) IS
    'draw a state machine, as mermaid or dot; with a table, how many of its rows are in each state';

CREATE FUNCTION @extschema@.idem_machine_states(
    name text,
    version integer DEFAULT NULL,
    OUT state text,
    OUT initial boolean,
    OUT final boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_machine_states(text, integer) IS
    'the states of a machine';

CREATE FUNCTION @extschema@.idem_machine_transitions(
    name text,
    version integer DEFAULT NULL,
    OUT from_state text,
    OUT to_state text,
    OUT event text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 20;
COMMENT ON FUNCTION @extschema@.idem_machine_transitions(text, integer) IS
    'the transitions of a machine, a row for each event';

CREATE FUNCTION @extschema@.idem_can_transition(
    machine text,
    from_state text,
    to_state text,
    version integer DEFAULT NULL
) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_can_transition(text, text, text, integer) IS
    'whether a machine goes from one state to another; from NULL: whether a row may start there';

CREATE FUNCTION @extschema@.idem_check_transition(
    machine text,
    from_state text,
    to_state text,
    version integer DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_check_transition(text, text, text, integer) IS
    'raise an error unless idem_can_transition';

CREATE FUNCTION @extschema@.idem_fire(
    rel regclass,
    key jsonb,
    event text,
    event_id text DEFAULT NULL,
    data jsonb DEFAULT NULL,
    col name DEFAULT NULL,
    OUT outcome text,
    OUT from_state text,
    OUT to_state text,
    OUT machine_version integer
) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_fire(regclass, jsonb, text, text, jsonb, name) IS
    'let an event happen to a row, once: applied, noop or replayed';

CREATE FUNCTION @extschema@.idem_allowed_events(
    rel regclass,
    key jsonb,
    col name DEFAULT NULL,
    OUT event text,
    OUT to_state text,
    OUT refusal text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 5;
COMMENT ON FUNCTION @extschema@.idem_allowed_events(regclass, jsonb, name) IS
    'the events that can happen to a row, and why a guard would refuse one';

CREATE FUNCTION @extschema@.idem_history_of(
    rel regclass,
    key jsonb,
    col name DEFAULT NULL,
    OUT at timestamptz,
    OUT from_state text,
    OUT to_state text,
    OUT event text,
    OUT event_id text,
    OUT data jsonb,
    OUT machine text,
    OUT machine_version integer,
    OUT xid xid8,
    OUT role text,
    OUT application_name text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_history_of(regclass, jsonb, name) IS
    'the history of a row, oldest first';

CREATE FUNCTION @extschema@.idem_machine_attached(
    OUT rel regclass,
    OUT col name,
    OUT machine text,
    OUT history boolean,
    OUT allow_null boolean,
    OUT always boolean,
    OUT guards jsonb,
    OUT machine_col name,
    OUT version_col name,
    OUT attachment text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_machine_attached() IS
    'what idem_machine_attachments shows';

CREATE VIEW @extschema@.idem_machine_attachments AS
    SELECT rel, col, machine, history, allow_null, always, guards, machine_col, version_col, attachment
    FROM @extschema@.idem_machine_attached();
REVOKE ALL ON TABLE @extschema@.idem_machine_attachments FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_machine_attachments IS
    'the columns of this database that a state machine is attached to';

REVOKE ALL ON FUNCTION
    @extschema@.idem_transition_check(),
    @extschema@.idem_pin_version(),
    @extschema@.idem_machine_define(text, text),
    @extschema@.idem_machine_define(text, text[], text[]),
    @extschema@.idem_machine_attach(regclass, name, text, boolean, jsonb, boolean, boolean, name, name, boolean),
    @extschema@.idem_machine_detach(regclass, name),
    @extschema@.idem_machine_validate(regclass, name),
    @extschema@.idem_machine_migrate(regclass, name, jsonb, integer, text, bigint),
    @extschema@.idem_machine_diagram(text, text, integer, regclass, name),
    @extschema@.idem_machine_states(text, integer),
    @extschema@.idem_machine_transitions(text, integer),
    @extschema@.idem_can_transition(text, text, text, integer),
    @extschema@.idem_check_transition(text, text, text, integer),
    @extschema@.idem_fire(regclass, jsonb, text, text, jsonb, name),
    @extschema@.idem_allowed_events(regclass, jsonb, name),
    @extschema@.idem_history_of(regclass, jsonb, name),
    @extschema@.idem_machine_attached()
FROM PUBLIC;
