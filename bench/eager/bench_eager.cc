// Tandem's worker of `make bench-eager`: small ops, where dispatch is what counts, and
// large ones, where the kernel is. torch_eager.cc and tensorflow_eager.py have the same
// cases; common/worker.h the protocol.
#include <optional>

#include "base/version.h"
#include "common/worker.h"
#include "op/emitter.h"
#include "run/call_plan.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"

namespace {

namespace td = tandem;
using bench::Case;
using bench::Setup;
using td::Shape;
using td::Tensor;

Tensor random(uint64_t seed, const Shape& shape, float lo = -1, float hi = 1) {
  return td::constant(bench::random_values(seed, shape.num_elements(), lo, hi), shape);
}

void use(const Tensor& t) { asm volatile("" : : "r"(t.impl()) : "memory"); }

double digest(const Tensor& t) {
  return bench::mean_square(static_cast<const float*>(t.to_host().host_data()),
                            t.num_elements());
}

// F: one iteration, returns its output.
template <class F>
Case repeat(F op) {
  Case c;
  c.body = [op](int64_t n) {
    for (int64_t i = 0; i < n; ++i) use(op());
  };
  c.digest = [op] { return digest(op()); };
  return c;
}

// ---- Small ops
// ---------------------------------------------------------------------------

constexpr int64_t kChain = 1000;
/// Ops that one tape records before it is dropped, where an iteration is a single op.
constexpr int64_t kOpsPerTape = 100;

Case add_4() {
  return repeat([a = random(1, {4}), b = random(2, {4})] { return td::add(a, b); });
}

Tensor chain(const Tensor& a, const Tensor& b) {
  Tensor x = a;
  for (int64_t i = 0; i < kChain; ++i) x = td::add(x, b);
  return x;
}

Case chain_1000() {
  Case c = repeat([a = random(1, {4}), b = random(2, {4})] { return chain(a, b); });
  c.ops = kChain;
  return c;
}

Case add_4_taped() {
  const Tensor a = random(1, {4}), b = random(2, {4});
  Case c;
  c.body = [a, b](int64_t n) {
    for (; n > 0; n -= kOpsPerTape) {
      td::GradientTape tape;
      tape.watch(a);
      for (int64_t i = 0; i < std::min(n, kOpsPerTape); ++i) use(td::add(a, b));
    }
  };
  c.digest = [a, b] { return digest(td::add(a, b)); };
  return c;
}

Case chain_1000_taped() {
  const Tensor a = random(1, {4}), b = random(2, {4});
  Case c = repeat([a, b] {
    td::GradientTape tape;
    tape.watch(a);
    return chain(a, b);
  });
  c.ops = kChain;
  return c;
}

Case matmul(int64_t size) {
  return repeat([a = random(1, {size, size}), b = random(2, {size, size})] {
    return td::matmul(a, b);
  });
}

/// The prepared kernel of an op on fixed memory, as run/eager.cc launches it.
class KernelAlone {
 public:
  KernelAlone(const char* op, std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {
    std::vector<td::TensorImpl*> impls;
    for (const Tensor& t : inputs_) impls.push_back(t.impl());
    const td::OpDef& def = td::OpTable::get().at(op);
    plan_ = td::find_plan({&def, td::default_attrs(def), impls}, false);
    for (const td::CallPlan::Output& o : plan_->outputs) {
      outputs_.push_back(td::make_tensor(*plan_->device, o.dtype, o.shape));
    }
    for (const Tensor& t : inputs_) in_.push_back(t.impl()->data());
    for (const Tensor& t : outputs_) out_.push_back(t.impl()->data());
    if (const size_t bytes = plan_->prepared->workspace_bytes) {
      workspace_ = td::Buffer::allocate(*plan_->device, bytes);
    }
  }

  void run(int64_t n) const {
    const td::CurrentTeam current(plan_->device->team());
    std::optional<td::TeamToken> token;
    if (plan_->kernel->library_threads) token.emplace(plan_->device->team());
    td::LaunchArgs args{in_.data(), out_.data(), nullptr, nullptr};
    if (workspace_) args.workspace = workspace_->host_address();
    for (int64_t i = 0; i < n; ++i) plan_->kernel->launch(*plan_->prepared, args);
  }

 private:
  std::vector<Tensor> inputs_, outputs_;
  std::vector<void*> in_, out_;
  td::Ref<td::CallPlan> plan_;
  td::Ref<td::Buffer> workspace_;
};

Case matmul_64() {
  Case c = matmul(64);
  const std::vector<Tensor> inputs = {random(1, {64, 64}), random(2, {64, 64})};
  c.kernel = [kernel = std::make_shared<KernelAlone>("MatMul", inputs)](int64_t n) {
    kernel->run(n);
  };
  return c;
}

// ---- Large ops
// ---------------------------------------------------------------------------

struct Conv {
  int64_t size, in_channels, kernel, out_channels;
};

Setup conv2d(Conv s) {
  return [s] {
    const Tensor x = random(1, {8, s.size, s.size, s.in_channels});
    const Tensor w = random(2, {s.kernel, s.kernel, s.in_channels, s.out_channels});
    return repeat(
        [x, w] { return td::nn::conv2d(x, w, {.padding = td::nn::Padding::kSame}); });
  };
}

constexpr int64_t k16M = int64_t{16} << 20;

Case reduce_sum() {
  return repeat([x = random(1, {k16M}, 0, 1)] { return td::reduce_sum(x); });
}
Case add_16m() {
  return repeat([x = random(1, {k16M}), y = random(2, {k16M})] { return td::add(x, y); });
}
Case mul_add_16m() {
  return repeat([x = random(1, {k16M}), y = random(2, {k16M}), z = random(3, {k16M})] {
    return td::add(td::multiply(x, y), z);
  });
}
Case exp_16m() {
  return repeat([x = random(1, {k16M}, -4, 4)] { return td::exp(x); });
}
Case tanh_16m() {
  return repeat([x = random(1, {k16M}, -4, 4)] { return td::tanh(x); });
}
Case softmax() {
  return repeat([x = random(1, {4096, 1000}, -4, 4)] { return td::nn::softmax(x); });
}
Case gather() {
  const Tensor rows = td::constant(bench::random_indices(2, 100'000, 1'000'000));
  return repeat(
      [table = random(1, {1'000'000, 64}), rows] { return td::gather(table, rows); });
}
Case layer_norm() {
  return repeat(
      [x = random(1, {4096, 768}), gamma = random(2, {768}), beta = random(3, {768})] {
        return td::nn::layer_normalization(x, gamma, beta);
      });
}
Case transpose() {
  return repeat([x = random(1, {4096, 4096})] { return td::transpose(x); });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Worker w{.name = "tandem", .library = "Tandem " TANDEM_VERSION " (C++)"};
  w.threads = bench::threads_argument(argc, argv);
  td::config::set_intra_op_parallelism_threads(w.threads);
  w.cases = {{"add_4", add_4},
             {"chain_1000", chain_1000},
             {"matmul_64", matmul_64},
             {"add_4_taped", add_4_taped},
             {"chain_1000_taped", chain_1000_taped},
             {"matmul_1024", [] { return matmul(1024); }},
             {"conv_56_64_k3_64", conv2d({56, 64, 3, 64})},
             {"conv_28_128_k3_128", conv2d({28, 128, 3, 128})},
             {"conv_14_256_k3_256", conv2d({14, 256, 3, 256})},
             {"conv_56_64_k1_256", conv2d({56, 64, 1, 256})},
             {"reduce_sum_16m", reduce_sum},
             {"add_16m", add_16m},
             {"mul_add_16m", mul_add_16m},
             {"exp_16m", exp_16m},
             {"tanh_16m", tanh_16m},
             {"softmax_4096_1000", softmax},
             {"gather_100k_of_1m", gather},
             {"layer_norm_4096_768", layer_norm},
             {"transpose_4096", transpose}};
  return bench::serve(w);
}
