// The static library, as a C program of somebody else links it: no C++ run time,
// no extension loading.
#include <cstdio>
#include <filesystem>

#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

// A library that was built with a sanitizer is linked by that compiler, with its run time.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define FENCE_TEST_LINK "clang -fsanitize=address,undefined"
#endif
#endif
#ifdef FENCE_TEST_LINK
const char compile[] = FENCE_TEST_LINK;
#else
const char compile[] = "cc";
#endif

// The output of a shell command, with its exit status as the last line.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1; echo exit $?").c_str(), "r");
  if (pipe == nullptr) {
    return "popen failed";
  }
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) {
    output.append(buffer, size);
  }
  pclose(pipe);
  return output;
}

TEST(StaticLibrary, serves_every_connection_of_a_c_program) {
  const TemporaryDirectory directory;
  const std::string built = std::filesystem::path(extension_path()).parent_path();
  const std::string here = std::filesystem::path(__FILE__).parent_path();
  const std::string program = directory.file("program");
  ASSERT_EQ(
      output_of(std::string(compile) + " -Wall -Wextra -Werror -I" + built + " -o " + program +
                " " + here + "/static/program.c " + built + "/libfence.a -lsqlite3"),
      "exit 0\n");
  EXPECT_EQ(output_of(program),
            "1\n"
            "NULL\n"
            "1\n"
            "1|5|a\n"
            "2|5|b\n"
            "23 ZF001 stale_epoch\n"
            "23 ZF009 transaction_refused\n"
            "1 table fence_oplog_v1 may not be modified\n"
            "1\n"
            "2\n"
            "close 0\n"
            "exit 0\n");
}

}  // namespace
}  // namespace fence::test
