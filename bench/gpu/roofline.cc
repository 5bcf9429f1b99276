#include "gpu/roofline.h"

#include <memory>

#include "tandem/function.h"
#include "tandem/tandem.h"

namespace bench::gpu {

namespace td = tandem;
using td::DType;
using td::Shape;
using td::Tensor;

namespace {

using Tensors = std::vector<Tensor>;
using Inputs = Tensors;

struct Op {
  std::string name;
  /// What bounds it: "memory", or the products of a dtype ("tf32", "bfloat16"), or the
  /// "link" between host and device.
  std::string bound;
  double bytes;
  double flops;
  /// Makes the inputs of call number `set`: calls take turns, so that no cache holds
  /// what the next one reads.
  std::function<Inputs(uint64_t set)> inputs;
  std::function<Tensors(const Inputs&)> call;
  int sets = 3;
};

constexpr int64_t kRandom = 1 << 20;

/// Random numbers on the current device; a million of them, repeated.
Tensor random(uint64_t seed, const Shape& shape, DType dtype = td::float32) {
  const int64_t n = shape.num_elements();
  const Tensor base = td::constant(random_values(seed, std::min(n, kRandom)));
  if (n <= kRandom) return td::cast(td::reshape(base, shape), dtype);
  const Tensor all = td::tile(base, {(n + kRandom - 1) / kRandom});
  const Tensor part = all.num_elements() == n
                          ? all
                          : td::slice(all, td::constant({int64_t{0}}), td::constant({n}));
  return td::cast(td::reshape(part, shape), dtype);
}

double size_of(const Shape& s, DType dtype = td::float32) {
  return static_cast<double>(s.num_elements()) *
         static_cast<double>(td::dtype_size(dtype));
}

/// A compiled function of the inputs and of the gradient by the result: the result and
/// the gradients by all inputs.
std::function<Tensors(const Inputs&)> with_gradients(
    const std::function<Tensors(const Inputs&)>& f) {
  const auto step = td::function([f](Tensors all) {
    const Inputs in(all.begin(), all.end() - 1);
    td::GradientTape tape;
    for (const Tensor& x : in) tape.watch(x);
    Tensors out = f(in);
    const auto gradients = tape.gradient(out[0], in, {.output_gradients = {all.back()}});
    for (const td::Gradient& g : gradients) out.push_back(g.dense());
    return out;
  });
  return [step](const Inputs& x) { return step(x); };
}

// ---- The ops -----------------------------------------------------------------------

/// `size`: what distinguishes the names from those of other sizes.
void add_elementwise(std::vector<Op>& ops, int64_t n, const std::string& size = "") {
  const Shape s{n};
  const double one = size_of(s);
  const auto in = [=](int count, DType dtype) {
    return [=](uint64_t set) {
      Inputs all;
      for (int i = 0; i < count; ++i) {
        all.push_back(random(10 * set + static_cast<uint64_t>(i) + 1, s, dtype));
      }
      return all;
    };
  };
  ops.push_back(
      {"copy" + size, "memory", 2 * one, 0, in(1, td::float32),
       [](const Inputs& x) { return Tensors{td::concat({x[0], td::zeros({0})}, {0})}; }});
  ops.push_back({"add" + size, "memory", 3 * one, 0, in(2, td::float32),
                 [](const Inputs& x) { return Tensors{x[0] + x[1]}; }});
  ops.push_back({"add_bf16" + size, "memory", 1.5 * one, 0, in(2, td::bf16),
                 [](const Inputs& x) { return Tensors{x[0] + x[1]}; }});
  ops.push_back({"exp" + size, "memory", 2 * one, 0, in(1, td::float32),
                 [](const Inputs& x) { return Tensors{td::exp(x[0])}; }});
  const auto chain =
      td::function([](Tensor a, Tensor b) { return td::tanh(a * b + 0.5) * a - b; });
  ops.push_back({"fused_chain" + size, "memory", 3 * one, 0, in(2, td::float32),
                 [chain](const Inputs& x) { return Tensors{chain(x[0], x[1])}; }});
  ops.push_back({"reduce_sum" + size, "memory", one, 0, in(1, td::float32),
                 [](const Inputs& x) { return Tensors{td::reduce_sum(x[0])}; }});
  ops.push_back({"reduce_max" + size, "memory", one, 0, in(1, td::float32),
                 [](const Inputs& x) { return Tensors{td::reduce_max(x[0])}; }});
}

void add_rows(std::vector<Op>& ops, int64_t rows, int64_t columns,
              const std::string& size = "") {
  const Shape s{rows, columns};
  const double one = size_of(s);
  const auto in = [=](uint64_t set) { return Inputs{random(set + 1, s)}; };
  ops.push_back({"reduce_sum_rows" + size, "memory", one, 0, in, [](const Inputs& x) {
                   return Tensors{td::reduce_sum(x[0], {.axis = {1}})};
                 }});
  ops.push_back({"reduce_sum_columns" + size, "memory", one, 0, in, [](const Inputs& x) {
                   return Tensors{td::reduce_sum(x[0], {.axis = {0}})};
                 }});
  ops.push_back({"softmax" + size, "memory", 2 * one, 0, in,
                 [](const Inputs& x) { return Tensors{td::nn::softmax(x[0])}; }});
  ops.push_back({"layer_norm" + size, "memory", 2 * one, 0,
                 [=](uint64_t set) {
                   return Inputs{random(set + 1, s), random(91, {columns}),
                                 random(92, {columns})};
                 },
                 [](const Inputs& x) {
                   return Tensors{td::nn::layer_normalization(x[0], x[1], x[2])};
                 }});
  ops.push_back({"transpose" + size, "memory", 2 * one, 0, in,
                 [](const Inputs& x) { return Tensors{td::transpose(x[0])}; }});
  ops.push_back({"gather_rows" + size, "memory", 2 * one, 0,
                 [=](uint64_t set) {
                   return Inputs{random(set + 1, s),
                                 td::constant(random_indices(93, rows, rows))};
                 },
                 [](const Inputs& x) { return Tensors{td::gather(x[0], x[1])}; }});
}

void add_products(std::vector<Op>& ops, int64_t n) {
  const double size = static_cast<double>(n);
  for (const auto& [name, dtype] : {std::pair{"tf32", td::float32}, {"bf16", td::bf16}}) {
    const DType t = dtype;
    ops.push_back({std::string("matmul_") + name, t == td::bf16 ? "bfloat16" : "tf32",
                   3 * size_of({n, n}, t), 2 * size * size * size,
                   [=](uint64_t set) {
                     return Inputs{random(2 * set + 1, {n, n}, t),
                                   random(2 * set + 2, {n, n}, t)};
                   },
                   [](const Inputs& x) { return Tensors{td::matmul(x[0], x[1])}; }, 2});
  }
}

struct ConvSize {
  int64_t batch, side, channels, filters, kernel;
};

void add_convolutions(std::vector<Op>& ops, const ConvSize& c) {
  const Shape image{c.batch, c.side, c.side, c.channels};
  const Shape filters{c.kernel, c.kernel, c.channels, c.filters};
  const Shape out{c.batch, c.side, c.side, c.filters};
  const double flops = 2.0 * static_cast<double>(out.num_elements()) *
                       static_cast<double>(c.kernel * c.kernel * c.channels);
  const std::string what = std::to_string(c.kernel) + "x" + std::to_string(c.kernel);
  const auto conv = [](const Inputs& x) {
    return Tensors{td::nn::conv2d(x[0], x[1], {.padding = td::nn::Padding::kSame})};
  };
  for (const auto& [name, dtype] : {std::pair{"tf32", td::float32}, {"bf16", td::bf16}}) {
    const DType t = dtype;
    const std::string bound = t == td::bf16 ? "bfloat16" : "tf32";
    const auto in = [=](uint64_t set) {
      return Inputs{random(set + 1, image, t), random(94, filters, t),
                    random(95, out, t)};
    };
    const double bytes = size_of(image, t) + size_of(filters, t) + size_of(out, t);
    ops.push_back({"conv" + what + "_" + name, bound, bytes, flops, in, conv});
    ops.push_back({"conv" + what + "_step_" + name, bound, 3 * bytes, 3 * flops, in,
                   with_gradients(conv)});
  }
}

struct AttentionSize {
  int64_t batch, time, heads, size;
};

void add_attention(std::vector<Op>& ops, const AttentionSize& a) {
  const Shape s{a.batch, a.time, a.heads, a.size};
  // Two products, of which the mask leaves a half; five in the gradient.
  const double flops = 2.0 * static_cast<double>(s.num_elements() * a.time);
  const auto attend = [](const Inputs& x) {
    return Tensors{
        td::nn::scaled_dot_product_attention(x[0], x[1], x[2], {}, {}, {.causal = true})};
  };
  const auto in = [=](uint64_t set) {
    Inputs all;
    for (uint64_t i = 0; i < 4; ++i) all.push_back(random(4 * set + i + 1, s, td::bf16));
    return all;
  };
  const double one = size_of(s, td::bf16);
  ops.push_back({"attention_bf16", "bfloat16", 4 * one, flops, in, attend});
  ops.push_back({"attention_step_bf16", "bfloat16", 9 * one, 3.5 * flops, in,
                 with_gradients(attend)});
}

void add_links(std::vector<Op>& ops, int64_t n) {
  const Shape s{n};
  const double one = size_of(s);
  const std::string gpu = td::device_count("GPU") ? "/GPU:0" : "/CPU:0";
  // The same work twice: PyTorch's side is in ordinary memory once, then in memory that
  // the GPU reads and writes itself.
  for (const std::string& peer : {std::string(), std::string("_pinned")}) {
    ops.push_back({"copy_to_device" + peer, "link", one, 0,
                   [=](uint64_t set) {
                     const td::DeviceScope host("/CPU:0");
                     return Inputs{random(set + 1, s)};
                   },
                   [gpu](const Inputs& x) { return Tensors{x[0].to(gpu)}; }});
    ops.push_back({"copy_to_host" + peer, "link", one, 0,
                   [=](uint64_t set) { return Inputs{random(set + 1, s)}; },
                   [](const Inputs& x) { return Tensors{x[0].to("/CPU:0")}; }});
  }
}

// ------------------------------------------------------------------------------------

Case make_case(const Op& op) {
  auto sets = std::make_shared<std::vector<Inputs>>();
  for (int i = 0; i < op.sets; ++i) sets->push_back(op.inputs(static_cast<uint64_t>(i)));
  double digest = 0;
  for (const Tensor& out : op.call(sets->front())) {
    const Tensor wide = td::cast(out, td::float32);
    digest += td::reduce_mean(wide * wide).item<float>();
  }
  Case result;
  result.body = [sets, call = op.call](int64_t n) {
    Tensors last;
    for (int64_t i = 0; i < n; ++i) {
      last = call((*sets)[static_cast<size_t>(i) % sets->size()]);
    }
    for (const Tensor& out : last) out.wait();
  };
  result.digest = [digest] { return digest; };
  result.more = [op] {
    std::ostringstream out;
    out.precision(9);
    out << ", \"bytes\": " << op.bytes << ", \"flops\": " << op.flops
        << ", \"bound\": " << json_string(op.bound);
    return out.str();
  };
  return result;
}

}  // namespace

std::vector<std::pair<std::string, Setup>> op_cases(bool small) {
  std::vector<Op> ops;
  add_elementwise(ops, small ? 1 << 16 : 1 << 26);  // 256 MiB of float32
  add_elementwise(ops, small ? 1 << 14 : 16'000'000, "_64mb");
  add_rows(ops, small ? 64 : 16384, small ? 256 : 4096);
  add_rows(ops, small ? 32 : 4000, small ? 128 : 4000, "_64mb");
  add_products(ops, small ? 128 : 8192);
  add_convolutions(ops, small ? ConvSize{2, 8, 16, 16, 3} : ConvSize{128, 56, 64, 64, 3});
  add_convolutions(ops,
                   small ? ConvSize{2, 8, 16, 64, 1} : ConvSize{128, 28, 512, 128, 1});
  add_attention(ops,
                small ? AttentionSize{1, 32, 2, 16} : AttentionSize{8, 1024, 12, 64});
  add_links(ops, small ? 1 << 16 : 1 << 26);  // 256 MiB
  std::vector<std::pair<std::string, Setup>> cases;
  for (Op& op : ops) {
    const std::string name = "op_" + op.name;
    cases.emplace_back(name, [op = std::move(op)] { return make_case(op); });
  }
  return cases;
}

}  // namespace bench::gpu
