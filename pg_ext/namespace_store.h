// The rules of namespaces: fence_internal.namespace.
#ifndef FENCE_PG_EXT_NAMESPACE_STORE_H
#define FENCE_PG_EXT_NAMESPACE_STORE_H

#include <string_view>

#include "core/mode.h"

namespace fence {

// What is committed now, whatever snapshot the caller has. Mostly from the memory of the
// session, which notices changes when it takes a lock on a table.
NamespaceRule namespace_rule(std::string_view ns);

// As above, and from now to the end of the transaction nobody changes a rule. Waits for a
// change that is under way (at most fence.commit_wait, then 55P03). Only for who waits for
// nothing more but its own commit: others stand behind who changes a rule.
NamespaceRule settle_namespace_rule(std::string_view ns);

// For who changes a rule: waits for the commits that are under way, at most
// fence.commit_wait, and keeps everybody from committing until its own end.
void lock_namespace_rules();

// Stores a rule and tells the other sessions. After lock_namespace_rules().
void write_namespace_rule(std::string_view ns, const NamespaceRule& rule);

}  // namespace fence

#endif
