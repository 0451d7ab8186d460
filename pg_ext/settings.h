// The server's settings of Fence. None of them carries authority.
#ifndef FENCE_PG_EXT_SETTINGS_H
#define FENCE_PG_EXT_SETTINGS_H

namespace fence {

struct Settings {
  int evict_after = 0;  // ms
  int commit_wait = 0;  // ms
  bool log_refusals = false;
};

extern Settings settings;

// fence.evict_after, fence.commit_wait, fence.log_refusals: superusers set them.
void define_settings();

}  // namespace fence

#endif
