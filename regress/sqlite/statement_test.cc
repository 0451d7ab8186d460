// A call of Fence as a part of a larger statement: what is refused there undoes
// the whole statement, whatever its conflict clause says.
#include "regress/sqlite/transaction.h"

namespace fence::test {
namespace {

class Statements : public TransactionTest {
 protected:
  // Three appends of one statement; the one with idx 2 belongs to another process.
  std::string source() const {
    return "(SELECT 'mine' AS key, 1 AS epoch, 1 AS idx UNION ALL SELECT 'k', 4, 2"
           " UNION ALL SELECT 'mine', 1, 3)";
  }
  std::string call(const std::string& payload = "'x'") const {
    return "fenced_append('n', key, epoch, " + quoted(w1) + ", idx, " + payload + ")";
  }
  std::string bulk(const std::string& verb) const {
    return verb + " INTO fenced_append(namespace, key, epoch, writer, idx, payload)" +
           " SELECT 'n', key, epoch, " + quoted(w1) + ", idx, 'x' FROM " + source();
  }
};

const char* const conflict_clauses[] = {
    "INSERT",           "INSERT OR ABORT",   "INSERT OR FAIL",
    "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR ROLLBACK"};

TEST_F(Statements, a_refused_function_undoes_its_statement_and_dooms_whatever_the_clause) {
  for (const std::string verb : conflict_clauses) {
    SCOPED_TRACE(verb);
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
    EXPECT_REFUSED(db, verb + " INTO note SELECT " + call() + " FROM " + source(), "ZF001", auth);
    EXPECT_FALSE(db.autocommit()) << "the transaction stays open";
    EXPECT_EQ(db.rows("SELECT text FROM note"), (std::vector<std::string>{"before"}));
    EXPECT_EQ(entries(db), nothing) << "the first entry of the statement is undone";
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(stored(), nothing);
  }
}

TEST_F(Statements, a_refused_insert_undoes_its_statement_and_dooms_whatever_the_clause) {
  for (const std::string verb : conflict_clauses) {
    SCOPED_TRACE(verb);
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
    EXPECT_REFUSED(db, bulk(verb), "ZF001", auth);
    EXPECT_FALSE(db.autocommit()) << "the transaction stays open";
    EXPECT_EQ(db.rows("SELECT text FROM note"), (std::vector<std::string>{"before"}));
    EXPECT_EQ(entries(db), nothing) << "the first entry of the statement is undone";
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(stored(), nothing);
  }
}

TEST_F(Statements, a_refused_insert_in_autocommit_stores_nothing_whatever_the_clause) {
  for (const std::string verb : conflict_clauses) {
    SCOPED_TRACE(verb);
    EXPECT_REFUSED(db, bulk(verb), "ZF001", auth);
    EXPECT_TRUE(db.autocommit());
    EXPECT_EQ(stored(), nothing);
  }
  EXPECT_OK(db, good) << "and nothing is doomed";
}

TEST_F(Statements, a_bulk_insert_that_is_all_good_is_stored_at_once) {
  EXPECT_OK(db,
            "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES"
            " ('n', 'mine', 1, " +
                quoted(w1) + ", 1, 'a'), ('n', 'mine', 1, " + quoted(w1) + ", 2, 'b')");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|a", "mine|2|1|b"}));
}

// An index conflict dooms nothing, but it must not leave half a statement either.
TEST_F(Statements, an_index_conflict_undoes_its_statement_and_no_more) {
  ASSERT_OK(db, append("mine", 1, w1, 2, "taken"));
  const std::string rows = "(SELECT 1 AS idx UNION ALL SELECT 2 UNION ALL SELECT 3)";
  const std::string statements[] = {
      "INSERT OR FAIL INTO note SELECT fenced_append('n', 'mine', 1, " + quoted(w1) +
          ", idx, 'x') FROM " + rows,
      "INSERT OR FAIL INTO fenced_append(namespace, key, epoch, writer, idx, payload) SELECT 'n',"
      " 'mine', 1, " +
          quoted(w1) + ", idx, 'x' FROM " + rows,
      "UPDATE note SET text = fenced_append('n', 'mine', 1, " + quoted(w1) + ", rowid, 'x')",
  };
  ASSERT_OK(db, "INSERT INTO note VALUES ('a'), ('b')");
  for (const std::string& statement : statements) {
    SCOPED_TRACE(statement);
    ASSERT_OK(db, "BEGIN; DELETE FROM note WHERE text = 'c'; INSERT INTO note VALUES ('c')");
    EXPECT_REFUSED(db, statement, "ZF013", conflict);
    EXPECT_OK(db, "COMMIT");
    EXPECT_EQ(stored(), (std::vector<std::string>{"a", "b", "c", "mine|2|1|taken"}));
  }
}

// Outer write statements in autocommit. The call is part of the statement, which
// is the transaction: both are kept or neither.

TEST_F(Statements, a_good_append_inside_a_write_to_main_is_kept_together_with_it) {
  EXPECT_OK(db,
            "INSERT INTO note SELECT fenced_append('n', 'mine', 1, " + quoted(w1) + ", 1, 'good')");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), (std::vector<std::string>{"1", "mine|1|1|good"}));
}

