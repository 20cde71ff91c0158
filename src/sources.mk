# The one list of sources, read by make and by CMake.

# Plain C++17 without a server header; unit tests link these.
PURE_SOURCES = src/cleanup/schedule.cpp \
	src/ids/id_text.cpp \
	src/ids/uuid_bits.cpp \
	src/machines/builder.cpp \
	src/machines/definition.cpp \
	src/machines/diagram.cpp \
	src/machines/drawing.cpp \
	src/machines/escapes.cpp \
	src/machines/machine.cpp \
	src/machines/names.cpp \
	src/machines/scanner.cpp \
	src/records/decision.cpp \
	src/records/key.cpp \
	src/streams/decision.cpp \
	src/versions/decision.cpp

SERVER_SOURCES = src/module.cpp \
	src/server/arguments.cpp \
	src/server/described_table.cpp \
	src/server/guard.cpp \
	src/server/inheritance.cpp \
	src/server/json_value.cpp \
	src/server/months.cpp \
	src/server/objects.cpp \
	src/server/owner.cpp \
	src/server/row_access.cpp \
	src/server/rows.cpp \
	src/server/settings.cpp \
	src/server/statement.cpp \
	src/cleanup/batch.cpp \
	src/cleanup/conclude.cpp \
	src/cleanup/databases.cpp \
	src/cleanup/entry_cleanup.cpp \
	src/cleanup/entry_expire.cpp \
	src/cleanup/entry_loaded.cpp \
	src/cleanup/entry_status.cpp \
	src/cleanup/expiry_index.cpp \
	src/cleanup/launcher.cpp \
	src/cleanup/leaf.cpp \
	src/cleanup/premises.cpp \
	src/cleanup/purge.cpp \
	src/cleanup/removal.cpp \
	src/cleanup/review.cpp \
	src/cleanup/rules.cpp \
	src/cleanup/run.cpp \
	src/cleanup/settings.cpp \
	src/cleanup/shared.cpp \
	src/cleanup/sweep.cpp \
	src/cleanup/tidy_months.cpp \
	src/cleanup/visit.cpp \
	src/cleanup/worker.cpp \
	src/ids/clock.cpp \
	src/ids/entry_node.cpp \
	src/ids/entry_snowflake.cpp \
	src/ids/entry_snowflake_create.cpp \
	src/ids/entry_snowflake_parts.cpp \
	src/ids/entry_uuid.cpp \
	src/ids/generator.cpp \
	src/ids/last_id.cpp \
	src/ids/random_pool.cpp \
	src/ids/settings.cpp \
	src/locks/durable.cpp \
	src/locks/entry_durable_locks.cpp \
	src/locks/entry_lock.cpp \
	src/locks/entry_lock_entries.cpp \
	src/locks/entry_session_lock.cpp \
	src/locks/grant.cpp \
	src/locks/known_names.cpp \
	src/locks/manager.cpp \
	src/locks/refusal.cpp \
	src/locks/registry.cpp \
	src/locks/settings.cpp \
	src/locks/taking.cpp \
	src/machines/arguments.cpp \
	src/machines/attached.cpp \
	src/machines/attachment.cpp \
	src/machines/census.cpp \
	src/machines/changes.cpp \
	src/machines/column.cpp \
	src/machines/editions.cpp \
	src/machines/entry_allowed.cpp \
	src/machines/entry_attach.cpp \
	src/machines/entry_define.cpp \
	src/machines/entry_diagram.cpp \
	src/machines/entry_fire.cpp \
	src/machines/entry_history.cpp \
	src/machines/entry_judge.cpp \
	src/machines/entry_migrate.cpp \
	src/machines/entry_transition_check.cpp \
	src/machines/entry_validate.cpp \
	src/machines/event_memory.cpp \
	src/machines/guards.cpp \
	src/machines/history_writer.cpp \
	src/machines/judge.cpp \
	src/machines/judging.cpp \
	src/machines/migration.cpp \
	src/machines/moved.cpp \
	src/machines/sitting.cpp \
	src/machines/store.cpp \
	src/machines/subject.cpp \
	src/machines/wiring.cpp \
	src/records/answers.cpp \
	src/records/archive.cpp \
	src/records/by_sql.cpp \
	src/records/claim.cpp \
	src/records/direct.cpp \
	src/records/entry_begin.cpp \
	src/records/entry_begin_support.cpp \
	src/records/entry_execute.cpp \
	src/records/entry_fingerprint.cpp \
	src/records/entry_get.cpp \
	src/records/entry_grant.cpp \
	src/records/entry_keys.cpp \
	src/records/entry_operate.cpp \
	src/records/entry_scopes.cpp \
	src/records/entry_settle.cpp \
	src/records/positions.cpp \
	src/records/queue.cpp \
	src/records/record.cpp \
	src/records/request.cpp \
	src/records/rewriting.cpp \
	src/records/scopes.cpp \
	src/records/session_claims.cpp \
	src/records/settlement.cpp \
	src/records/store.cpp \
	src/records/table.cpp \
	src/records/user_statement.cpp \
	src/records/wake.cpp \
	src/streams/attachment.cpp \
	src/streams/by_sql.cpp \
	src/streams/call.cpp \
	src/streams/direct.cpp \
	src/streams/entry_accept.cpp \
	src/streams/entry_accept_id.cpp \
	src/streams/entry_accept_many.cpp \
	src/streams/entry_accept_row.cpp \
	src/streams/entry_attach.cpp \
	src/streams/entry_producer.cpp \
	src/streams/entry_stream.cpp \
	src/streams/messages.cpp \
	src/streams/moves.cpp \
	src/streams/producer.cpp \
	src/streams/progress.cpp \
	src/streams/refusal.cpp \
	src/streams/settings.cpp \
	src/streams/store.cpp \
	src/streams/stream.cpp \
	src/streams/table.cpp \
	src/tables/arguments.cpp \
	src/tables/descriptions.cpp \
	src/tables/plans.cpp \
	src/tables/row.cpp \
	src/tables/triggers.cpp \
	src/versions/attachment.cpp \
	src/versions/entry_cas.cpp \
	src/versions/entry_version_attach.cpp \
	src/versions/entry_version_check.cpp \
	src/versions/refusal.cpp \
	src/versions/stamp.cpp

