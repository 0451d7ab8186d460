// A commit that is on the disk when it returns.
#ifndef FENCE_SQLITE_EXT_DURABILITY_H
#define FENCE_SQLITE_EXT_DURABILITY_H

namespace fence {

struct Connection;
class Failure;

// While it exists, commits to main are flushed, whatever PRAGMA synchronous says:
// a claim that a power cut takes back would let the old owner write again. The
// application's setting returns at the end of the scope. Only outside a
// transaction: inside one SQLite does not let the setting change.
class DurableCommit {
 public:
  // ready(): without it commits are not known to be flushed, and failure says why.
  DurableCommit(Connection* connection, Failure* failure) noexcept;
  ~DurableCommit();
  DurableCommit(const DurableCommit&) = delete;
  DurableCommit& operator=(const DurableCommit&) = delete;

  bool ready() const noexcept { return ready_; }

 private:
  bool read(Failure* failure) noexcept;
  void set(int level) noexcept;

  Connection* connection_;
  int level_ = -1;    // what is set now
  int restore_ = -1;  // the application's; -1 if it need not be restored
  bool ready_ = true;
};

}  // namespace fence

#endif
