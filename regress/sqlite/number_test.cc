// Numbers as SQLite binds them: taken exactly or refused, never wrapped, never
// rounded (spec section 1; every number of every call).
#include <cmath>
#include <limits>

#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

const std::string owner = quoted(w1);

// A call that is good but for one number, `@`.
struct Hole {
  const char* what;
  std::string sql;
  bool is_epoch;  // NULL is then ZF012: the mode needs an epoch
};

const Hole holes[] = {
    {"claim", "SELECT oplog_metadata_upsert('n', 'k', @, " + owner + ")", true},
    {"try claim", "SELECT try_oplog_metadata_upsert('n', 'k', @, " + owner + ")", true},
    {"append", "SELECT fenced_append('n', 'k', @, " + owner + ", 3, 'x')", true},
    {"insert", "INSERT INTO fenced_append VALUES ('n', 'k', @, " + owner + ", 3, 'x')", true},
    {"append many",
     "SELECT fenced_append_many('n', 'k', @, " + owner + ", '[3]', fence_blobs('x'))", true},
    {"append nothing", "SELECT fenced_append_many('n', 'k', @, " + owner + ", '[]', x'')", true},
    {"check", "SELECT fence_check('n', 'k', @, " + owner + ")", true},
    {"idx", "SELECT fenced_append('n', 'k', 7, " + owner + ", @, 'x')", false},
    {"idx of insert", "INSERT INTO fenced_append VALUES ('n', 'k', 7, " + owner + ", @, 'x')",
     false},
};

// Here NULL is a value of its own.
const Hole nullable_holes[] = {
    {"from", "SELECT count(*) FROM oplog_read('n', 'k', @)", false},
    {"to", "SELECT count(*) FROM oplog_read('n', 'k', 0, @)", false},
    {"max", "SELECT count(*) FROM oplog_read('n', 'k', 0, NULL, @)", false},
};

const char* const refused_everywhere[] = {
    // integers
    "-1",
    "-9223372036854775808",
    "0xffffffffffffffff",
    "-5",
    // reals
    "0.5",
    "1.5",
    "-0.5",
    "-1.0",
    "9007199254740992.0",
    "9007199254740993.0",
    "1e18",
    "9223372036854775808",
    "9223372036854775807 + 1",
    "18446744073709551615",
    "-9223372036854775809",
    "1e308",
    "1e999",
    "-1e999",
    "5e-324",
    // text
    "''",
    "'007'",
    "'00'",
    "'01'",
    "' 5'",
    "'5 '",
    "'+5'",
    "'-1'",
    "'-0'",
    "'1.0'",
    "'5.'",
    "'.5'",
    "'1e3'",
    "'0x10'",
    "'1_000'",
    "'5a'",
    "'five'",
    "'NULL'",
    "'9223372036854775808'",
    "'18446744073709551616'",
    "'99999999999999999999'",
    "'5' || char(10)",
    "char(9) || '5'",
    "CAST(x'3500' AS TEXT)",
    "CAST(x'350036' AS TEXT)",
    "CAST(x'00' AS TEXT)",
    "CAST(x'ff' AS TEXT)",
    "'\xef\xbc\x95'",
    "'\xd9\xa5'",
    "hex(zeroblob(50000))",
    // bytes
    "x'35'",
    "x''",
    "x'0000000000000005'",
    "zeroblob(8)",
};

class Number : public OwnedLog {};

TEST_F(Number, that_is_not_whole_or_not_in_range_is_ZF010_wherever_it_stands) {
  for (const char* number : refused_everywhere) {
    for (const Hole& hole : holes) {
      SCOPED_TRACE(hole.what);
      expect_clean_refusal(db, filled(hole.sql, number), "ZF010");
    }
    for (const Hole& hole : nullable_holes) {
      SCOPED_TRACE(hole.what);
      expect_clean_refusal(db, filled(hole.sql, number), "ZF010");
    }
  }
}

TEST_F(Number, NULL_is_ZF010_and_ZF012_for_an_epoch_that_the_mode_needs) {
  for (const Hole& hole : holes) {
    SCOPED_TRACE(hole.what);
    expect_clean_refusal(db, filled(hole.sql, "NULL"), hole.is_epoch ? "ZF012" : "ZF010");
  }
}

struct Taken {
  const char* given;
  const char* value;
};

const Taken taken[] = {
    {"0", "0"},
    {"-0", "0"},
    {"5", "5"},
    {"007", "7"},  // the leading zeros of a literal never arrive
    {"0x10", "16"},
    {"TRUE", "1"},
    {"9007199254740993", "9007199254740993"},
    {"9223372036854775806", "9223372036854775806"},
    {"9223372036854775807", "9223372036854775807"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"1.0", "1"},
    {"1e3", "1000"},
    {"-0.0", "0"},
    {"9007199254740991.0", "9007199254740991"},
    {"'0'", "0"},
    {"'5'", "5"},
    {"'9007199254740993'", "9007199254740993"},
    {"'9223372036854775807'", "9223372036854775807"},
};

TEST_F(Number, as_epoch_of_a_claim_is_stored_as_it_was_meant) {
  for (const Taken& c : taken) {
    for (const char* function : {"oplog_metadata_upsert", "try_oplog_metadata_upsert"}) {
      Database fresh;
      EXPECT_OK(fresh,
                std::string("SELECT ") + function + "('n', 'k', " + c.given + ", " + owner + ")");
      EXPECT_EQ(fresh.value("SELECT typeof(epoch), epoch FROM oplog_metadata"),
                std::string("integer|") + c.value)
          << function << " " << c.given;
    }
  }
}

