// Kernels of linear algebra without a GPU: the op table's cases with cuBLAS and cuSOLVER
// played by LAPACK (fake_cublas.cc, fake_cusolver.cc) and our own kernels run by the host
// (host_kernels.h). What is tested is all that Tandem does around the libraries: sizes,
// layouts, arguments, regions of the workspace, errors. The definitions below stand for
// those of the plugin that talk to the driver.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host_kernels.h"
#include "kernels/cuda/dense_blas.h"
#include "kernels/cuda/linalg.h"
#include "op/emitter.h"
#include "op/infer.h"
#include "op/kernel_fit.h"
#include "ops/linalg_cases.h"
#include "ops/values.h"
#include "tandem/tandem.h"

namespace tandem::cuda {

void Kernels::add(Kernel kernel) { list_.push_back(std::move(kernel)); }
void CudaDevice::activate() {}
std::string_view device_text(std::string_view) { return ""; }
const char* type_text(DType dtype) {
  return dtype == DType::kFloat32     ? "float"
         : dtype == DType::kFloat64   ? "double"
         : dtype == DType::kComplex64 ? "c64"
                                      : "c128";
}
class LoadedFunction {
 public:
  explicit LoadedFunction(const HostKernel* k) : kernel(k) {}
  const HostKernel* kernel;
};
FunctionRef::operator CUfunction() const {
  return reinterpret_cast<CUfunction>(const_cast<HostKernel*>(made_->kernel));
}
Function find_function(Device*, const std::string&, const std::string& source,
                       const char* entry, size_t) {
  const std::string word = "typedef ";
  const size_t at = source.find(word) + word.size();
  const HostKernel* kernel =
      find_host_kernel(source.substr(at, source.find(' ', at) - at), entry);
  if (!kernel) throw InternalError(std::string("no kernel ") + entry);
  Function f;
  f.function = FunctionRef(std::make_shared<LoadedFunction>(kernel));
  return f;
}
Grid grid_for(const Function&, int64_t n, unsigned threads) {
  EXPECT_GT(n, 0) << "an empty launch";
  return {.x = 1, .threads = threads};
}
void launch_raw(const Function& f, const StreamContext&, const Grid& grid,
                void** arguments) {
  run_host_kernel(*reinterpret_cast<const HostKernel*>(CUfunction(f.function)), grid.x,
                  grid.shared, arguments);
}
void fill_bytes(const StreamContext&, void* at, uint8_t byte, size_t bytes) {
  std::memset(at, byte, bytes);
}
void copy_bytes(const StreamContext&, void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

namespace {

using testing::OpCase;
using TestRef = testing::Ref;

/// Only its address is used, and a member that nobody reads through here.
Device* nowhere() {
  alignas(CudaDevice) static std::byte bytes[sizeof(CudaDevice)] = {};
  return reinterpret_cast<CudaDevice*>(bytes);
}

const std::vector<Kernel>& all_kernels() {
  static const auto* const list = [] {
    setenv("TANDEM_CUDA_LIBRARY_PATH", TANDEM_FAKE_SOLVERS, 1);
    Kernels kernels;
    register_linalg(kernels);
    return new std::vector<Kernel>(kernels.take());
  }();
  return *list;
}

/// Memory with a border that must stay as it is, at an address that is no more aligned
/// than a plan's.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kBorder, kByte) {}
  void* data() {
    auto at = reinterpret_cast<uintptr_t>(memory_.data());
    at = (at + 63) / 64 * 64;
    if (at % 128 == 0) at += 64;
    return reinterpret_cast<void*>(at);
  }
  bool intact() {
    auto* end = static_cast<unsigned char*>(data()) + bytes_;
    return std::all_of(end, memory_.data() + memory_.size(),
                       [](unsigned char c) { return c == kByte; });
  }

 private:
  static constexpr size_t kBorder = 256;
  static constexpr unsigned char kByte = 0xcd;
  size_t bytes_;
  std::vector<unsigned char> memory_;
};

struct Call {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Tensor> in, out;
  Signature signature;

  Call(const OpDef& op, AttrsRef attrs, std::vector<Tensor> given)
      : in(std::move(given)) {
    for (const Tensor& t : in) inputs.push_back({t.dtype(), t.shape(), {}, false, {}});
    InferContext context(op, attrs, inputs);
    infer_call(context);
    outputs = context.outputs();
    for (const TensorInfo& info : outputs) {
      out.push_back(zeros(info.shape, info.dtype));
      std::memset(
          const_cast<void*>(out.back().host_data()), 0xcd,
          static_cast<size_t>(info.shape.num_elements()) * dtype_size(info.dtype));
    }
    signature = {.op = &op,
                 .attrs = attrs,
                 .inputs = inputs,
                 .outputs = outputs,
                 .device = nowhere()};
  }
  void run(const Kernel& kernel) {
    std::vector<void*> from, to;
    for (const Tensor& t : in) from.push_back(const_cast<void*>(t.host_data()));
    for (const Tensor& t : out) to.push_back(const_cast<void*>(t.host_data()));
    const tandem::Ref<Prepared> prepared = kernel.prepare(signature);
    Guarded workspace(prepared->workspace_bytes);
    const StreamContext stream{.device = nowhere(), .native = nullptr, .lane = ""};
    kernel.launch(*prepared, {from.data(), to.data(), workspace.data(), &stream});
    EXPECT_TRUE(workspace.intact()) << kernel.id << " wrote behind its workspace";
    site_keeper = prepared;
  }
  tandem::Ref<Prepared> site_keeper;  // whose words a report may need
};

bool has_dtype(const Kernel& k, DType t) { return k.dtypes & mask(t); }

/// The kernel of an op for a call, by what it supports.
const Kernel& chosen(const Call& call) {
  for (const Kernel& k : all_kernels()) {
    if (k.op == call.signature.op->name && kernel_fits(k, call.signature)) return k;
  }
  throw InternalError("no kernel for " + call.signature.op->name);
}

class Cases : public ::testing::TestWithParam<std::string> {};

// Kernels that share an op do each other's work too: what they support is a matter of
// speed.
TEST_P(Cases, GiveWhatTheReferenceGives) {
  testing::CaseList cases;
  testing::add_linalg_cases(cases);
  int runs = 0;
  std::mt19937_64 random(1);
  for (const OpCase& c : cases) {
    if (c.op != GetParam()) continue;
    const OpDef& op = OpTable::get().at(c.op);
    const Attrs attrs = c.attrs.ref().data ? c.attrs : Attrs(default_attrs(op));
    for (DType t : c.dtypes) {
      std::vector<TestRef> refs, expected;
      std::vector<Tensor> inputs;
      for (const testing::In& in : c.inputs) {
        refs.push_back(testing::make_values(in, t, random));
        inputs.push_back(testing::to_tensor(refs.back(), t));
      }
      if (c.reference) expected = c.reference(refs, t);
      for (const Kernel& kernel : all_kernels()) {
        if (kernel.op != c.op || !has_dtype(kernel, t)) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", c.op, c.name, kernel.id));
        Call call(op, attrs.ref(), inputs);
        EXPECT_NO_THROW(chosen(call));
        call.run(kernel);
        EXPECT_EQ(take_report().code, 0);
        if (c.check) c.check(call.out);
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(testing::difference(testing::to_ref(call.out[i]), expected[i],
                                        call.out[i].dtype(), c.tolerance),
                    "")
              << "output " << i;
        }
        ++runs;
      }
    }
  }
  EXPECT_GT(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(Linalg, Cases,
                         ::testing::Values("Cholesky", "CholeskyGrad", "Lu",
                                           "MatrixDeterminant", "LogMatrixDeterminant",
                                           "MatrixInverse", "MatrixSolve",
                                           "MatrixTriangularSolve", "Qr",
                                           "SelfAdjointEigV2", "Svd"),
                         [](const auto& tested) { return tested.param; });

Call call_of(const char* name, std::vector<Tensor> inputs) {
  const OpDef& op = OpTable::get().at(name);
  return Call(op, default_attrs(op), std::move(inputs));
}

// Two matrices, of which the second is bad.
Tensor good_and(std::vector<float> bad) {
  std::vector<float> values = {2, 1, 1, 3};
  values.insert(values.end(), bad.begin(), bad.end());
  return reshape(constant(values), Shape{2, 2, 2});
}
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Errors, ASingularMatrixIsReportedWithItsPivot) {
  const std::pair<const char*, const char*> said[] = {
      {"Lu", "Lu: Input is not invertible. (Pivot 1 of matrix 1 is 0.)"},
      {"MatrixInverse",
       "MatrixInverse: Input is not invertible. (Pivot 1 of matrix 1 is 0.)"},
      {"MatrixSolve",
       "MatrixSolve: Input matrix is not invertible. (Pivot 1 of matrix 1 is 0.)"}};
  const Tensor singular = good_and({1, 2, 2, 4});
  for (const auto& [op, words] : said) {
    std::vector<Tensor> inputs = {singular};
    if (std::string(op) == "MatrixSolve") inputs.push_back(singular);
    for (const Kernel& kernel : all_kernels()) {
      if (kernel.op != op || !has_dtype(kernel, DType::kFloat32)) continue;
      Call call = call_of(op, inputs);
      call.run(kernel);
      const Report report = take_report();
      EXPECT_EQ(report.code, 1) << kernel.id;
      EXPECT_EQ(words_for(report).text, words);
    }
  }
}

TEST(Errors, ASingularMatrixHasADeterminant) {
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.op != "LogMatrixDeterminant" || !has_dtype(kernel, DType::kFloat32))
      continue;
    Call call = call_of("LogMatrixDeterminant", {good_and({1, 2, 2, 4})});
    call.run(kernel);
    EXPECT_EQ(take_report().code, 0);
    const TestRef sign = testing::to_ref(call.out[0]), log = testing::to_ref(call.out[1]);
    EXPECT_NEAR(sign.re(0), 1, 1e-6);
    EXPECT_NEAR(log.re(0), std::log(5), 1e-6);
    EXPECT_EQ(sign.re(1), 0);
    EXPECT_EQ(log.re(1), -std::numeric_limits<double>::infinity());
  }
}

