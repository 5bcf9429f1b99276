// The example programs do what they say, on the CPU and with an emulated GPU.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

struct Result {
  int code = -1;
  std::string text;  // standard output and error
};

Result run(const std::string& program, const std::string& gpus) {
  const std::string line =
      "TANDEM_EMULATE_GPUS=" + gpus + " TANDEM_COST_STORE=off '" + program + "' 2>&1";
  Result result;
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return result;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.text.append(buffer, n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

/// The number after the last `label`.
double number_after(const Result& result, const std::string& label) {
  const size_t at = result.text.rfind(label);
  return at == std::string::npos ? -1 : std::stod(result.text.substr(at + label.size()));
}

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, TrainMlpLearns) {
  const Result r = run(EXAMPLE_TRAIN_MLP, GetParam());
  ASSERT_EQ(r.code, 0) << r.text;
  EXPECT_GT(number_after(r, "step   0: loss "), 0.3) << r.text;
  EXPECT_LT(number_after(r, "step 300: loss "), 0.1) << r.text;
  EXPECT_GT(number_after(r, "new points: "), 0.95) << r.text;
  EXPECT_NE(r.text.find("traced 1 time(s)"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("lane CPU:0"), std::string::npos) << r.text;
}

TEST_P(Examples, CustomLoopConverges) {
  const Result r = run(EXAMPLE_CUSTOM_LOOP, GetParam());
  ASSERT_EQ(r.code, 0) << r.text;
  EXPECT_NE(r.text.find("9.966667"), std::string::npos) << r.text;  // root for 1000
  EXPECT_LT(number_after(r, "after "), 50) << r.text;
  EXPECT_NE(r.text.find("64. 128.]"), std::string::npos) << r.text;
  EXPECT_EQ(number_after(r, "scale is now "), 512) << r.text;
}

TEST_P(Examples, PipelineFitsTheLine) {
  const Result r = run(EXAMPLE_PIPELINE, GetParam());
  ASSERT_EQ(r.code, 0) << r.text;
  EXPECT_NEAR(number_after(r, "y = "), 2, 0.1) << r.text;
  EXPECT_NEAR(number_after(r, " x + "), 1, 0.1) << r.text;
}

INSTANTIATE_TEST_SUITE_P(EmulatedGpus, Examples, testing::Values("0", "1"));

}  // namespace
