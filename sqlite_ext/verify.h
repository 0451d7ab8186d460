// Everything that fence_verify looks at, one after the other: the schema, the control row,
// settings, namespaces, keys. Memory does not grow with the file.
#ifndef FENCE_SQLITE_EXT_VERIFY_H
#define FENCE_SQLITE_EXT_VERIFY_H

#include "sqlite_ext/verify_schema.h"

namespace fence {

class Verifier {
 public:
  Verifier(Connection* connection, const VerifyRange& range) noexcept;

  const VerifyRange& range() const noexcept { return range_; }
  bool start(Failure* failure) noexcept { return schema_.start(connection_, failure); }
  VerifyStep next(Finding* finding, Failure* failure) noexcept;

 private:
  enum class Phase : unsigned char { schema, control, settings, namespaces, keys, done };

  VerifyStep next_schema(Finding* finding, Failure* failure) noexcept;
  // Each fills report_ with what comes next; done: the phase is over.
  VerifyStep run_phase(Failure* failure) noexcept;
  VerifyStep check_control(Failure* failure) noexcept;
  VerifyStep check_settings(Failure* failure) noexcept;
  VerifyStep check_namespace(Failure* failure) noexcept;
  void judge_rule(sqlite3_stmt* row, std::string_view ns) noexcept;
  bool start_phase(Phase phase, Failure* failure) noexcept;

  Connection* connection_;
  char names_[2 * longest_name];
  VerifyRange range_;
  Phase phase_ = Phase::schema;
  SchemaCheck schema_;
  Report report_;
  VerifyContext context_;
  Walk walk_;  // of the control row, settings, namespaces
  KeyWalk keys_{&context_};
};

}  // namespace fence

#endif
