// M5, M10. A claim and fence_install are transactions of their own. Inside an
// open one, or inside a statement that writes, they are ZF012: the statement
// fails, nothing is doomed.
#include "regress/sqlite/transaction.h"

namespace fence::test {
namespace {

class OwnTransaction : public TransactionTest {
 protected:
  // Each as an expression.
  std::vector<std::string> calls() const {
    return {
        claim("mine", 2, w1).substr(7),
        claim("mine", 1, w1).substr(7),
        claim("fresh", 1, w1).substr(7),
        "try_oplog_metadata_upsert('n', 'mine', 2, " + quoted(w1) + ")",
        "oplog_metadata_upsert_many('n', '[{\"key\":\"mine\",\"epoch\":2}]', " + quoted(w1) + ")",
        "oplog_metadata_upsert_many('n', '[]', " + quoted(w1) + ")",
        "fence_install()",
    };
  }
  std::vector<std::string> records() {
    Database observer(path, Setup::plain);
    return observer.rows("SELECT key, epoch, writer FROM oplog_metadata ORDER BY key");
  }
  const std::vector<std::string> untouched = {std::string("k|5|") + w2_fingerprint,
                                              std::string("mine|1|") + w1_fingerprint};
};

TEST_F(OwnTransaction, calls_in_an_open_transaction_fail_alone) {
  const std::string beginnings[] = {
      "BEGIN",
      "BEGIN IMMEDIATE",
      "BEGIN EXCLUSIVE",
      "BEGIN; SELECT count(*) FROM note",
      "BEGIN; INSERT INTO note VALUES ('undone')",
      "SAVEPOINT a",
      "BEGIN; SAVEPOINT a; SAVEPOINT b",
  };
  for (const std::string& begin : beginnings) {
    SCOPED_TRACE(begin);
    for (const std::string& call : calls()) {
      SCOPED_TRACE(call);
      ASSERT_OK(db, begin);
      EXPECT_REFUSED(db, "SELECT " + call, "ZF012", plain_error);
      EXPECT_FALSE(db.autocommit());
      EXPECT_OK(db, "COMMIT; DELETE FROM note");
    }
  }
  EXPECT_EQ(records(), untouched);
}

// M10: the work for one key can still commit.
TEST_F(OwnTransaction, a_claim_of_another_key_leaves_the_transaction_able_to_commit) {
  ASSERT_OK(db, "BEGIN IMMEDIATE; INSERT INTO note VALUES ('kept');" + good);
  EXPECT_REFUSED(db, claim("k", 6, w1), "ZF012", plain_error);
  EXPECT_OK(db, append("mine", 1, w1, 2, "more") + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"kept", "mine|1|1|good", "mine|2|1|more"}));
  EXPECT_EQ(records(), untouched);
}

TEST_F(OwnTransaction, calls_inside_a_statement_that_writes_fail_it_and_store_nothing) {
  const std::string other = directory.file("other.db");
  ASSERT_OK(db, "ATTACH " + quoted(other) +
                    " AS other; CREATE TABLE other.seen(value);"
                    "CREATE TEMP TABLE scratch(value); INSERT INTO note VALUES ('a')");
  for (const std::string& call : calls()) {
    const std::string statements[] = {
        "INSERT INTO note SELECT " + call,
        "INSERT INTO note VALUES ('first'), (" + call + ")",
        "UPDATE note SET text = " + call,
        "DELETE FROM note WHERE " + call + " IS NOT 0",
        "INSERT INTO temp.scratch SELECT " + call,
        "INSERT INTO other.seen SELECT " + call,
    };
    for (const std::string& statement : statements) {
      SCOPED_TRACE(statement);
      EXPECT_REFUSED(db, statement, "ZF012", plain_error);
      EXPECT_TRUE(db.autocommit());
      EXPECT_EQ(stored(), (std::vector<std::string>{"a"}));
    }
  }
  EXPECT_EQ(db.value("SELECT count(*) FROM temp.scratch"), "0");
  EXPECT_EQ(db.value("SELECT count(*) FROM other.seen"), "0");
  EXPECT_EQ(records(), untouched);
  EXPECT_OK(db, good) << "and nothing is doomed";
}

TEST_F(OwnTransaction, calls_inside_a_table_that_is_being_made_fail_it_too) {
  for (const char* make : {"CREATE TABLE made AS SELECT ", "CREATE TEMP TABLE made AS SELECT "}) {
    const std::string statement = make + claim("mine", 2, w1).substr(7) + " AS value";
    SCOPED_TRACE(statement);
    EXPECT_REFUSED(db, statement, "ZF012", plain_error);
    EXPECT_EQ(db.value("SELECT count(*) FROM made"), "error: no such table: made");
  }
  EXPECT_EQ(records(), untouched);
}

// The bulk form of the append is a statement that writes as well.
TEST_F(OwnTransaction, a_claim_inside_an_append_fails_it_and_stores_nothing) {
  EXPECT_REFUSED(db,
                 "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) SELECT"
                 " 'n', 'mine', 1, " +
                     quoted(w1) + ", 1, " + claim("mine", 2, w1).substr(7),
                 "ZF012", plain_error);
  EXPECT_EQ(stored(), nothing);
  EXPECT_EQ(records(), untouched);
}

// A query is no transaction of the application: SQLite opens and ends it.
TEST_F(OwnTransaction, a_claim_in_a_query_that_reads_a_table_works) {
  ASSERT_OK(db, "INSERT INTO note VALUES ('mine'), ('fresh')");
  EXPECT_EQ(
      db.rows("SELECT text, oplog_metadata_upsert('n', text, 7, " + quoted(w1) + ") FROM note"),
      (std::vector<std::string>{"mine|NULL", "fresh|NULL"}));
  EXPECT_EQ(records(), (std::vector<std::string>{std::string("fresh|7|") + w1_fingerprint,
                                                 std::string("k|5|") + w2_fingerprint,
                                                 std::string("mine|7|") + w1_fingerprint}));
}

TEST_F(OwnTransaction, a_refused_claim_outside_changes_nothing_and_dooms_nothing) {
  EXPECT_REFUSED(db, claim("k", 4, w1), "ZF001", auth);
  EXPECT_REFUSED(db, claim("k", 5, w1), "ZF002", auth);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(records(), untouched);
  EXPECT_OK(db, "BEGIN;" + good + "; COMMIT");
}

}  // namespace
}  // namespace fence::test
