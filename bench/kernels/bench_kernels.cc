// Prepared kernels on memory in the cache: every kernel that takes a call, with one
// thread and with two, in turns, so that what else the machine does hits all of them
// alike.
//
//   bench_kernels [TEXT]   cases whose name contains TEXT
//
// Prints the median of the rounds in microseconds; * marks the kernel that calls get. The
// cases are what one training step of a small network or of a transformer block launches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"
#include "op/emitter.h"
#include "op/kernel.h"
#include "ops/fused_products.h"
#include "tandem/tandem.h"

namespace {

using namespace tandem;

constexpr int kRounds = 31;
constexpr double kRoundUs = 60;  // least time of a measurement

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Memory = std::unique_ptr<void, Free>;
Memory allocate(size_t bytes) {
  return Memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
}

struct In {
  Shape shape;
  DType dtype = DType::kFloat32;
};

struct Case {
  std::string name;
  const char* op;
  Attrs attrs;
  std::vector<In> inputs;
};

// Floats in [-1, 1); integers are labels of ten classes.
Memory make_input(const In& in) {
  const int64_t n = in.shape.num_elements();
  Memory memory = allocate(static_cast<size_t>(n) * dtype_size(in.dtype));
  for (int64_t i = 0; i < n; ++i) {
    if (in.dtype == DType::kFloat32) {
      static_cast<float*>(memory.get())[i] =
          static_cast<float>(i * 7919 % 2003) / 1001.5f - 1;
    } else {
      static_cast<int32_t*>(memory.get())[i] = static_cast<int32_t>(i % 10);
    }
  }
  return memory;
}

/// One kernel prepared for a number of threads.
struct Candidate {
  const Kernel* kernel = nullptr;
  bool chosen = false;
  int threads = 1;
  Ref<Prepared> prepared = {};
  Memory workspace = {};
  int64_t repetitions = 1;
  std::vector<double> us = {};
};

class Measurement {
 public:
  explicit Measurement(const Case& c) : case_(c), op_(OpTable::get().at(c.op)) {
    attrs_ = c.attrs.ref().data ? c.attrs.ref() : default_attrs(op_);
    for (const In& in : c.inputs) {
      infos_.push_back({in.dtype, in.shape, {}, false, nullptr});
      add_memory(in_, make_input(in));
    }
    InferContext context(op_, attrs_, infos_);
    infer_call(context);
    outputs_ = context.outputs();
    for (const TensorInfo& t : outputs_) {
      add_memory(out_, allocate(static_cast<size_t>(t.shape.num_elements()) *
                                dtype_size(t.dtype)));
    }
    for (int threads : {1, 2}) add_candidates(threads);
  }

  void run() {
    for (Candidate& c : candidates_) {
      launch(c, 1);
      c.repetitions = std::max<int64_t>(1, static_cast<int64_t>(kRoundUs / launch(c, 3)));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (Candidate& c : candidates_) c.us.push_back(launch(c, c.repetitions));
    }
    for (Candidate& c : candidates_) {
      std::nth_element(c.us.begin(), c.us.begin() + kRounds / 2, c.us.end());
      fmt::print("{:<42} {:<34} {} {:>10.2f} {}\n", case_.name, c.kernel->id, c.threads,
                 c.us[kRounds / 2], c.chosen ? "*" : "");
    }
    std::fflush(stdout);
  }

 private:
  void add_memory(std::vector<void*>& list, Memory memory) {
    list.push_back(memory.get());
    memory_.push_back(std::move(memory));
  }

  void add_candidates(int threads) {
    const Signature s{.op = &op_,
                      .attrs = attrs_,
                      .inputs = infos_,
                      .outputs = outputs_,
                      .threads = threads};
    const KernelRegistry& registry = KernelRegistry::get();
    const Kernel* chosen = registry.choose(s, kHostPlatform);
    for (const Kernel* k : registry.find(op_, kHostPlatform)) {
      if (k->dtypes && !(k->dtypes & mask(infos_[0].dtype))) continue;
      if (k->supports && !k->supports(s)) continue;
      Candidate c{.kernel = k, .chosen = k == chosen, .threads = threads};
      c.prepared = k->prepare(s);
      c.workspace = allocate(c.prepared->workspace_bytes);
      candidates_.push_back(std::move(c));
    }
  }

  double launch(const Candidate& c, int64_t times) {
    Team& team = c.threads == 1 ? one_ : two_;
    const CurrentTeam current(&team);
    std::optional<TeamToken> token;
    if (c.kernel->library_threads) token.emplace(&team);
    const LaunchArgs args{in_.data(), out_.data(), c.workspace.get(), nullptr};
    const double start = now_us();
    for (int64_t i = 0; i < times; ++i) c.kernel->launch(*c.prepared, args);
    return (now_us() - start) / static_cast<double>(times);
  }

