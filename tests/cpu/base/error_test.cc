#include "tandem/error.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Error, EveryCodeThrowsItsOwnClass) {
  for (int number = 1; number <= 16; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    try {
      throw_error(code, "text");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_STREQ(error.what(), "text");
      const std::string type = typeid(error).name();
      EXPECT_NE(type.find(error_class_name(code)), std::string::npos) << type;
    }
  }
}

TEST(Error, ConfigurationErrorsHaveTensorFlowCodes) {
  EXPECT_EQ(ValueError("").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(RuntimeStateError("").code(), ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tandem
