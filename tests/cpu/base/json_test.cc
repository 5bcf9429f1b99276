// Numbers in JSON that anybody may have written.
#include "base/json.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using nlohmann::json;

TEST(Json, IntegersAreReadWhereTheyFit) {
  EXPECT_EQ(parse_json("-5").get<int8_t>(), -5);
  EXPECT_EQ(parse_json("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parse_json("[1, 2]").get<std::vector<int64_t>>(),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(parse_json("{}").value("absent", 3), 3);
}

TEST(Json, OtherNumbersAreNoIntegers) {
  const auto refused = [](const char* text) {
    const json j = parse_json(text);
    EXPECT_THROW((void)j.get<int32_t>(), json::exception) << text;
    EXPECT_THROW((void)j.get<uint8_t>(), json::exception) << text;
    EXPECT_THROW((void)json{j}.get<std::vector<uint32_t>>(), json::exception) << text;
    EXPECT_THROW((void)json({{"a", j}}).value("a", 1), json::exception) << text;
  };
  for (const char* text : {"2.02e109", "1.5", "-1e300", "true", "null", "\"1\"",
                           "-4294967297", "4294967296", "18446744073709551615"}) {
    refused(text);
  }
}

TEST(Json, NestedTooDeepIsRefused) {
  const std::string open(kMostJsonLevels + 1, '['), close(kMostJsonLevels + 1, ']');
  EXPECT_THROW(parse_json(open + close), json::exception);
  EXPECT_NO_THROW(parse_json(open.substr(1) + close.substr(1)));
}

}  // namespace
}  // namespace tandem
