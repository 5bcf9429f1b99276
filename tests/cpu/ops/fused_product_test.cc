// Every kernel of MatMul, FusedMatMul and FusedConv2D: float64 references over random
// sizes, the same bits for any number of threads, the values of the separate ops, errors.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "op/emitter.h"
#include "op/kernel.h"
#include "ops/fused_products.h"
#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Floats = std::vector<float>;

struct Input {
  Shape shape;
  Floats values;
  bool absent = false;
};

Input random_input(const Shape& shape, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Input in{shape, Floats(static_cast<size_t>(shape.num_elements()))};
  for (float& x : in.values) x = uniform(random);
  return in;
}

/// A float32 call prepared as plans and eager calls do it.
class Call {
 public:
  template <class A>
  Call(const char* op, const A& attrs, std::vector<Input> inputs, int threads,
       bool deterministic = false)
      : attrs_(attrs_ref(attrs)), inputs_(std::move(inputs)), team_(threads) {
    const OpDef& def = OpTable::get().at(op);
    for (const Input& in : inputs_) {
      infos_.push_back(
          {in.absent ? DType::kInvalid : DType::kFloat32, in.shape, {}, false, nullptr});
    }
    InferContext c(def, attrs_.ref(), infos_);
    infer_call(c);
    outputs_ = c.outputs();
    signature_ = {.op = &def,
                  .attrs = attrs_.ref(),
                  .inputs = infos_,
                  .outputs = outputs_,
                  .threads = threads,
                  .deterministic = deterministic};
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Kernel* best() const {
    return KernelRegistry::get().choose(signature_, kHostPlatform);
  }
  std::vector<const Kernel*> supporting() const {
    std::vector<const Kernel*> list;
    for (const Kernel* k : KernelRegistry::get().find(*signature_.op, kHostPlatform)) {
      if (k->dtypes && !(k->dtypes & mask(DType::kFloat32))) continue;
      if (!k->supports || k->supports(signature_)) list.push_back(k);
    }
    return list;
  }
  Floats run(const Kernel& k) const {
    const Ref<Prepared> prepared = k.prepare(signature_);
    std::vector<void*> in;
    // Kernels do not write to inputs that are no variables.
    for (const Input& i : inputs_) {
      in.push_back(i.absent ? nullptr : const_cast<float*>(i.values.data()));
    }
    Floats out(static_cast<size_t>(outputs_[0].shape.num_elements()), -7);
    void* result = out.data();
    std::vector<std::max_align_t> workspace(prepared->workspace_bytes / 16 + 8);
    auto* aligned = reinterpret_cast<void*>(
        (reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    const CurrentTeam current(&team_);
    std::optional<TeamToken> token;
    if (k.library_threads) token.emplace(&team_);
    k.launch(*prepared, {in.data(), &result, aligned, nullptr});
    return out;
  }

 private:
  Attrs attrs_;
  std::vector<Input> inputs_;
  std::vector<TensorInfo> infos_, outputs_;
  Signature signature_;
  mutable Team team_;
};

struct Sizes {
  int64_t batch, m, n, k;
  bool shared_b = false;  // one b for the whole batch
};

struct Operands {
  Input a, b, bias;
};
Operands operands(const Sizes& s, bool ta, bool tb, std::mt19937_64& random) {
  Shape a{s.batch, ta ? s.k : s.m, ta ? s.m : s.k}, b{tb ? s.n : s.k, tb ? s.k : s.n};
  if (!s.shared_b) b = {s.batch, b[0], b[1]};
  return {random_input(a, random), random_input(b, random), random_input({s.n}, random)};
}

double activate(const std::string& name, double alpha, double x) {
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "LeakyRelu") return x > 0 ? x : alpha * x;
  if (name == "Tanh") return std::tanh(x);
  return x;
}

std::vector<double> reference(const Sizes& s, const FusedMatMulAttrs& attrs,
                              const Operands& o, bool bias) {
  const bool ta = attrs.transpose_a, tb = attrs.transpose_b;
  std::vector<double> c;
  for (int64_t x = 0; x < s.batch; ++x) {
    const float* a = o.a.values.data() + x * s.m * s.k;
    const float* b = o.b.values.data() + (s.shared_b ? 0 : x * s.k * s.n);
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = bias ? o.bias.values[static_cast<size_t>(j)] : 0;
        for (int64_t q = 0; q < s.k; ++q) {
          sum += double{a[ta ? q * s.m + i : i * s.k + q]} *
                 double{b[tb ? j * s.k + q : q * s.n + j]};
        }
        c.push_back(activate(attrs.activation, attrs.alpha, sum));
      }
    }
  }
  return c;
}

