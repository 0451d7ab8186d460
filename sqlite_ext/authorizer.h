// The opt-in authorizer: refuses writes to Fence's tables, and changes of their
// schema, when a statement is prepared. Opt-in, since a connection has one slot
// for it and taking it would silently remove the application's own.
#ifndef FENCE_SQLITE_EXT_AUTHORIZER_H
#define FENCE_SQLITE_EXT_AUTHORIZER_H

namespace fence {

struct Connection;

// Installs it, replacing what is there, or takes the slot's occupant out.
void switch_authorizer(Connection* connection, bool on) noexcept;

}  // namespace fence

#endif
