// Which role may do what: the functions write past the server's own privileges, so
// they ask here.
#ifndef FENCE_PG_EXT_ACCESS_H
#define FENCE_PG_EXT_ACCESS_H

#include <string_view>

namespace fence {

// May the current role read, or write, the logs of the namespace? Superusers and the
// owner of Fence's tables may; others as fence_grant_writer and fence_grant_reader say.
bool may_read(std::string_view ns);

// First thing in every call that writes, after its ZF010: 42501 where the role may not,
// 25006 in a read-only transaction or on a standby, ZF007 in a copy of the database.
void check_may_write(std::string_view ns);
// The same without the last: a claim's comes after its ZF012, an empty batch has none, and that
// of a drain dooms nothing.
void check_rights_to_write(std::string_view ns);
// The same for reading.
void check_may_read(std::string_view ns);

}  // namespace fence

#endif
