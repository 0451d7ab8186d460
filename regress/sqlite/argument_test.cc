// Names, writers, payloads and NULLs as they arrive: one clear error each (spec 1 and 2).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

// Calls that are good but for one argument, `@`.
struct Hole {
  const char* what;
  std::string sql;
};

const std::string owner = quoted(w1);

const Hole namespace_holes[] = {
    {"claim", "SELECT oplog_metadata_upsert(@, 'k', 7, " + owner + ")"},
    {"try claim", "SELECT try_oplog_metadata_upsert(@, 'k', 7, " + owner + ")"},
    {"claims",
     "SELECT oplog_metadata_upsert_many(@, '[{\"key\":\"k\",\"epoch\":7}]', " + owner + ")"},
    {"no claims", "SELECT oplog_metadata_upsert_many(@, '[]', " + owner + ")"},
    {"append", "SELECT fenced_append(@, 'k', 7, " + owner + ", 3, 'x')"},
    {"insert", "INSERT INTO fenced_append VALUES (@, 'k', 7, " + owner + ", 3, 'x')"},
    {"append many", "SELECT fenced_append_many(@, 'k', 7, " + owner + ", '[3]', fence_blobs('x'))"},
    {"append nothing", "SELECT fenced_append_many(@, 'k', 7, " + owner + ", '[]', x'')"},
    {"check", "SELECT fence_check(@, 'k', 7, " + owner + ")"},
    {"read", "SELECT count(*) FROM oplog_read(@, 'k')"},
};

const Hole key_holes[] = {
    {"claim", "SELECT oplog_metadata_upsert('n', @, 7, " + owner + ")"},
    {"try claim", "SELECT try_oplog_metadata_upsert('n', @, 7, " + owner + ")"},
    {"append", "SELECT fenced_append('n', @, 7, " + owner + ", 3, 'x')"},
    {"insert", "INSERT INTO fenced_append VALUES ('n', @, 7, " + owner + ", 3, 'x')"},
    {"append many", "SELECT fenced_append_many('n', @, 7, " + owner + ", '[3]', fence_blobs('x'))"},
    {"append nothing", "SELECT fenced_append_many('n', @, 7, " + owner + ", '[]', x'')"},
    {"check", "SELECT fence_check('n', @, 7, " + owner + ")"},
    {"read", "SELECT count(*) FROM oplog_read('n', @)"},
};

const Hole writer_holes[] = {
    {"claim", "SELECT oplog_metadata_upsert('n', 'k', 7, @)"},
    {"try claim", "SELECT try_oplog_metadata_upsert('n', 'k', 7, @)"},
    {"claims", "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":7}]', @)"},
    {"no claims", "SELECT oplog_metadata_upsert_many('n', '[]', @)"},
    {"append", "SELECT fenced_append('n', 'k', 7, @, 3, 'x')"},
    {"insert", "INSERT INTO fenced_append VALUES ('n', 'k', 7, @, 3, 'x')"},
    {"append many", "SELECT fenced_append_many('n', 'k', 7, @, '[3]', fence_blobs('x'))"},
    {"append nothing", "SELECT fenced_append_many('n', 'k', 7, @, '[]', x'')"},
    {"check", "SELECT fence_check('n', 'k', 7, @)"},
    {"fingerprint", "SELECT fence_fingerprint(@)"},
};

class Argument : public OwnedLog {
 protected:
  template <size_t count>
  void expect_refused_in(const Hole (&holes)[count], const std::string& value, const char* why) {
    for (const Hole& hole : holes) {
      SCOPED_TRACE(std::string(hole.what) + ": " + why);
      expect_clean_refusal(db, filled(hole.sql, value), "ZF010");
    }
  }
};

std::string hex_of(const std::string& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string hex = "x'";
  for (const char c : bytes) {
    hex += digits[static_cast<unsigned char>(c) >> 4];
    hex += digits[static_cast<unsigned char>(c) & 15];
  }
  return hex + "'";
}

// Text of any bytes as an expression of SQL.
std::string text_of(const std::string& bytes) { return "CAST(" + hex_of(bytes) + " AS TEXT)"; }

