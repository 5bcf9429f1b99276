// What Keras computes (data/train.json, made by tools/reference/make_train_reference.py),
// and how tests read it and compare with it.
#pragma once

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "tandem/tandem.h"

namespace tandem::testing {

using nlohmann::json;

inline const json& reference(const char* section) {
  static const json data = json::parse(std::ifstream(TANDEM_TEST_DATA "/train.json"));
  return data.at(section);
}

inline std::vector<double> numbers(const json& tensor) {
  std::vector<double> result;
  for (const json& v : tensor.at("values")) {
    if (!v.is_string()) {
      result.push_back(v.get<double>());
    } else if (v.get<std::string>() == "nan") {
      result.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      result.push_back(std::stod(v.get<std::string>()));
    }
  }
  return result;
}

inline Shape shape_of(const json& tensor) {
  return Shape(tensor.at("shape").get<std::vector<int64_t>>());
}

inline Tensor to_tensor(const json& tensor) {
  return cast(constant(numbers(tensor), shape_of(tensor)),
              dtype_from_name(tensor.at("dtype").get<std::string>()));
}

inline std::vector<Variable> to_variables(const json& tensors) {
  std::vector<Variable> result;
  for (const json& t : tensors) result.emplace_back(to_tensor(t));
  return result;
}

inline void expect_equal(const Tensor& got, const json& expected, double tolerance,
                         const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  EXPECT_EQ(got.shape(), shape_of(expected)) << what;
  const std::vector<double> a = cast(got, float64).to_vector<double>();
  const std::vector<double> b = numbers(expected);
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) {
      EXPECT_TRUE(std::isnan(a[i])) << what << ", element " << i;
    } else {
      EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i])))
          << what << ", element " << i;
    }
  }
}

}  // namespace tandem::testing
