// The canonical text of a key of several columns (fence_key): the same for every engine and
// client, and another one for every other list of columns.
#ifndef FENCE_CORE_COMPOSITE_KEY_H
#define FENCE_CORE_COMPOSITE_KEY_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/name.h"

namespace fence {

// The texts of the columns with a slash between them; a slash or a backslash inside one has a
// backslash before it. So ('7', 'a/b') is "7/a\/b", and there is one column more than bare
// slashes. A column may be empty. How its value becomes text says nothing of its type: 7 and
// '7' are the same column.
class CompositeKey {
 public:
  // Adds one column. Whether its bytes may stand in a name is for check_name to say.
  void add(std::string_view text) noexcept;
  void add_integer(int64_t number) noexcept;
  // As true or false.
  void add_boolean(bool value) noexcept;

  // Whether all of it so far has at most longest_name bytes.
  bool fits() const noexcept { return fits_; }
  // Valid while this object lives; cut where it does not fit.
  std::string_view text() const noexcept { return {text_, size_}; }

  // Why it is no key: nothing was added but at most one empty column, or it does not fit.
  NameFault fault() const noexcept;

 private:
  void put(char c) noexcept;

  char text_[longest_name];
  size_t size_ = 0;
  bool begun_ = false;
  bool fits_ = true;
};

}  // namespace fence

#endif