void expect_near(const Floats& got, const std::vector<double>& want, int64_t k) {
  ASSERT_EQ(got.size(), want.size());
  const double tolerance = 1e-6 + 3e-7 * std::sqrt(static_cast<double>(k));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(4.0, std::abs(want[i]))) << i;
  }
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void check_product(const Sizes& s, const FusedMatMulAttrs& attrs, bool bias,
                   std::mt19937_64& random) {
  SCOPED_TRACE(::testing::Message()
               << s.batch << " of " << s.m << "x" << s.n << "x" << s.k << " "
               << attrs.transpose_a << attrs.transpose_b << " " << attrs.activation
               << (bias ? " bias" : ""));
  const Operands o = operands(s, attrs.transpose_a, attrs.transpose_b, random);
  std::vector<Input> inputs = {o.a, o.b, bias ? o.bias : Input{{}, {}, true}};
  const std::vector<double> want = reference(s, attrs, o, bias);
  const Call call("FusedMatMul", attrs, inputs, 1);
  for (const Kernel* k : call.supporting()) {
    SCOPED_TRACE(k->id);
    expect_near(call.run(*k), want, s.k);
  }
  if (bias || !attrs.activation.empty()) return;
  const Call plain("MatMul", attrs.product(), {o.a, o.b}, 1);
  for (const Kernel* k : plain.supporting()) {
    SCOPED_TRACE(k->id);
    expect_near(plain.run(*k), want, s.k);
  }
}

TEST(FusedMatMul, RandomSizes) {
  std::mt19937_64 random(23);
  std::uniform_int_distribution<int64_t> side(1, 70), batch(1, 4);
  const std::string activations[] = {"", "Relu", "LeakyRelu", "Tanh"};
  for (int round = 0; round < 160; ++round) {
    const Sizes s{batch(random), side(random), side(random), side(random),
                  round % 3 == 0};
    check_product(s,
                  {.transpose_a = (round & 1) != 0,
                   .transpose_b = (round & 2) != 0,
                   .activation = activations[round / 8 % 4]},
                  (round & 4) != 0, random);
  }
}

TEST(FusedMatMul, NothingToMultiply) {
  std::mt19937_64 random(24);
  for (const Sizes& s : {Sizes{1, 0, 5, 4}, Sizes{1, 5, 0, 4}, Sizes{1, 5, 4, 0},
                         Sizes{0, 5, 4, 3}, Sizes{2, 3, 4, 0}, Sizes{2, 0, 0, 0}}) {
    for (bool bias : {false, true}) {
      check_product(s, {.activation = "Tanh"}, bias, random);
      check_product(s, {}, bias, random);
    }
  }
}

// Large enough that calls are cut, by rows, by columns and by the batch.
TEST(FusedMatMul, SameBitsForAnyTeam) {
  std::mt19937_64 random(25);
  for (const Sizes& s : {Sizes{1, 700, 70, 130}, Sizes{1, 33, 530, 310},
                         Sizes{7, 110, 90, 70}, Sizes{1, 1024, 10, 128}}) {
    for (bool turned : {false, true}) {
      const FusedMatMulAttrs attrs{
          .transpose_a = turned, .transpose_b = turned, .activation = "Relu"};
      const Operands o = operands(s, turned, turned, random);
      const Call one("FusedMatMul", attrs, {o.a, o.b, o.bias}, 1);
      const Kernel* kernel = one.best();
      ASSERT_EQ(kernel->id, "cpu.fused_matmul.tiles.f32");
      const Floats want = one.run(*kernel);
      for (int threads : {2, 3, 5}) {
        const Call more("FusedMatMul", attrs, {o.a, o.b, o.bias}, threads);
        EXPECT_TRUE(same_bits(more.run(*kernel), want)) << threads;
      }
    }
  }
}

// oneDNN's sums for this product differ between one and two threads.
TEST(MatMul, SameBitsForAnyTeamWhenAsked) {
  std::mt19937_64 random(28);
  const Sizes s{1, 1024, 256, 1024};
  const Operands o = operands(s, false, true, random);
  const MatMulAttrs attrs{.transpose_b = true};
  const Call one("MatMul", attrs, {o.a, o.b}, 1, true);
  const Call three("MatMul", attrs, {o.a, o.b}, 3, true);
  EXPECT_TRUE(same_bits(one.run(*one.best()), three.run(*three.best())));
}

Tensor random_tensor(const Shape& shape, std::mt19937_64& random) {
  return constant(random_input(shape, random).values, shape);
}