TEST_F(Statements, a_refused_append_inside_a_write_to_main_undoes_both) {
  EXPECT_REFUSED(db, "INSERT INTO note SELECT " + call() + " FROM " + source(), "ZF001", auth);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, good) << "and nothing is doomed";
}

TEST_F(Statements, a_write_to_main_that_fails_takes_its_append_with_it) {
  ASSERT_OK(db, "CREATE TABLE checked(value CHECK (value <> 3))");
  const Result result = db.exec("INSERT INTO checked SELECT fenced_append('n', 'mine', 1, " +
                                quoted(w1) + ", column1, 'x') FROM (VALUES (1), (2), (3))");
  EXPECT_EQ(result.rc, SQLITE_CONSTRAINT_CHECK) << result.message;
  EXPECT_EQ(db.value("SELECT count(*) FROM checked"), "0");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Statements, a_good_append_inside_a_write_to_a_temporary_table_is_kept_together_with_it) {
  ASSERT_OK(db, "CREATE TEMP TABLE scratch(value)");
  EXPECT_OK(db, "INSERT INTO scratch SELECT fenced_append('n', 'mine', 1, " + quoted(w1) +
                    ", 1, 'good')");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(db.rows("SELECT value FROM scratch"), (std::vector<std::string>{"1"}));
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

TEST_F(Statements, a_refused_append_inside_a_write_to_a_temporary_table_undoes_both) {
  ASSERT_OK(db, "CREATE TEMP TABLE scratch(value)");
  EXPECT_REFUSED(db, "INSERT INTO scratch SELECT " + call() + " FROM " + source(), "ZF001", auth);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(db.value("SELECT count(*) FROM scratch"), "0");
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, good) << "and nothing is doomed";
}

TEST_F(Statements, a_good_append_inside_a_write_to_an_attached_file_is_kept_together_with_it) {
  const std::string other = directory.file("other.db");
  ASSERT_OK(db, "ATTACH " + quoted(other) + " AS other; CREATE TABLE other.seen(value)");
  EXPECT_OK(db, "INSERT INTO other.seen SELECT fenced_append('n', 'mine', 1, " + quoted(w1) +
                    ", 1, 'good')");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(db.rows("SELECT value FROM other.seen"), (std::vector<std::string>{"1"}));
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

TEST_F(Statements, a_refused_append_inside_a_write_to_an_attached_file_undoes_both) {
  const std::string other = directory.file("other.db");
  ASSERT_OK(db, "ATTACH " + quoted(other) + " AS other; CREATE TABLE other.seen(value)");
  EXPECT_REFUSED(db, "INSERT INTO other.seen SELECT " + call() + " FROM " + source(), "ZF001",
                 auth);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(db.value("SELECT count(*) FROM other.seen"), "0");
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, good) << "and nothing is doomed";
}

// Two forms of the append inside one statement: the table form calls the function
// for its own column.
TEST_F(Statements, an_append_inside_an_append_stores_both_or_neither) {
  const std::string nested =
      "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)"
      " SELECT 'n', 'mine', 1, " +
      quoted(w1) + ", 1, ";
  EXPECT_REFUSED(db, nested + append("k", 4, w1, 1, "x").substr(7), "ZF001", auth);
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, nested + "CAST(" + append("mine", 1, w1, 2, "inner").substr(7) + " AS TEXT)");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|2", "mine|2|1|inner"}));
}

// A statement that only reads is no transaction: each call commits by itself, as
// in any other SELECT.
TEST_F(Statements, calls_in_a_query_commit_one_by_one) {
  EXPECT_REFUSED(db, "SELECT " + call() + " FROM " + source(), "ZF001", auth);
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|x"}));
}

TEST_F(Statements, calls_in_a_query_of_a_table_commit_one_by_one) {
  ASSERT_OK(db, "INSERT INTO note VALUES ('a'), ('b'), ('c')");
  EXPECT_OK(db, "SELECT fenced_append('n', 'mine', 1, " + quoted(w1) + ", rowid, text) FROM note");
  EXPECT_EQ(stored(),
            (std::vector<std::string>{"a", "b", "c", "mine|1|1|a", "mine|2|1|b", "mine|3|1|c"}));
}

TEST_F(Statements, returning_yields_nothing_of_a_refused_insert) {
  Statement statement(db, insert("k", 4, w1, 1, "x") + " RETURNING idx");
  EXPECT_EQ(statement.step(), SQLITE_ERROR | SQLITE_AUTH);
  statement.finalize();
  EXPECT_EQ(stored(), nothing);
}

}  // namespace
}  // namespace fence::test
