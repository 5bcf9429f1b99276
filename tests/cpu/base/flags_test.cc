#include "base/flags.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kName = "TANDEM_FLAGS_TEST";

class Flags : public ::testing::Test {
 protected:
  ~Flags() override { unsetenv(kName); }
  void set(const char* value) { setenv(kName, value, 1); }
};

TEST_F(Flags, UnsetAndEmptyGiveTheFallback) {
  EXPECT_EQ(env_string(kName), std::nullopt);
  EXPECT_EQ(env_int(kName, 7), 7);
  set("");
  EXPECT_EQ(env_int(kName, 7), 7);
  EXPECT_TRUE(env_bool(kName, true));
}

TEST_F(Flags, Numbers) {
  set("-12");
  EXPECT_EQ(env_int(kName, 0), -12);
  set("2.5");
  EXPECT_EQ(env_double(kName, 0), 2.5);
  EXPECT_THROW(env_int(kName, 0), ValueError);
  for (const char* wrong : {"x", "1x", "99999999999999999999", "0x10", " 1"}) {
    set(wrong);
    EXPECT_THROW(env_int(kName, 0), ValueError) << wrong;
  }
  set("nan");
  EXPECT_THROW(env_double(kName, 0), ValueError);
}

TEST_F(Flags, Switches) {
  for (const char* yes : {"1", "true", "YES", "on"}) {
    set(yes);
    EXPECT_TRUE(env_bool(kName, false)) << yes;
  }
  for (const char* no : {"0", "False", "no", "off"}) {
    set(no);
    EXPECT_FALSE(env_bool(kName, true)) << no;
  }
  set("perhaps");
  EXPECT_THROW(env_bool(kName, false), ValueError);
}

}  // namespace
}  // namespace tandem
