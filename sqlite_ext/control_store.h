// The control row: what the file is, and how often it was anchored.
#ifndef FENCE_SQLITE_EXT_CONTROL_STORE_H
#define FENCE_SQLITE_EXT_CONTROL_STORE_H

#include "sqlite_ext/failure.h"
#include "sqlite_ext/seal.h"

namespace fence {

struct Connection;

struct Control {
  SealKey seal_key;
  int64_t generation = 0;
};

// For calls that act: ZF012 where Fence is not installed or the format is not ours, ZF019
// for values that cannot be, ZF007 for a file that is older than the connection knows.
bool read_control(Connection* connection, Control* control, Failure* failure) noexcept;

// The same without the last check, for a call that only looks at the file.
bool look_at_control(Connection* connection, Control* control, Failure* failure) noexcept;

// That check alone, for calls that have read the generation together with other things.
bool check_generation(Connection* connection, int64_t generation, Failure* failure) noexcept;

// Stores the control row; stored: in the place of the one that is there.
bool store_control(Connection* connection, const Control& control, bool stored,
                   Failure* failure) noexcept;

namespace reasons {
extern const Reason corrupt_control;
}  // namespace reasons

}  // namespace fence

#endif
