// The PyTorch worker of `make bench-eager`: the cases of bench_eager.cc through PyTorch's
// C++ library, as its wheel ships it. Built by build-torch; common/worker.h has the
// protocol.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include "common/worker.h"

// MKL inside libtorch_cpu: what at::mm ends in.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c,
                       const int* ldc);

namespace {

using at::Tensor;
using bench::Case;
using bench::Setup;

Tensor random(uint64_t seed, std::vector<int64_t> shape, float lo = -1, float hi = 1) {
  Tensor t = at::empty(shape, at::kFloat);
  auto* p = t.data_ptr<float>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    p[i] = bench::random_value(seed, static_cast<uint64_t>(i), lo, hi);
  }
  return t;
}

void use(const Tensor& t) {
  asm volatile("" : : "r"(t.unsafeGetTensorImpl()) : "memory");
}

double digest(const Tensor& t) {
  const Tensor flat = t.detach().contiguous();
  return bench::mean_square(flat.data_ptr<float>(), flat.numel());
}

// F: one iteration, returns its output.
template <class F>
Case repeat(F op) {
  Case c;
  c.body = [op](int64_t n) {
    at::NoGradGuard guard;
    for (int64_t i = 0; i < n; ++i) use(op());
  };
  c.digest = [op] {
    at::NoGradGuard guard;
    return digest(op());
  };
  return c;
}

// The same inputs and loop in PyTorch's cheapest mode, which does no bookkeeping for
// autograd at all.
Setup in_inference_mode(Case (*setup)()) {
  return [setup] {
    c10::InferenceMode guard;
    Case c = setup();
    c.body = [body = c.body](int64_t n) {
      c10::InferenceMode inner;
      body(n);
    };
    return c;
  };
}

constexpr int64_t kChain = 1000;

Case add_4() {
  return repeat([a = random(1, {4}), b = random(2, {4})] { return at::add(a, b); });
}

Tensor chain(const Tensor& a, const Tensor& b) {
  Tensor x = a;
  for (int64_t i = 0; i < kChain; ++i) x = at::add(x, b);
  return x;
}

Case chain_1000() {
  Case c = repeat([a = random(1, {4}), b = random(2, {4})] { return chain(a, b); });
  c.ops = kChain;
  return c;
}

Case add_4_taped() {
  Tensor a = random(1, {4}).requires_grad_();
  Tensor b = random(2, {4});
  Case c;
  c.body = [a, b](int64_t n) {
    for (int64_t i = 0; i < n; ++i) use(at::add(a, b));
  };
  c.digest = [a, b] { return digest(at::add(a, b)); };
  return c;
}

Case chain_1000_taped() {
  Tensor a = random(1, {4}).requires_grad_();
  Tensor b = random(2, {4});
  Case c;
  c.ops = kChain;
  c.body = [a, b](int64_t n) {
    for (int64_t i = 0; i < n; ++i) use(chain(a, b));
  };
  c.digest = [a, b] { return digest(chain(a, b)); };
  return c;
}

Case matmul(int64_t size) {
  return repeat([a = random(1, {size, size}), b = random(2, {size, size})] {
    return at::matmul(a, b);
  });
}

Case matmul_64() {
  Case c = matmul(64);
  Tensor a = random(1, {64, 64}), b = random(2, {64, 64}), out = at::empty({64, 64});
  c.kernel = [a, b, out](int64_t n) {
    const int size = 64;
    const float one = 1, zero = 0;
    // Row-major operands of a column-major library: b × a.
    for (int64_t i = 0; i < n; ++i) {
      sgemm_("n", "n", &size, &size, &size, &one, b.data_ptr<float>(), &size,
             a.data_ptr<float>(), &size, &zero, out.data_ptr<float>(), &size);
    }
  };
  return c;
}

struct Conv {
  int64_t size, in_channels, kernel, out_channels;
};