TEST(Errors, AFactorOfWhatIsNotPositiveHasNoNumbers) {
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.op != "Cholesky" || !has_dtype(kernel, DType::kFloat32)) continue;
    Call call = call_of("Cholesky", {good_and({1, 2, 2, 1})});
    call.run(kernel);
    EXPECT_EQ(take_report().code, 0);
    const TestRef l = testing::to_ref(call.out[0]);
    EXPECT_NEAR(l.re(0), std::sqrt(2), 1e-6);
    EXPECT_EQ(l.re(1), 0);
    for (size_t i : {4, 6, 7}) EXPECT_TRUE(std::isnan(l.re(i))) << i;
    EXPECT_EQ(l.re(5), 0);
  }
}

TEST(Errors, WhatIsNotANumberStaysInItsMatrix) {
  Call call = call_of("Svd", {good_and({1, kNaN, 2, 1})});
  call.run(chosen(call));
  EXPECT_EQ(take_report().code, 0);
  for (const Tensor& out : call.out) {
    const TestRef r = testing::to_ref(out);
    for (size_t i = 0; i < r.values.size(); ++i) {
      EXPECT_EQ(std::isnan(r.re(i)), i >= r.values.size() / 2) << i;
    }
  }
  // The triangle above the diagonal is not read.
  Call good = call_of("SelfAdjointEigV2", {good_and({1, kNaN, 2, 1})});
  good.run(chosen(good));
  EXPECT_EQ(take_report().code, 0);
  Call bad = call_of("SelfAdjointEigV2", {good_and({1, 2, kNaN, 1})});
  bad.run(chosen(bad));
  EXPECT_EQ(words_for(take_report()).text,
            "SelfAdjointEigV2: Self-adjoint eigen decomposition was not successful. The "
            "input might not be valid. (Matrix 1.)");
}

