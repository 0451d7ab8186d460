// fence_refusals and fence_stat: what a connection was refused, whatever became of the
// transaction.
#include "regress/sqlite/failing_memory.h"
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

class Evidence : public OwnedLog {
 protected:
  // All columns but the time.
  Rows refusals() {
    return db.rows(
        "SELECT code, namespace, key, asserted_epoch, asserted_writer, stored_epoch,"
        " stored_writer FROM fence_refusals");
  }
  std::string count(const std::string& code) {
    return db.value("SELECT count FROM fence_stat WHERE code = " + quoted(code));
  }
  // "code count", those that came.
  Rows counts() {
    return db.rows("SELECT code || ' ' || count FROM fence_stat WHERE count > 0 ORDER BY code");
  }

  const std::string by_w1 = std::string("|") + w1_fingerprint;
  const std::string by_w2 = std::string("|") + w2_fingerprint;
};

TEST_F(Evidence, begins_empty_with_a_counter_for_each_code) {
  EXPECT_EQ(refusals(), Rows{});
  EXPECT_EQ(db.value("SELECT count(*), sum(count), min(code), max(code) FROM fence_stat"),
            "21|0|ZF001|ZF021");
  EXPECT_EQ(db.value("SELECT name FROM fence_stat WHERE code = 'ZF013'"), "index_conflict");
}

TEST_F(Evidence, of_claims_and_writes_says_what_was_asserted_and_what_stood_there) {
  EXPECT_REFUSED(db, append("k", 6, w2, 3, "x"), "ZF001", auth);
  EXPECT_REFUSED(db, insert("k", 7, w2, 3, "x"), "ZF002", auth);
  EXPECT_REFUSED(db, put("none", 7, w1, "a", "x"), "ZF003", auth);
  EXPECT_REFUSED(db, drop("k", 8, w1, 1), "ZF004", auth);
  EXPECT_REFUSED(db, claim("k", 7, w2), "ZF002", auth);
  EXPECT_REFUSED(db, del("k", 1, w1), "ZF001", auth);
  EXPECT_EQ(refusals(),
            (Rows{"ZF001|n|k|6" + by_w2 + "|7" + by_w1, "ZF002|n|k|7" + by_w2 + "|7" + by_w1,
                  "ZF003|n|none|7" + by_w1 + "|NULL|NULL", "ZF004|n|k|8" + by_w1 + "|7" + by_w1,
                  "ZF002|n|k|7" + by_w2 + "|7" + by_w1, "ZF001|n|k|1" + by_w1 + "|7" + by_w1}));
  EXPECT_EQ(counts(), (Rows{"ZF001 2", "ZF002 2", "ZF003 1", "ZF004 1"}));
  EXPECT_EQ(db.value("SELECT count(*) FROM fence_refusals WHERE at GLOB"
                     " '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                     ".[0-9][0-9][0-9]Z' AND abs(julianday('now') - julianday(at)) < 0.01"),
            "6");
}

// An answer of try_… is evidence and no error, an error of fence_check no evidence.
TEST_F(Evidence, of_those_who_only_try_and_of_those_who_only_ask) {
  EXPECT_OK(db, "SELECT try_oplog_metadata_upsert('n', 'k', 6, " + quoted(w2) + ")");
  EXPECT_EQ(refusals(), Rows{"ZF001|n|k|6" + by_w2 + "|7" + by_w1});
  EXPECT_EQ(counts(), Rows{});
  EXPECT_REFUSED(db, check("k", 6, w2), "ZF001", auth);
  EXPECT_EQ(refusals().size(), 1u);
  EXPECT_EQ(counts(), Rows{"ZF001 1"});
}

TEST_F(Evidence, of_many_claims_names_the_key_that_was_refused) {
  EXPECT_REFUSED(db,
                 "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"a\",\"epoch\":1},"
                 "{\"key\":\"k\",\"epoch\":1}]', " +
                     quoted(w2) + ")",
                 "ZF001", auth);
  EXPECT_EQ(refusals(), Rows{"ZF001|n|k|1" + by_w2 + "|7" + by_w1});
}

TEST_F(Evidence, is_not_kept_of_what_says_nothing_about_owners) {
  EXPECT_REFUSED(db, append("k", -1, w1, 3, "x"), "ZF010", plain_error);
  EXPECT_REFUSED(db, append("k", 7, w1, 1, "x"), "ZF013", conflict);
  EXPECT_REFUSED(db, "SELECT fenced_append('n', 'k', NULL, " + quoted(w1) + ", 3, 'x')", "ZF012",
                 plain_error);
  EXPECT_REFUSED(db, "SELECT * FROM oplog_read('n', '')", "ZF010", plain_error);
  EXPECT_REFUSED(db, "SELECT fence_fingerprint('x')", "ZF010", plain_error);
  EXPECT_REFUSED(db, "SELECT fence_guard_v1('never')", "ZF005", auth);
  EXPECT_FALSE(db.exec("SELECT * FROM nothing").ok());
  EXPECT_EQ(refusals(), Rows{});
  EXPECT_EQ(counts(), (Rows{"ZF005 1", "ZF010 3", "ZF012 1", "ZF013 1"}));
}

TEST_F(Evidence, outlives_the_transaction_whose_commit_is_counted_as_well) {
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, append("k", 6, w2, 3, "x"), "ZF001", auth);
  EXPECT_DOOMED(db, append("k", 7, w1, 3, "x"), "ZF001");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(refusals(), Rows{"ZF001|n|k|6" + by_w2 + "|7" + by_w1});
  EXPECT_EQ(counts(), (Rows{"ZF001 1", "ZF009 2"}));
  ASSERT_OK(db, "SAVEPOINT s");
  EXPECT_REFUSED(db, append("k", 5, w2, 3, "x"), "ZF001", auth);
  ASSERT_OK(db, "ROLLBACK TO s; ROLLBACK");
  EXPECT_EQ(refusals().size(), 2u);
  EXPECT_EQ(counts(), (Rows{"ZF001 2", "ZF009 2"}));
}