// Inputs are made as NHWC and HWIO like everybody else's, then brought to the layout
// under test.
Case conv2d(Conv s, at::MemoryFormat format) {
  Tensor x = random(1, {8, s.size, s.size, s.in_channels})
                 .permute({0, 3, 1, 2})
                 .contiguous(format);
  Tensor w = random(2, {s.kernel, s.kernel, s.in_channels, s.out_channels})
                 .permute({3, 2, 0, 1})
                 .contiguous(format);
  const int64_t padding = s.kernel / 2;
  return repeat([x, w, padding] { return at::conv2d(x, w, {}, 1, padding); });
}

constexpr int64_t k16M = int64_t{16} << 20;

Case reduce_sum() {
  return repeat([x = random(1, {k16M}, 0, 1)] { return at::sum(x); });
}
Case add_16m() {
  return repeat([x = random(1, {k16M}), y = random(2, {k16M})] { return at::add(x, y); });
}
Case mul_add_16m() {
  return repeat([x = random(1, {k16M}), y = random(2, {k16M}), z = random(3, {k16M})] {
    return at::add(at::mul(x, y), z);
  });
}
Case exp_16m() {
  return repeat([x = random(1, {k16M}, -4, 4)] { return at::exp(x); });
}
Case tanh_16m() {
  return repeat([x = random(1, {k16M}, -4, 4)] { return at::tanh(x); });
}
Case softmax() {
  return repeat([x = random(1, {4096, 1000}, -4, 4)] { return at::softmax(x, -1); });
}
Case gather() {
  const std::vector<int64_t> rows = bench::random_indices(2, 100'000, 1'000'000);
  Tensor indices = at::tensor(rows, at::kLong);
  return repeat([table = random(1, {1'000'000, 64}), indices] {
    return at::index_select(table, 0, indices);
  });
}
Case layer_norm() {
  return repeat(
      [x = random(1, {4096, 768}), gamma = random(2, {768}), beta = random(3, {768})] {
        return at::layer_norm(x, {768}, gamma, beta, 1e-3);
      });
}
Case transpose() {
  return repeat(
      [x = random(1, {4096, 4096})] { return at::transpose(x, 0, 1).contiguous(); });
}

Setup conv_setup(Conv s, at::MemoryFormat format) {
  return [s, format] { return conv2d(s, format); };
}

}  // namespace

int main(int argc, char** argv) {
  bench::Worker w{.name = "torch", .library = "PyTorch " TORCH_VERSION " (C++)"};
  w.threads = bench::threads_argument(argc, argv);
  at::set_num_threads(w.threads);
  w.cases = {{"add_4@no_grad", add_4},
             {"add_4@inference_mode", in_inference_mode(add_4)},
             {"chain_1000@no_grad", chain_1000},
             {"chain_1000@inference_mode", in_inference_mode(chain_1000)},
             {"matmul_64@no_grad", matmul_64},
             {"matmul_64@inference_mode", in_inference_mode(matmul_64)},
             {"add_4_taped", add_4_taped},
             {"chain_1000_taped", chain_1000_taped},
             {"matmul_1024", [] { return matmul(1024); }}};
  const std::vector<std::pair<std::string, Conv>> convolutions = {
      {"conv_56_64_k3_64", {56, 64, 3, 64}},
      {"conv_28_128_k3_128", {28, 128, 3, 128}},
      {"conv_14_256_k3_256", {14, 256, 3, 256}},
      {"conv_56_64_k1_256", {56, 64, 1, 256}}};
  for (const auto& [name, shape] : convolutions) {
    w.cases.emplace_back(name + "@channels_last",
                         conv_setup(shape, at::MemoryFormat::ChannelsLast));
    w.cases.emplace_back(name + "@nchw", conv_setup(shape, at::MemoryFormat::Contiguous));
  }
  const std::vector<std::pair<std::string, Setup>> rest = {
      {"reduce_sum_16m", reduce_sum}, {"add_16m", add_16m},
      {"mul_add_16m", mul_add_16m},   {"exp_16m", exp_16m},
      {"tanh_16m", tanh_16m},         {"softmax_4096_1000", softmax},
      {"gather_100k_of_1m", gather},  {"layer_norm_4096_768", layer_norm},
      {"transpose_4096", transpose}};
  w.cases.insert(w.cases.end(), rest.begin(), rest.end());
  return bench::serve(w);
}