Tensor activate(const std::string& name, const Tensor& x) {
  if (name == "Relu") return nn::relu(x);
  if (name == "Relu6") return nn::relu6(x);
  if (name == "LeakyRelu") return nn::leaky_relu(x, {.alpha = 0.2});
  if (name == "Elu") return nn::elu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  return nn::gelu(x, {.approximate = name == "GeluTanh"});
}

// Both products run on the tiles, so not a bit may differ.
TEST(FusedMatMul, EqualsTheSeparateOps) {
  static const OpHandle op("FusedMatMul");
  std::mt19937_64 random(26);
  const Tensor a = random_tensor({45, 130}, random), b = random_tensor({130, 77}, random);
  const Tensor bias = random_tensor({77}, random);
  for (const FusedActivation& f : fused_activations()) {
    const Tensor fused = emit(op, {a, b, bias}, FusedMatMulAttrs{.activation = f.name});
    const Tensor apart = activate(f.name, nn::bias_add(matmul(a, b), bias));
    EXPECT_TRUE(same_bits(fused.to_vector<float>(), apart.to_vector<float>())) << f.name;
  }
}

TEST(FusedConv2D, EqualsTheSeparateOps) {
  static const OpHandle op("FusedConv2D");
  std::mt19937_64 random(27);
  for (auto format : {nn::DataFormat::kNHWC, nn::DataFormat::kNCHW}) {
    const bool first = channels_first(format);
    const Tensor x =
        random_tensor(first ? Shape{2, 5, 12, 9} : Shape{2, 12, 9, 5}, random);
    const Tensor w = random_tensor({3, 3, 5, 18}, random);
    const Tensor bias = random_tensor({18}, random);
    for (const FusedActivation& f : fused_activations()) {
      FusedConvAttrs attrs{.padding = nn::Padding::kSame, .data_format = format};
      attrs.activation = f.name;
      const Floats fused = emit(op, {x, w, bias}, attrs).to_vector<float>();
      const Floats apart =
          activate(f.name, nn::bias_add(nn::conv2d(x, w, attrs.convolution()), bias,
                                        {.data_format = format}))
              .to_vector<float>();
      ASSERT_EQ(fused.size(), apart.size());
      for (size_t i = 0; i < fused.size(); ++i) {
        ASSERT_NEAR(fused[i], apart[i], 1e-5) << f.name << " " << i;
      }
    }
  }
}

// A diverged step must show in its loss: no kernel makes a number of NaN.
TEST(FusedProducts, NotANumberStays) {
  static const OpHandle product("FusedMatMul"), convolution("FusedConv2D");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor bias = constant(Floats(16, nan));
  for (const FusedActivation& f : fused_activations()) {
    for (int64_t m : {2, 2000}) {
      const Tensor y = emit(product, {ones({m, 600}), ones({600, 16}), bias},
                            FusedMatMulAttrs{.activation = f.name});
      EXPECT_TRUE(std::isnan(y.to_vector<float>()[0])) << f.name << " " << m;
    }
    const Tensor y = emit(convolution, {ones({1, 8, 8, 16}), ones({3, 3, 16, 16}), bias},
                          FusedConvAttrs{.activation = f.name});
    EXPECT_TRUE(std::isnan(y.to_vector<float>()[0])) << f.name;
  }
}

TEST(FusedProducts, Errors) {
  static const OpHandle product("FusedMatMul"), convolution("FusedConv2D");
  const Tensor a = ones({2, 3}), b = ones({3, 4});
  EXPECT_ERROR(emit(product, {a, b, Tensor()}, FusedMatMulAttrs{.activation = "Swish"}),
               InvalidArgumentError, "activation 'Swish' is not one of Relu, Relu6");
  EXPECT_ERROR(emit(product, {a, b, ones({3})}, FusedMatMulAttrs{}), InvalidArgumentError,
               "Must provide as many biases as dimension 1 of the result: [3] vs. [2,4]");
  EXPECT_ERROR(emit(product, {a, b, ones({1, 4})}, FusedMatMulAttrs{}),
               InvalidArgumentError, "Biases must be 1D: [1,4]");
  EXPECT_ERROR(emit(product, {a, a, Tensor()}, FusedMatMulAttrs{}), InvalidArgumentError,
               "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
  const Tensor i = constant<int32_t>({{1}});
  EXPECT_ERROR(emit(product, {i, i, Tensor()}, FusedMatMulAttrs{.activation = "Tanh"}),
               InvalidArgumentError, "activation 'Tanh' does not take dtype int32");
  EXPECT_ERROR(emit(convolution, {ones({1, 4, 4, 2}), ones({3, 3, 2, 5}), ones({4})},
                    FusedConvAttrs{}),
               InvalidArgumentError, "Must provide as many biases as dimension 3");
}

}  // namespace
}  // namespace tandem
