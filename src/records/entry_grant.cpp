// idem_grant and idem_revoke: who may call what.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

constexpr const char *kForApplications[] = {"idem_begin",
                                            "idem_begin_short",
                                            "idem_finish",
                                            "idem_fail",
                                            "idem_release",
                                            "idem_extend",
                                            "idem_checkpoint",
                                            "idem_get",
                                            "idem_execute",
                                            "idem_fingerprint",
                                            "idem_key",
                                            "idem_child_key",
                                            "idem_fire",
                                            "idem_allowed_events",
                                            "idem_history_of",
                                            "idem_can_transition",
                                            "idem_check_transition",
                                            "idem_machine_diagram",
                                            "idem_machine_states",
                                            "idem_machine_transitions",
                                            "idem_lock",
                                            "idem_lock_extend",
                                            "idem_unlock",
                                            "idem_fence",
                                            "idem_session_lock",
                                            "idem_session_unlock",
                                            "idem_xact_lock",
                                            "idem_cas",
                                            "idem_producer",
                                            "idem_accept",
                                            "idem_accept_result",
                                            "idem_accept_many",
                                            "idem_accept_id",
                                            "idem_accept_forget",
                                            "idem_snowflake",
                                            "idem_snowflake_batch",
                                            "idem_snowflake_parts",
                                            "idem_snowflake_floor",
                                            "idem_snowflake_text",
                                            "idem_snowflake_from_text",
                                            "idem_uuid7",
                                            "idem_uuid7_floor",
                                            "idem_uuid_time",
                                            "idem_node_claim"};

constexpr const char *kForOperators[] = {
    "idem_resolve",          "idem_forget",          "idem_purge",
    "idem_scope_set",        "idem_scope_reset",     "idem_cleanup_now",
    "idem_cleanup_pause",    "idem_cleanup_resume",  "idem_cleanup_status",
    "idem_expire_attach",    "idem_expire_detach",   "idem_expire_run",
    "idem_machine_define",   "idem_machine_attach",  "idem_machine_detach",
    "idem_machine_validate", "idem_machine_migrate", "idem_machine_attached",
    "idem_transition_check", "idem_pin_version",     "idem_lock_entries",
    "idem_lock_hash",        "idem_durable_locks",   "idem_version_attach",
    "idem_version_detach",   "idem_version_check",   "idem_version_attached",
    "idem_stream_set",       "idem_stream_reset",    "idem_stream_attach",
    "idem_stream_detach",    "idem_stream_attached", "idem_accept_row",
    "idem_snowflake_create"};

constexpr const char *kTypes[] = {"idem_claim", "idem_record", "idem_lock_grant", "idem_acceptance",
                                  "idem_message_acceptance"};
constexpr const char *kSequences[] = {"idem_snowflake_seq"};
constexpr const char *kTablesForOperators[] = {"idem_records",
                                               "idem_scopes",
                                               "idem_archive",
                                               "idem_expiries",
                                               "idem_cleanup_paused",
                                               "idem_stat_cleanup",
                                               "idem_machines",
                                               "idem_history",
                                               "idem_machine_attachments",
                                               "idem_locks",
                                               "idem_version_attachments",
                                               "idem_streams",
                                               "idem_producers",
                                               "idem_stream_attachments"};

// The two verbs differ in their words only.
struct Verb {
  const char *verb;
  const char *preposition;
};
constexpr Verb kGrant = {"GRANT", "TO"};
constexpr Verb kRevoke = {"REVOKE", "FROM"};

struct Change {
  Verb verb;
  Oid schema;
  const char *schema_name;
  const char *role;
};

// Runs with the rights of the caller, who needs the grant option.
void apply(const Change &change, const char *privilege, const char *kind, const char *object) {
  const char *sql = psprintf("%s %s ON %s %s %s %s", change.verb.verb, privilege, kind, object,
                             change.verb.preposition, change.role);
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
}

void apply_to_function(const Change &change, const char *name) {
  CatCList *functions = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
  List *found = NIL;
  for (int i = 0; i < functions->n_members; i++) {
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(&functions->members[i]->tuple));
    if (form->pronamespace == change.schema) found = lappend_oid(found, form->oid);
  }
  ReleaseSysCacheList(functions);
  ListCell *cell;
  foreach (cell, found)
    apply(change, "EXECUTE", "FUNCTION", format_procedure_qualified(lfirst_oid(cell)));
}

void apply_to_object(const Change &change, const char *privilege, const char *kind,
                     const char *name) {
  apply(change, privilege, kind, psprintf("%s.%s", change.schema_name, name));
}

Oid required_role(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number) || !OidIsValid(PG_GETARG_OID(number)))
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("role must not be null"),
                    errhint("Pass the role of your application, such as 'app'.")));
  return PG_GETARG_OID(number);
}

Change change_for(FunctionCallInfo fcinfo, const Verb &verb) {
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  const char *role = GetUserNameFromId(required_role(fcinfo, 0), false);
  return {verb, schema, pstrdup(quote_identifier(get_namespace_name(schema))),
          pstrdup(quote_identifier(role))};
}

void apply_for_applications(const Change &change) {
  for (const char *name : kTypes) apply_to_object(change, "USAGE", "TYPE", name);
  for (const char *name : kSequences) apply_to_object(change, "USAGE", "SEQUENCE", name);
  for (const char *name : kForApplications) apply_to_function(change, name);
}

void apply_for_operators(const Change &change) {
  for (const char *name : kForOperators) apply_to_function(change, name);
  for (const char *name : kTablesForOperators) apply_to_object(change, "SELECT", "TABLE", name);
}

}  // namespace

IDEM_FUNCTION(idem_grant) {
  const Change change = change_for(fcinfo, kGrant);
  SPI_connect();
  // Not revoked again: the role may use the schema for other reasons.
  apply(change, "USAGE", "SCHEMA", change.schema_name);
  apply_for_applications(change);
  if (!PG_ARGISNULL(1) && PG_GETARG_BOOL(1)) apply_for_operators(change);
  SPI_finish();
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_revoke) {
  Change change = change_for(fcinfo, kRevoke);
  SPI_connect();
  apply_for_operators(change);
  apply_for_applications(change);
  SPI_finish();
  PG_RETURN_VOID();
}