std::string times(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST_F(Argument, namespace_and_key_that_are_no_names_are_ZF010_in_every_call) {
  const struct {
    std::string value;
    const char* why;
  } cases[] = {
      {"NULL", "NULL"},
      {"''", "empty"},
      {text_of(std::string(256, 'k')), "256 bytes"},
      {text_of(times("\xe2\x82\xac", 86)), "86 characters of 258 bytes"},
      {text_of(std::string("a\0b", 3)), "NUL inside"},
      {text_of(std::string("k\0", 2)), "NUL at the end"},
      {text_of(std::string("\0", 1)), "only NUL"},
      {text_of("\xff"), "no UTF-8"},
      {text_of("k\xc3"), "cut in a character"},
      {text_of("\xc0\x80"), "overlong NUL"},
      {text_of("\xed\xa0\x80"), "a surrogate"},
      {"x'6b'", "bytes"},
      {"5", "integer"},
      {"1.5", "real"},
      {"zeroblob(0)", "no bytes"},
      {"hex(zeroblob(100000))", "200,000 bytes"},
  };
  for (const auto& c : cases) {
    expect_refused_in(namespace_holes, c.value, c.why);
    expect_refused_in(key_holes, c.value, c.why);
  }
}

TEST_F(Argument, that_is_no_name_is_never_repeated_in_the_detail) {
  const Result bad_key =
      db.exec("SELECT fenced_append('n', 'k' || char(0), 7, " + owner + ", 3, 'x')");
  EXPECT_EQ(detail(bad_key, "namespace"), "n");
  EXPECT_EQ(detail(bad_key, "key"), "NULL");
  const Result bad_namespace = db.exec("SELECT fence_check('', 'k', 7, " + owner + ")");
  EXPECT_EQ(detail(bad_namespace, "namespace"), "NULL");
}

TEST_F(Argument, names_of_1_to_255_bytes_are_taken_as_they_are) {
  const std::string names[] = {
      "a",
      " ",
      std::string(255, 'k'),
      times("\xe2\x82\xac", 85),
      "it's \"quoted\" \\ {}[]%_;--/**/",
      "\x01\x1f\x7f\n\t",
      "e\xcc\x81 is not \xc3\xa9",
      "\xf0\x9f\x94\x92",
      "\xef\xbb\xbfmark",
  };
  for (const std::string& name : names) {
    const std::string names_sql = text_of(name) + ", " + text_of(name);
    const std::string call = names_sql + ", 7, " + owner;
    EXPECT_OK(db, "SELECT oplog_metadata_upsert(" + call + ")");
    EXPECT_OK(db, "SELECT fenced_append(" + call + ", 1, 'scalar')");
    EXPECT_OK(db, "INSERT INTO fenced_append VALUES (" + call + ", 2, 'insert')");
    EXPECT_EQ(db.value("SELECT fenced_append_many(" + call + ", '[3]', fence_blobs('many'))"), "1");
    EXPECT_EQ(db.value("SELECT fence_check(" + call + ")"), "1");
    EXPECT_EQ(db.value("SELECT count(*) FROM oplog_read(" + names_sql + ")"), "3");
    EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata WHERE namespace = " + text_of(name) +
                       " AND key = " + text_of(name)),
              "1");
    const Result result = db.exec("SELECT fence_check(" + names_sql + ", 6, " + owner + ")");
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << "with a whole detail";
    EXPECT_EQ(detail(result, "key"), name);
  }
}

TEST_F(Argument, writer_that_is_no_uuid_is_ZF010_in_every_call) {
  const std::string hash = db.value("SELECT lower(hex(writer)) FROM fence_meta_v1 WHERE key = 'k'");
  const struct {
    std::string value;
    const char* why;
  } cases[] = {
      {"NULL", "NULL"},
      {"''", "empty"},
      {"'writer'", "a word"},
      {quoted(w1_fingerprint), "the fingerprint"},
      {"x'" + hash + "'", "the hash as bytes"},
      {hex_of(w1), "the writer as bytes"},
      {quoted(std::string(w1) + " "), "trailing blank"},
      {quoted(std::string(" ") + w1), "leading blank"},
      {quoted(std::string("{") + w1), "only one brace"},
      {quoted(std::string("urn:uuid:") + w1), "a URN"},
      {quoted(std::string(w1).substr(1)), "35 characters"},
      {quoted(std::string(w1) + "0"), "37 characters"},
      {text_of(std::string(w1) + '\0'), "NUL behind"},
      {"'6f1c-2f0e4b7a4d43-9d0e-2f5a8c1b7e9g'", "a letter that is no digit"},
      {"5", "integer"},
      {"1.5", "real"},
  };
  for (const auto& c : cases) expect_refused_in(writer_holes, c.value, c.why);
}