TEST_F(Number, as_epoch_of_a_write_means_the_same_as_in_the_claim) {
  for (const Taken& c : taken) {
    Database fresh;
    ASSERT_OK(fresh, filled("SELECT oplog_metadata_upsert('n', 'k', @, " + owner + ")", c.value));
    for (const Hole& hole : holes) {
      if (!hole.is_epoch) continue;
      EXPECT_OK(fresh, filled(hole.sql, c.given)) << hole.what << " " << c.given;
    }
    EXPECT_EQ(fresh.value("SELECT idx, epoch FROM oplog_entries"), std::string("3|") + c.value);
  }
}

TEST_F(Number, as_idx_is_stored_as_it_was_meant) {
  for (const Taken& c : taken) {
    for (const Hole& hole : holes) {
      if (hole.is_epoch) continue;
      Database fresh;
      ASSERT_OK(fresh, claim("k", 7, w1));
      EXPECT_OK(fresh, filled(hole.sql, c.given));
      EXPECT_EQ(fresh.value("SELECT typeof(idx), idx FROM oplog_entries"),
                std::string("integer|") + c.value)
          << hole.what << " " << c.given;
    }
  }
}

TEST_F(Number, as_bound_of_a_read_is_taken_alike) {
  Database fresh;
  ASSERT_OK(fresh, claim("k", 7, w1));
  for (const char* idx : {"0", "1", "5", "7", "16", "1000", "9007199254740991", "9007199254740993",
                          "9223372036854775806", "9223372036854775807"}) {
    ASSERT_OK(fresh, append("k", 7, w1, std::stoll(idx), "x"));
  }
  for (const Taken& c : taken) {
    EXPECT_EQ(fresh.rows(filled("SELECT idx FROM oplog_read('n', 'k', @, @)", c.given)),
              std::vector<std::string>{c.value})
        << c.given;
  }
}

// What cannot be written as a literal: the values that drivers bind.
TEST_F(Number, bound_by_a_driver_follows_the_same_rules) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    const char* what;
    Value value;
    bool good;
  } cases[] = {
      {"integer 7", Value::integer(7), true},
      {"real 7", Value::real(7.0), true},
      {"text 7", Value::text("7"), true},
      {"integer -7", Value::integer(-7), false},
      {"least integer", Value::integer(INT64_MIN), false},
      {"2^53", Value::real(9007199254740992.0), false},
      {"2^63", Value::real(9223372036854775808.0), false},
      {"-2^63", Value::real(-9223372036854775808.0), false},
      {"just below 7", Value::real(std::nextafter(7.0, 0.0)), false},
      {"just above 7", Value::real(std::nextafter(7.0, 8.0)), false},
      {"least real", Value::real(std::numeric_limits<double>::denorm_min()), false},
      {"greatest real", Value::real(std::numeric_limits<double>::max()), false},
      {"infinity", Value::real(infinity), false},
      {"minus infinity", Value::real(-infinity), false},
      {"text with NUL", Value::text(std::string("7\0", 2)), false},
      {"text behind NUL",
       Value::text(std::string("\0"
                               "7",
                               2)),
       false},
      {"empty text", Value::text(""), false},
      {"bytes", Value::blob("7"), false},
      {"no bytes", Value::blob(""), false},
  };
  for (const auto& c : cases) {
    for (const Hole& hole : holes) {
      SCOPED_TRACE(std::string(hole.what) + " " + c.what);
      const std::string sql = filled(hole.sql, "?1");
      if (c.good) {
        EXPECT_TRUE(succeeded(run(db, sql, {c.value})));
      } else {
        expect_clean_refusal(db, sql, {c.value}, "ZF010");
      }
    }
  }
}

// SQLite turns a bound NaN into NULL before anybody sees it.
TEST_F(Number, NaN_arrives_as_NULL) {
  const Value nan = Value::real(std::numeric_limits<double>::quiet_NaN());
  for (const Hole& hole : holes) {
    SCOPED_TRACE(hole.what);
    expect_clean_refusal(db, filled(hole.sql, "?1"), {nan}, hole.is_epoch ? "ZF012" : "ZF010");
  }
}

TEST_F(Number, in_json_follows_the_same_rules) {
  const std::string claims =
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"j\",\"epoch\":@}]', " + owner + ")";
  const std::string idxs =
      "SELECT fenced_append_many('n', 'k', 7, " + owner + ", '[@]', fence_blobs('x'))";
  for (const char* number : {
           "-1",
           "0.5",
           "1e400",
           "9223372036854775808",
           "-9223372036854775809",
           "\"007\"",
           "\" 5\"",
           "\"5 \"",
           "\"+5\"",
           "\"-1\"",
           "\"1.0\"",
           "\"1e3\"",
           "\"0x10\"",
           "\"\"",
           "\"9223372036854775808\"",
           "\"5\\u0000\"",
           "\"five\"",
           "true",
           "[5]",
           "{}",
           "007",
           "+5",
           "0x10",
           ".5",
           "5.",
           "NaN",
           "Infinity",
       }) {
    expect_clean_refusal(db, filled(claims, number), "ZF010");
    expect_clean_refusal(db, filled(idxs, number), "ZF010");
  }
}

TEST_F(Number, that_sqlite_itself_clamps_cannot_be_told_from_the_greatest) {
  ASSERT_OK(db, "SELECT oplog_metadata_upsert('n', 'k', CAST('9223372036854775808' AS INTEGER), " +
                    owner + ")");
  EXPECT_EQ(db.value("SELECT epoch FROM oplog_metadata WHERE key = 'k'"), "9223372036854775807");
}

}  // namespace
}  // namespace fence::test