# Concatenated in this order into the install script.
SQL_PIECES = src/records/types.sql \
	src/records/tables.sql \
	src/records/functions.sql \
	src/cleanup/tables.sql \
	src/cleanup/functions.sql \
	src/machines/tables.sql \
	src/machines/functions.sql \
	src/locks/types.sql \
	src/locks/durable.sql \
	src/locks/functions.sql \
	src/locks/views.sql \
	src/streams/types.sql \
	src/streams/tables.sql \
	src/streams/functions.sql \
	src/streams/messages.sql \
	src/ids/tables.sql \
	src/ids/functions.sql \
	src/streams/attach.sql \
	src/versions/functions.sql

# Functions that only tests call, in a module of their own.
TEST_SOURCES = test/module/guard_functions.cpp \
	test/module/page_functions.cpp

# pgidem, the command-line tool; its unit tests link the first list.
TOOL_PURE_SOURCES = tool/backoff.cpp \
	tool/capture.cpp \
	tool/file_name.cpp \
	tool/lease.cpp \
	tool/stored_result.cpp \
	tool/templates.cpp \
	tool/text_table.cpp \
	tool/values.cpp

TOOL_SOURCES = tool/asking.cpp \
	tool/claim.cpp \
	tool/descendants.cpp \
	tool/descriptor.cpp \
	tool/durable_lock.cpp \
	tool/extension.cpp \
	tool/figures.cpp \
	tool/guardian.cpp \
	tool/guardian_process.cpp \
	tool/keeper.cpp \
	tool/launch.cpp \
	tool/local_lock.cpp \
	tool/lock.cpp \
	tool/locks.cpp \
	tool/main.cpp \
	tool/messages.cpp \
	tool/once.cpp \
	tool/operator_session.cpp \
	tool/options.cpp \
	tool/output.cpp \
	tool/protected_run.cpp \
	tool/records.cpp \
	tool/renewal.cpp \
	tool/report.cpp \
	tool/run.cpp \
	tool/screen.cpp \
	tool/session.cpp \
	tool/settling.cpp \
	tool/signals.cpp \
	tool/sql_values.cpp \
	tool/stat.cpp \
	tool/supervisor.cpp \
	tool/surroundings.cpp \
	tool/terminal.cpp \
	tool/top.cpp