  const Case& case_;
  const OpDef& op_;
  AttrsRef attrs_;
  std::vector<TensorInfo> infos_, outputs_;
  std::vector<Memory> memory_;
  std::vector<void*> in_, out_;
  std::vector<Candidate> candidates_;
  Team one_{1}, two_{2};
};

// ---- Cases
// ------------------------------------------------------------------------------

struct Product {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
};

Case matmul(const char* what, const Product& p) {
  const Shape a = p.transpose_a ? Shape{p.k, p.m} : Shape{p.m, p.k};
  const Shape b = p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n};
  const MatMulAttrs attrs{.transpose_a = p.transpose_a, .transpose_b = p.transpose_b};
  return {fmt::format("{} matmul {}x{}x{}{}{}", what, p.m, p.n, p.k,
                      p.transpose_a ? " ta" : "", p.transpose_b ? " tb" : ""),
          "MatMul",
          Attrs(attrs_ref(attrs)),
          {{a}, {b}}};
}

Case dense(const char* what, const Product& p, const char* activation) {
  return {fmt::format("{} dense {}x{}x{} {}", what, p.m, p.n, p.k, activation),
          "FusedMatMul",
          Attrs(attrs_ref(FusedMatMulAttrs{.activation = activation})),
          {{{p.m, p.k}}, {{p.k, p.n}}, {{p.n}}}};
}

/// The launches of a training step of in → units → classes.
void add_mlp(std::vector<Case>& cases, int64_t batch, int64_t in, int64_t units) {
  constexpr int64_t kClasses = 10;
  const std::string label = fmt::format("mlp {}-{}-{} b{}", in, units, kClasses, batch);
  const char* what = label.c_str();
  const Shape hidden{batch, units}, logits{batch, kClasses};
  cases.push_back(dense(what, {batch, units, in}, "Relu"));
  cases.push_back(dense(what, {batch, kClasses, units}, ""));
  cases.push_back(matmul(what, {batch, units, in}));
  cases.push_back(matmul(what, {batch, kClasses, units}));
  cases.push_back({label + " loss",
                   "SparseSoftmaxCrossEntropyWithLogits",
                   {},
                   {{logits}, {{batch}, DType::kInt32}}});
  cases.push_back(matmul(what, {batch, units, kClasses, false, true}));
  cases.push_back(matmul(what, {units, kClasses, batch, true}));
  cases.push_back(matmul(what, {in, units, batch, true}));
  cases.push_back({label + " relu grad", "ReluGrad", {}, {{hidden}, {hidden}}});
  cases.push_back({label + " bias grad", "BiasAddGrad", {}, {{hidden}}});
}

void add_transformer(std::vector<Case>& cases, int64_t tokens, int64_t width) {
  const char* what = "transformer";
  const int64_t wide = 4 * width;
  cases.push_back(dense(what, {tokens, width, width}, ""));
  cases.push_back(dense(what, {tokens, wide, width}, "GeluTanh"));
  cases.push_back(dense(what, {tokens, wide, width}, "Relu"));
  cases.push_back(matmul(what, {tokens, width, width}));
  cases.push_back(matmul(what, {tokens, width, width, false, true}));
  cases.push_back(matmul(what, {width, width, tokens, true}));
  cases.push_back(matmul(what, {tokens, wide, width}));
  const Shape heads{8, 4, 128, 64}, scores{8, 4, 128, 128};
  cases.push_back({"transformer q·k",
                   "MatMul",
                   Attrs(attrs_ref(MatMulAttrs{.transpose_b = true})),
                   {{heads}, {heads}}});
  cases.push_back({"transformer p·v", "MatMul", {}, {{scores}, {heads}}});
}

Case convolution(int64_t batch, int64_t side, int64_t in, int64_t out,
                 const char* activation) {
  FusedConvAttrs attrs{.padding = nn::Padding::kSame};
  attrs.activation = activation;
  return {fmt::format("conv 3x3 {}x{}x{}x{} to {} {}", batch, side, side, in, out,
                      activation),
          "FusedConv2D",
          Attrs(attrs_ref(attrs)),
          {{{batch, side, side, in}}, {{3, 3, in, out}}, {{out}}}};
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int64_t batch : {32, 1024}) {
    add_mlp(cases, batch, 100, 64);
    add_mlp(cases, batch, 784, 128);
  }
  add_transformer(cases, 1024, 256);
  for (const char* activation : {"", "Relu", "Tanh"}) {
    cases.push_back(convolution(32, 28, 1, 32, activation));
    cases.push_back(convolution(32, 14, 32, 64, activation));
  }
  for (int64_t side : {2, 8, 16, 64, 256}) {
    cases.push_back(matmul("square", {side, side, side}));
  }
  cases.push_back(matmul("vector", {1, 128, 784}));
  cases.push_back(matmul("vector", {1024, 1, 784}));
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = argc > 1 ? argv[1] : "";
  fmt::print("{:<42} {:<34} t {:>10}\n", "case", "kernel", "us");
  for (const Case& c : all_cases()) {
    if (c.name.find(text) != std::string::npos) Measurement(c).run();
  }
}
