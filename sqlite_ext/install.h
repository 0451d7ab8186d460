// What fence_install makes in a file, as SQL.
#ifndef FENCE_SQLITE_EXT_INSTALL_H
#define FENCE_SQLITE_EXT_INSTALL_H

namespace fence {
namespace scripts {
extern const char* const tables;
extern const char* const triggers;
extern const char* const views;
}  // namespace scripts
}  // namespace fence

#endif