TEST(Libraries, SmallMatricesGoToTheLibraryThatCanBeCaptured) {
  const auto id_for = [](const char* op, Shape shape) {
    Call call = call_of(op, {zeros(shape, DType::kFloat32)});
    return chosen(call).id;
  };
  EXPECT_EQ(id_for("MatrixInverse", {4, 4}), "cuda.inverse.cublas.f32");
  EXPECT_EQ(id_for("MatrixInverse", {16, 200, 200}), "cuda.inverse.cublas.f32");
  EXPECT_EQ(id_for("MatrixInverse", {200, 200}), "cuda.inverse.cusolver.f32");
  EXPECT_EQ(id_for("Cholesky", {100, 100}), "cuda.cholesky.small");
  EXPECT_EQ(id_for("Cholesky", {200, 200}), "cuda.cholesky.cusolver.f32");
  for (const Kernel& k : all_kernels()) {
    EXPECT_EQ(is_uncaptured(k), k.id.find("cusolver") != std::string::npos) << k.id;
  }
}

// A library that lacks functions is as good as none. In a process of its own: what was
// loaded stays.
TEST(LibrariesDeathTest, WithoutThemThereIsNoKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TANDEM_CUDA_LIBRARY_PATH", TANDEM_EMPTY_SOLVERS, 1);
        std::exit(solver() || dense_blas() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tandem::cuda
