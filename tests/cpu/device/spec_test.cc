// The conformance vectors of TensorFlow's device strings, and its two grammars.
#include "device/spec.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::string canonical(std::string_view text) { return DeviceSpec::parse(text).str(); }

TEST(DeviceSpec, Accepts) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},
      {"/", ""},
      {"CPU", "/device:CPU:*"},
      {"cpu:0", "/device:CPU:0"},
      {"/CPU:0", "/device:CPU:0"},
      {"/gpu:1", "/device:GPU:1"},
      {"/Gpu:1", "/device:GPU:1"},
      {"GPU:*", "/device:GPU:*"},
      {"/GPU", "/device:GPU:*"},
      {"gpu:0", "/device:GPU:0"},
      {"/device:GPU:0", "/device:GPU:0"},
      {"/device:gpu:0", "/device:GPU:0"},
      {"/device:GPU:*", "/device:GPU:*"},
      {"/device:GPU", "/device:GPU:*"},  // the C++ grammar's
      {"/device:FOO:0", "/device:FOO:0"},
      {"TPU:3", "/device:TPU:3"},
      {"/job:worker", "/job:worker"},
      {"/job:*/task:*", ""},
      {"/job:w/task:2/replica:1", "/job:w/replica:1/task:2"},
      {"/job:a/job:b", "/job:b"},  // repeats overwrite
      {"/job:localhost/replica:0/task:0/device:GPU:0",
       "/job:localhost/replica:0/task:0/device:GPU:0"},
      {"GPU: 1", "/device:GPU:1"},  // as Python's int() reads
  };
  for (const auto& [text, expected] : vectors)
    EXPECT_EQ(canonical(text), expected) << text;
}

TEST(DeviceSpec, RefusesWithTensorFlowsWords) {
  const std::pair<const char*, const char*> vectors[] = {
      {"/foo:0",
       "Unknown attribute 'foo' is encountered while parsing the device spec: '/foo:0'."},
      {"/CPU:0/GPU:0",
       "Multiple device types are not allowed while parsing the device spec: "
       "/CPU:0/GPU:0."},
      {"/device:CPU:0/device:CPU:0", "Multiple device types are not allowed"},
      {"/device:GPU:x", "invalid literal for int() with base 10: 'x'"},
      {"/GPU:", "invalid literal for int() with base 10: ''"},
      {"/GPU:1.5", "invalid literal for int() with base 10: '1.5'"},
      {"/replica:two", "invalid literal for int() with base 10: 'two'"},
      {"/CPU:-1", "Malformed device specification '/CPU:-1'"},
      {"/GPU:99999999999", "Malformed device specification"},
      {"/job:two words", "Malformed device specification"},
      {"/job:", "Malformed device specification"},
      {"/device:GPU:0:1", "Unknown attribute 'device'"},
      {"/CPU:0:1", "Unknown attribute 'CPU'"},
      {"42", "Unknown attribute '42'"},
      {":", "Unknown attribute ''"},
  };
  for (const auto& [text, words] : vectors) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(DeviceSpec::parse(text), ValueError, words);
  }
}

TEST(DeviceSpec, MergesFieldByField) {
  const auto merged = [](const char* outer, const char* inner) {
    return DeviceSpec::parse(outer).merged(DeviceSpec::parse(inner)).str();
  };
  EXPECT_EQ(merged("/job:train", "GPU:1"), "/job:train/device:GPU:1");
  EXPECT_EQ(merged("/job:localhost/replica:0/task:0/device:CPU:0", "GPU:42"),
            "/job:localhost/replica:0/task:0/device:GPU:42");
  EXPECT_EQ(merged("CPU:0", ""), "/device:CPU:0");
  EXPECT_EQ(merged("", "GPU:1"), "/device:GPU:1");
  EXPECT_EQ(merged("GPU:1", "GPU"), "/device:GPU:1");
  EXPECT_EQ(merged("GPU:1", "CPU"), "/device:CPU:*");  // TensorFlow's trap
  EXPECT_EQ(merged("/job:a/task:1", "/job:b"), "/job:b/task:1");
}

ALONE_TEST(DeviceSpec, StrictKeepsTheIndexAcrossTypes, {{"TANDEM_STRICT_TF", "1"}}) {
  const auto merged = DeviceSpec::parse("GPU:1").merged(DeviceSpec::parse("CPU"));
  EXPECT_EQ(merged.str(), "/device:CPU:1");
}

TEST(DeviceSpec, TypesOfPluginsCanBeAdded) {
  EXPECT_THROW(DeviceSpec::parse("/XPU:0"), ValueError);
  add_device_type("XPU");
  EXPECT_EQ(canonical("/xpu:0"), "/device:XPU:0");
}

TEST(DeviceSpec, EmptyAndEqual) {
  EXPECT_TRUE(DeviceSpec::parse("/").empty());
  EXPECT_FALSE(DeviceSpec::parse("CPU").empty());
  EXPECT_EQ(DeviceSpec::parse("/gpu:0"), DeviceSpec::parse("/device:GPU:0"));
}

}  // namespace
}  // namespace tandem
