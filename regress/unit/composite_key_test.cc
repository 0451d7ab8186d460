#include "core/composite_key.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "regress/unit/json.h"

namespace fence::test {
namespace {

using Columns = std::vector<std::string>;

std::string key_of(const Columns& columns) {
  CompositeKey key;
  for (const std::string& column : columns) key.add(column);
  EXPECT_TRUE(key.fits());
  return std::string(key.text());
}

// The way back, which nothing but a test needs: there is one, so no two lists share a text.
Columns columns_of(const std::string& key) {
  Columns columns(1);
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '/') {
      columns.emplace_back();
    } else {
      columns.back() += key[i] == '\\' ? key.at(++i) : key[i];
    }
  }
  return columns;
}

// The file stands for other engines and clients as well.
TEST(CompositeKey, gives_the_texts_of_the_golden_vectors) {
  std::ifstream file("regress/vectors/fence_key.json");
  ASSERT_TRUE(file) << "the tests run in the top folder";
  std::stringstream text;
  text << file.rdbuf();
  const Json vectors(text.str());
  ASSERT_TRUE(vectors.valid());
  int count = 0;
  for (; vectors.type("[" + std::to_string(count) + "]") == "object"; ++count) {
    const std::string vector = "[" + std::to_string(count) + "]";
    CompositeKey key;
    for (int column = 0;; ++column) {
      const std::string path = vector + ".columns[" + std::to_string(column) + "]";
      const std::string type = vectors.type(path);
      if (type == "NULL") break;
      const std::string value = vectors.at(path);
      if (type == "integer") {
        key.add_integer(std::stoll(value));
      } else {
        ASSERT_EQ(type, "text") << path;
        key.add(value);
      }
    }
    EXPECT_EQ(key.text(), vectors.at(vector + ".key")) << vector;
    EXPECT_EQ(key.fault(), NameFault::none) << vector;
  }
  EXPECT_GT(count, 20);
}

TEST(CompositeKey, escapes_a_single_column_too) {
  EXPECT_EQ(key_of({"a/b"}), "a\\/b");
  EXPECT_EQ(key_of({"a\\b"}), "a\\\\b");
}

TEST(CompositeKey, writes_truth_as_a_word) {
  CompositeKey key;
  key.add_boolean(true);
  key.add_boolean(false);
  EXPECT_EQ(key.text(), "true/false");
}

TEST(CompositeKey, of_every_short_list_of_columns_is_another_one) {
  const Columns texts = {"",   "a",   "/",   "\\",  "aa",   "a/",    "a\\",  "/a",
                         "//", "/\\", "\\a", "\\/", "\\\\", "\\/\\", "/\\/", "\\\\/"};
  std::map<std::string, Columns> seen;
  const auto see = [&](const Columns& columns) {
    const std::string key = key_of(columns);
    EXPECT_EQ(columns_of(key), columns) << key;
    EXPECT_TRUE(seen.emplace(key, columns).second) << key;
  };
  for (const std::string& a : texts) {
    see({a});
    for (const std::string& b : texts) {
      see({a, b});
      for (const std::string& c : texts) see({a, b, c});
    }
  }
  EXPECT_EQ(seen.size(), 16U + 16 * 16 + 16 * 16 * 16);
}

TEST(CompositeKey, of_random_columns_leads_back_to_them) {
  std::mt19937 random(20);
  const std::string letters = "ab01/\\/\\\xc3\xb6 -.\x01";
  const auto below = [&](size_t limit) { return random() % limit; };
  std::map<std::string, Columns> seen;
  for (int i = 0; i < 20000; ++i) {
    Columns columns(1 + below(6));
    for (std::string& column : columns) {
      for (size_t length = below(12); length > 0; --length)
        column += letters[below(letters.size())];
    }
    const std::string key = key_of(columns);
    EXPECT_EQ(columns_of(key), columns) << key;
    EXPECT_EQ(seen.emplace(key, columns).first->second, columns) << key;
  }
}

TEST(CompositeKey, holds_255_bytes_separators_and_escapes_included) {
  const struct {
    Columns columns;
    bool fits;
  } cases[] = {
      {{std::string(255, 'k')}, true},
      {{std::string(256, 'k')}, false},
      {{std::string(1000000, 'k')}, false},
      {{std::string(127, '/')}, true},
      {{std::string(128, '/')}, false},
      {{std::string(127, '\\') + "k"}, true},
      {{std::string(127, '\\') + "/"}, false},
      {{std::string(127, 'k'), std::string(127, 'k')}, true},
      {{std::string(127, 'k'), std::string(128, 'k')}, false},
      {{std::string(255, 'k'), ""}, false},
      {{std::string(256, 'k'), "a"}, false},
      {Columns(256), true},
      {Columns(257), false},
  };
  for (const auto& one : cases) {
    CompositeKey key;
    for (const std::string& column : one.columns) key.add(column);
    EXPECT_EQ(key.fits(), one.fits) << one.columns[0].size() << " " << one.columns.size();
    EXPECT_EQ(key.fault(), one.fits ? NameFault::none : NameFault::too_long);
    EXPECT_LE(key.text().size(), longest_name);
  }
}

TEST(CompositeKey, that_did_not_fit_once_never_fits_again) {
  CompositeKey key;
  key.add(std::string(256, 'k'));
  key.add("");
  key.add_integer(7);
  EXPECT_FALSE(key.fits());
}

TEST(CompositeKey, of_nothing_is_empty) {
  CompositeKey key;
  EXPECT_EQ(key.fault(), NameFault::empty) << "no column";
  EXPECT_EQ(key.text(), "");
  EXPECT_TRUE(key.fits());
  key.add("");
  EXPECT_EQ(key.fault(), NameFault::empty) << "one column, which is empty";
  key.add("");
  EXPECT_EQ(key.fault(), NameFault::none) << "two columns";
}

}  // namespace
}  // namespace fence::test
