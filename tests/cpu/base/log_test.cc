#include "base/log.h"

#include <string>

#include <gtest/gtest.h>

#include "support/alone.h"

namespace tandem {
namespace {

std::string last_line;

TEST(Log, LinesGoToTheSink) {
  logging::set_line_sink([](std::string_view text) { last_line = text; });
  logging::line("Executing op MatMul in device /device:GPU:0");
  logging::set_line_sink(nullptr);
  EXPECT_EQ(last_line, "Executing op MatMul in device /device:GPU:0");
}

TEST(Log, LinesAreWrittenAsTheyAre) {
  ::testing::internal::CaptureStderr();
  logging::line("{} braces are no format");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "{} braces are no format\n");
}

ALONE_TEST(Log, LevelFromTheEnvironment, {{"TANDEM_LOG", "info"}}) {
  ::testing::internal::CaptureStderr();
  logging::debug("hidden");
  logging::info("shown {}");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find("tandem info: shown {}"), std::string::npos) << text;
}

}  // namespace
}  // namespace tandem
