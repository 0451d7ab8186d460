// The scene of every attack. 'k' was claimed by w1 at epoch 1, who stored the
// entries 1 and 2; then w2 took it over at epoch 2 and stored 3. w1 knows nothing
// of that: it is the zombie. 'own' still belongs to w1, since the zombie of one key
// may be the rightful owner of another.
//
// S-numbers are those of the list of attacks; X_ is what was tried beyond it.
#ifndef FENCE_REGRESS_ATTACK_SCENE_H
#define FENCE_REGRESS_ATTACK_SCENE_H

#include <string>
#include <vector>

#include "regress/sqlite/harness.h"

namespace fence::test {

// How the attacked connection is set up, once the extension is loaded.
enum class Switches : unsigned char {
  usual,            // as it is after loading
  authorizer,       // fence_config('authorizer', 1)
  not_defensive,    // fence_config('defensive', 0)
  authorizer_alone  // both
};
void set_switches(Database& db, Switches switches);
std::string switches_name(const ::testing::TestParamInfo<Switches>& info);

// One statement: did it prepare, and what did running it answer?
struct Attempt {
  bool prepared = false;
  Result result;
};
Attempt attempt(Database& db, const std::string& sql);

// A forged entry for idx, written like the stored entry like_idx of 'k': 1 is the
// zombie's own (epoch 1, its hash, a seal of the right size), 3 the owner's.
std::string forged(int idx, int like_idx, const std::string& verb = "INSERT");
extern const std::string zombie_row;
extern const std::string owner_row;
// UPDATE that gives 'k' back to the zombie.
extern const std::string lowered_record;

// Replaces the guard by a function that always agrees, in every arity that the
// triggers use; any: in one registration for all of them.
void stub_guard(Database& db, bool any = false);

// run(sql): runs a statement from inside a running one, as a function of the
// application may do. Returns the result code and the message.
void add_run_function(Database& db);
std::string run(const std::string& sql);

// Refusals of a statement by each layer. All of them expect Fence's rows untouched.
class Attack : public FileTest {
 protected:
  void SetUp() override;

  // Every row of Fence's tables, read by a connection without the extension.
  std::vector<std::string> stored() const;
  void expect_untouched() const { EXPECT_EQ(stored(), before_); }
  // After a change that the test expects.
  void accept_changes() { before_ = stored(); }

  // It does not prepare, and that is the message.
  void expect_unprepared(Database& db, const std::string& sql, int rc, const std::string& message);
  // It does not even prepare without Fence's function.
  void expect_no_guard(Database& db, const std::string& sql);
  // It prepares and is refused with ZF005.
  void expect_not_asserted(Database& db, const std::string& sql);
  // ZF005 by the plain half of a trigger, which cannot set the result code.
  void expect_plain_refusal(Database& db, const std::string& sql);

  // The zombie's calls, in both forms: ZF001, nothing stored.
  void expect_zombie_refused(Database& db);
  // The owner's appends, in both forms, on db or on a new connection.
  void expect_owner_goes_on(Database& db);
  void expect_owner_goes_on();
  // What got past the fence is noticed: the owner's next append is ZF020, in both
  // forms, alone and in a transaction, and stores nothing.
  void expect_owner_alarmed(Database& db);
  void expect_owner_alarmed();

  int next_idx = 4;

 private:
  std::vector<std::string> before_;
};

// The same on a connection of the zombie that has the extension, with each of the
// switches.
class Loaded : public Attack, public ::testing::WithParamInterface<Switches> {
 protected:
  void SetUp() override;

  bool has_authorizer() const;
  bool is_defensive() const;
  // A direct write to one of Fence's tables is refused by the layer that comes first.
  void expect_shut(const std::string& sql, const std::string& table = "fence_oplog_v1");

  Database zombie{path, Setup::loaded};
};

}  // namespace fence::test

#endif
