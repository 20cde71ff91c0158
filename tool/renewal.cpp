#include "tool/renewal.hpp"

#include "tool/sql_values.hpp"

namespace idem::tool {

Lease renew(Session &session, const Renewal &renewal, TimePoint deadline) {
  const TimePoint asked = Clock::now();
  const Answer answer = session.query(renewal.sql, renewal.parameters, deadline);
  return {asked, to_duration(answer.rows.at(0).at(0))};
}

}  // namespace idem::tool
