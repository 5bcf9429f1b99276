// Fused programs. Random ones against the unfused ops are in
// tests/cpu/ops/fused_*_test.cc.
#include <cmath>

#include <fmt/format.h>

#include "op/fused_program.h"
#include "ops/case_parts.h"

namespace tandem::testing {

namespace {

// Every {} of the text becomes the dtype's name.
std::function<Attrs(DType)> program(std::string text, int64_t groups = 1) {
  return [text, groups](DType t) {
    std::string s = text;
    for (size_t at; (at = s.find("{}")) != std::string::npos;) {
      s.replace(at, 2, dtype_name(t));
    }
    return Attrs(attrs_ref(FusedAttrs{s, groups}));
  };
}

// relu(x * scale + bias) and where it is positive; x [rows, columns], bias [columns].
std::vector<Ref> affine(const std::vector<Ref>& in, DType) {
  Ref y = zeros_of(in[0].shape), positive = zeros_of(in[0].shape);
  const size_t columns = in[2].values.size();
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double v = in[0].re(i) * in[1].re(0) + in[2].re(i % columns);
    y.values[i] = std::max(v, 0.0);
    positive.values[i] = v > 0;
  }
  return {y, positive};
}

// Softmax of the rows of x, the logarithm of the sum, and the sum of all results.
std::vector<Ref> softmax_and_sums(const std::vector<Ref>& in, DType) {
  Ref y = zeros_of(in[0].shape), lse = zeros_of({in[0].shape[0], 1}),
      total = zeros_of({});
  const auto columns = static_cast<size_t>(in[0].shape[1]);
  for (size_t r = 0; r < lse.values.size(); ++r) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += std::exp(in[0].re(r * columns + c));
    lse.values[r] = std::log(sum);
    for (size_t c = 0; c < columns; ++c) {
      y.values[r * columns + c] = std::exp(in[0].re(r * columns + c)) / sum;
      total.values[0] += y.values[r * columns + c];
    }
  }
  return {y, lse, total};
}

// Products of two tensors and their column sums, group after group.
std::vector<Ref> products(const std::vector<Ref>& in, DType) {
  std::vector<Ref> out;
  for (size_t g = 0; g < in.size(); g += 2) {
    Ref y = zeros_of(in[g].shape), sums = zeros_of({in[g].shape[1]});
    const auto columns = sums.values.size();
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = in[g].values[i] * in[g + 1].values[i % in[g + 1].values.size()];
      sums.values[i % columns] += y.values[i];
    }
    out.push_back(y);
    out.push_back(sums);
  }
  return out;
}

}  // namespace

void add_fused_cases(CaseList& cases) {
  cases.push_back(
      {.op = "Fused",
       .name = "affine",
       .inputs = {{.shape = {37, 41}},
                  {.shape = {}},
                  {.shape = {41}},
                  {.shape = {}, .fixed = {0}}},
       .dtypes = {DType::kFloat32, DType::kFloat64},
       .reference = affine,
       .attrs_for =
           program("in {},{},{},{} rows 0; 4=Mul(0,1):{}; 5=AddV2(4,2):{}; 6=Relu(5):{}; "
                   "7=Greater(5,3):bool; out 6,7")});
  for (const int64_t columns : {7, 300, 2500}) {
    cases.push_back(
        {.op = "Fused",
         .name = fmt::format("softmax_{}", columns),
         .inputs = {{.shape = {9, columns}}},
         .dtypes =
             columns == 7 ? kFloatTypes : std::vector{DType::kFloat32, DType::kFloat64},
         .reference = softmax_and_sums,
         .tolerance = 2e-5,
         .attrs_for =
             program("in {} rows 1; 1=row Max(0):{}; 2=Sub(0,1):{}; 3=Exp(2):{}; 4=row "
                     "Sum(3):{}; "
                     "5=RealDiv(3,4):{}; 6=Log(4):{}; 7=AddV2(6,1):{}; 8=all Sum(5):{}; "
                     "out 5,7,8")});
  }
  cases.push_back(
      {.op = "FusedMulti",
       .name = "products",
       .inputs = {{.shape = {5, 3}},
                  {.shape = {5, 3}},
                  {.shape = {70, 2}},
                  {.shape = {}},
                  {.shape = {1, 900}},
                  {.shape = {900}}},
       .dtypes = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kComplex64},
       .reference = products,
       .tolerance = 1e-4,
       .attrs_for =
           program("in {},{} rows 1; 2=Mul(0,1):{}; 3=column Sum(2):{}; out 2,3", 3)});
}

}  // namespace tandem::testing
