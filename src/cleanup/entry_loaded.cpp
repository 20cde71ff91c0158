// The trigger of idem_expiries, by which attachments that come from a dump are told from those made
// here: the table may happen to have the same OID in the new cluster.

#include "server/guard.hpp"
#include "server/prelude.hpp"

IDEM_FUNCTION(idem_expiry_loaded) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("idem_expiry_loaded() must be called as a trigger")));
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  const TupleDesc descriptor = RelationGetDescr(trigger->tg_relation);
  int column = get_attnum(RelationGetRelid(trigger->tg_relation), "table_oid");
  if (column <= 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("relation \"%s\" has no column \"table_oid\"",
                           RelationGetRelationName(trigger->tg_relation))));
  Datum unconfirmed = ObjectIdGetDatum(InvalidOid);
  bool isnull = false;
  return PointerGetDatum(heap_modify_tuple_by_cols(trigger->tg_trigtuple, descriptor, 1, &column,
                                                   &unconfirmed, &isnull));
}