TEST_F(Evidence, keeps_the_newest_512_newest_last) {
  for (int epoch = 0; epoch < 600; ++epoch) {
    db.exec(append("k" + std::to_string(epoch), epoch, w2, 3, "x"));
  }
  const Rows kept = refusals();
  ASSERT_EQ(kept.size(), 512u);
  EXPECT_EQ(kept.front(), "ZF003|n|k88|88" + by_w2 + "|NULL|NULL");
  EXPECT_EQ(kept.back(), "ZF003|n|k599|599" + by_w2 + "|NULL|NULL");
  EXPECT_EQ(count("ZF003"), "600");
  EXPECT_EQ(db.value("SELECT min(rowid), max(rowid) FROM fence_refusals"), "89|600");
}

// Whoever reads the table and is refused in the same statement.
TEST_F(Evidence, can_grow_while_it_is_read) {
  for (int i = 0; i < 512; ++i) {
    db.exec(append("k", 6, w2, 3, "x"));
  }
  const std::string refuse = "try_oplog_metadata_upsert('n', 'k', 6, " + quoted(w2) + ")";
  EXPECT_EQ(db.value("SELECT count(*), count(" + refuse + ") FROM fence_refusals"), "512|512");
  EXPECT_EQ(db.value("SELECT sum(length(" + refuse +
                     ") > 0), count(code) < 512 FROM"
                     " fence_refusals"),
            "512|1")
      << "a row that gave way is empty";
  EXPECT_EQ(refusals().size(), 512u);
}

TEST_F(Evidence, has_names_of_any_length_and_letters) {
  const std::string name(255, 'x');
  EXPECT_FALSE(db.exec(append(name, 6, w2, 3, "x")).ok());
  EXPECT_FALSE(db.exec(append("é😀'\"", 6, w2, 3, "x")).ok());
  EXPECT_EQ(db.rows("SELECT key FROM fence_refusals"), (Rows{name, "é😀'\""}));
}

TEST_F(Evidence, is_of_one_connection_and_read_only) {
  EXPECT_FALSE(db.exec(append("k", 6, w2, 3, "x")).ok());
  Database other;
  EXPECT_EQ(other.value("SELECT count(*) FROM fence_refusals"), "0");
  EXPECT_FALSE(db.exec("DELETE FROM fence_refusals").ok());
  EXPECT_FALSE(db.exec("INSERT INTO fence_stat VALUES (1, 2, 3)").ok());
  ASSERT_TRUE(succeeded(db.load()));
  EXPECT_EQ(refusals().size(), 1u) << "loading again changes nothing";
}

TEST_F(Evidence, of_a_record_that_was_tampered_with) {
  TemporaryDirectory directory;
  const std::string path = directory.file("fence.db");
  {
    Database owner(path);
    ASSERT_OK(owner, claim("k", 7, w1) + ";" + claim("d", 7, w1) + ";" + del("d", 7));
  }
  edit(path, "UPDATE fence_meta_v1 SET epoch = 3");
  Database owner(path, Setup::loaded);
  EXPECT_REFUSED(owner, append("k", 7, w1, 1, "x"), "ZF020", auth);
  EXPECT_REFUSED(owner, purge(), "ZF020", auth);
  EXPECT_EQ(owner.rows("SELECT code, namespace, key FROM fence_refusals"),
            (Rows{"ZF020|n|k", "ZF020|n|d"}));
}

// The guard's ZF005 inside a call becomes the ZF020 of the call: one error.
TEST_F(Evidence, counts_what_the_application_is_told) {
  ASSERT_OK(db, "SELECT fence_config('defensive', 0)");
  ASSERT_OK(db,
            "CREATE TEMP TRIGGER thief BEFORE INSERT ON main.fence_oplog_v1 BEGIN"
            " SELECT fence_guard_v1('entry', NEW.namespace, NEW.key, NEW.idx, NEW.epoch,"
            " NEW.writer, NEW.payload, NEW.late, NEW.seal); END");
  EXPECT_REFUSED(db, append("k", 7, w1, 3, "x"), "ZF020", auth);
  EXPECT_EQ(counts(), Rows{"ZF020 1"});
  EXPECT_EQ(refusals().size(), 1u);
}

// A refusal stays what it is, and is missing in the evidence.
TEST(EvidenceMemory, that_runs_out_makes_no_other_error_of_a_refusal) {
  FailingMemory memory;
  int lost = 0;
  for (int after = 0; after < 2000; ++after) {
    Database db;
    ASSERT_OK(db, claim("k", 7, w1));
    ASSERT_OK(db, append("k", 7, w1, 1, "x"));
    Statement stale(db, append("k", 6, w2, 3, "x"));
    memory.fail_after(after);
    stale.step();
    const int rc = stale.finalize();
    const bool failed = memory.failed();
    memory.stop();
    EXPECT_TRUE(rc == auth || rc == SQLITE_NOMEM) << after << ": " << rc;
    const std::string kept = db.value("SELECT count(*) FROM fence_refusals");
    EXPECT_TRUE(rc != auth || failed || kept == "1");
    lost += rc == auth && kept == "0" ? 1 : 0;
    EXPECT_EQ(entries(db), Rows{"k|1|7|x"});
    if (!failed) {
      break;
    }
  }
  EXPECT_GE(lost, 2) << "the ring, and the refusal in it";
}

}  // namespace
}  // namespace fence::test