TEST_F(Argument, writer_in_every_spelling_of_a_uuid_is_the_same_writer) {
  const char* const spellings[] = {
      "6f1c2f0e-4b7a-4d43-9d0e-2f5a8c1b7e90",    "6F1C2F0E-4B7A-4D43-9D0E-2F5A8C1B7E90",
      "6f1c2F0e-4b7A-4d43-9D0e-2f5a8c1B7e90",    "6f1c2f0e4b7a4d439d0e2f5a8c1b7e90",
      "{6f1c2f0e-4b7a-4d43-9d0e-2f5a8c1b7e90}",  "{6F1C2F0E4B7A4D439D0E2F5A8C1B7E90}",
      "6f1c-2f0e-4b7a-4d43-9d0e-2f5a-8c1b-7e90", "6f1c2f0e4b7a4d43-9d0e2f5a8c1b7e90",
  };
  int64_t idx = 100;
  for (const char* spelling : spellings) {
    EXPECT_EQ(db.value(std::string("SELECT fence_fingerprint('") + spelling + "')"),
              w1_fingerprint);
    EXPECT_OK(db, claim("k", 7, spelling)) << "a re-open, no ZF002";
    EXPECT_OK(db, append("k", 7, spelling, ++idx, "x"));
    EXPECT_OK(db, insert("k", 7, spelling, ++idx, "x"));
    EXPECT_OK(db, append_many("k", 7, spelling, "[1]", "'one'"));
    EXPECT_EQ(db.value(check("k", 7, spelling)), "1");
  }
  EXPECT_EQ(db.value("SELECT writer FROM oplog_metadata"), w1_fingerprint);
}

// What a role can read must not let it write: views, details and the file itself.
TEST_F(Argument, M8_writer_copied_from_anything_readable_is_never_accepted) {
  const Result refusal = db.exec(append("k", 7, w2, 3, "x"));
  const std::string hash = db.value("SELECT lower(hex(writer)) FROM fence_meta_v1 WHERE key = 'k'");
  ASSERT_EQ(hash.substr(0, 8), w1_fingerprint);
  ASSERT_EQ(hash.size(), 32U) << "reads like a UUID";
  const std::string readable[] = {
      detail(refusal, "stored_writer"),
      detail(refusal, "asserted_writer"),
      db.value("SELECT writer FROM oplog_metadata WHERE key = 'k'"),
      db.value("SELECT writer FROM oplog_status WHERE key = 'k'"),
      hash,
      db.value("SELECT lower(hex(seal)) FROM fence_meta_v1 WHERE key = 'k'"),
      db.value("SELECT lower(hex(seal_key)) FROM fence_control_v1"),
      db.value("SELECT lower(hex(writer)) FROM fence_oplog_v1"),
  };
  const std::string epoch = db.value("SELECT epoch FROM oplog_metadata WHERE key = 'k'");
  const std::vector<std::string> before = contents(db);
  for (const std::string& copied : readable) {
    for (const Hole& hole : writer_holes) {
      if (std::string(hole.what) == "no claims" || std::string(hole.what) == "append nothing" ||
          std::string(hole.what) == "fingerprint") {
        continue;
      }
      const std::string answer = db.value(filled(hole.sql, quoted(copied)));
      EXPECT_TRUE(answer.rfind("error: ZF010", 0) == 0 || answer.rfind("error: ZF002", 0) == 0 ||
                  answer.rfind("{\"owned\":false,\"code\":\"ZF002\"", 0) == 0)
          << hole.what << " as " << copied << ": " << answer;
    }
  }
  EXPECT_EQ(contents(db), before);
  EXPECT_EQ(epoch, "7") << "to know the epoch helps nobody";
}

TEST_F(Argument, payload_that_is_no_bytes_is_ZF010) {
  for (const char* payload : {"NULL", "5", "0", "1.5", "9223372036854775807", "1e999"}) {
    const std::string values = std::string("('n', 'k', 7, ") + owner + ", 3, " + payload + ")";
    expect_clean_refusal(db, "SELECT fenced_append" + values, "ZF010");
    expect_clean_refusal(db, "INSERT INTO fenced_append VALUES " + values, "ZF010");
  }
}

TEST_F(Argument, of_the_wrong_number_is_an_error_of_sqlite) {
  const struct {
    const char* function;
    const char* arguments;
  } cases[] = {
      {"oplog_metadata_upsert", "'n', 'k', 7"},
      {"fenced_append", "'n', 'k', 7, 'w', 1"},
      {"fenced_append", "'n', 'k', 7, 'w', 1, 'x', 2"},
      {"fenced_append_many", "'n', 'k', 7, 'w', '[]'"},
      {"fence_check", "'n'"},
      {"fence_config", ""},
      {"fence_fingerprint", ""},
  };
  for (const auto& c : cases) {
    const std::string name = c.function;
    expect_clean_error(db, "SELECT " + name + "(" + c.arguments + ")", SQLITE_ERROR,
                       "wrong number of arguments to function " + name + "()");
  }
}

}  // namespace
}  // namespace fence::test
