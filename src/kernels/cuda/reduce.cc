// Sum, Mean, Prod, EuclideanNorm: all numbers; Max, Min, ArgMax, ArgMin: real numbers;
// Any, All: bool; LogSumExp, Moments, L2Loss: floats; SumLike, BiasAddGrad: all numbers.
#include "kernels/cuda/reduce.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "ops/nn_geometry.h"
#include "tandem/ops/nn_conv.h"
#include "tandem/ops/reduce.h"

namespace tandem::cuda {

namespace {

struct Dim {
  int64_t size, step;
};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The values that lose against every other one.
std::string extremes(DType dtype) {
  std::string low, high;
  if (is_floating(dtype)) {
    low = "-(C)kInfinity";
    high = "(C)kInfinity";
  } else if (dtype == DType::kBool) {
    low = "false";
    high = "true";
  } else if (is_unsigned(dtype)) {
    low = "(C)0";
    high = "(C)~0ull";
  } else {
    const size_t bits = dtype_size(dtype) * 8;
    high = fmt::format("(C)((1ull << {}) - 1)", bits - 1);
    low = fmt::format("(C)(-(i64)((1ull << {}) - 1) - 1)", bits - 1);
  }
  return fmt::format("#define LOWEST {}\n#define HIGHEST {}\n", low, high);
}

size_t accumulator_bytes(const std::string& op, DType dtype) {
  const size_t c = dtype_size(dtype) == 2 && is_floating(dtype) ? 4 : dtype_size(dtype);
  if ((op == "Mean" || op == "EuclideanNorm") && is_integer(dtype)) return 8;
  return op == "Moments" ? 3 * c : op == "LogSumExp" ? 2 * c : c;
}

}  // namespace

std::string reducer_text(const std::string& op, DType dtype) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\n#define OP_{}\n{}", type_text(dtype), upper(op),
                     extremes(dtype)) +
         std::string(device_text("logsumexp.cuh")) +
         std::string(device_text("reducers.cuh"));
}

std::string reduce_text(const std::string& op, DType dtype, int kept, int reduced,
                        bool wide) {
  return reducer_text(op, dtype) +
         fmt::format("typedef {} I;\n#define KEPT {}\n#define REDUCED {}\n",
                     wide ? "u64" : "u32", kept, reduced) +
         std::string(device_text("reduce.cuh"));
}

std::string arg_text(bool largest, DType dtype, DType index) {
  return text_prefix(false) +
         fmt::format(
             "typedef {} T;\ntypedef u64 I;\n#define KEPT 1\n#define REDUCED 1\n"
             "#define OP_SUM\n#define OP_ARG\n#define INDEX {}\n"
             "#define BETTER(a, b) ((a) {} (b))\n",
             type_text(dtype), type_text(index), largest ? ">" : "<") +
         std::string(device_text("reducers.cuh")) +
         std::string(device_text("reduce.cuh"));
}

ReducePlan plan_reduction(Device* device, const std::string& op, DType dtype,
                          const Shape& shape, std::span<const bool> reduced) {
  static_cast<CudaDevice*>(device)->activate();
  std::vector<Dim> kept, gone;
  bool rows = true, last_gone = false;
  int64_t step = 1, outputs = 1, count = 1, elements = 1;
  // From the innermost dimension out; neighbours of one kind are one run of memory.
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const int64_t size = shape[d];
    const bool away = reduced[static_cast<size_t>(d)];
    (away ? count : outputs) *= size;
    elements *= size;
    if (size == 1) continue;
    auto& list = away ? gone : kept;
    if (kept.empty() && gone.empty()) rows = away;
    if (!list.empty() && last_gone == away &&
        list.back().step * list.back().size == step) {
      list.back().size *= size;
    } else {
      list.push_back({size, step});
    }
    last_gone = away;
    step *= size;
  }
  std::reverse(kept.begin(), kept.end());
  std::reverse(gone.begin(), gone.end());
  if (kept.empty()) kept.push_back({1, 0});
  if (gone.empty()) gone.push_back({1, 0});
  ReducePlan p;
  p.outputs = outputs;
  if (outputs == 0) return p;
  const std::string source =
      reduce_text(op, dtype, static_cast<int>(kept.size()), static_cast<int>(gone.size()),
                  elements >= (int64_t{1} << 31));
  // Columns of a matrix, 16 bytes of them to a thread.
  const auto chunk = static_cast<int64_t>(16 / std::min<size_t>(dtype_size(dtype), 16));
  const bool wide =
      !rows && kept.size() == 1 && gone.size() == 1 && chunk > 1 && outputs % chunk == 0;
  // Enough blocks for the GPU when there are few outputs: a thread has eight chunks on
  // its way, or one element.
  const int64_t gpu = static_cast<CudaDevice*>(device)->multiprocessors();
  const int64_t busy = gpu * (wide ? 2 : rows ? 4 : 8);
  const auto jobs_of = [&](int64_t width) {
    return rows ? outputs : (outputs + width - 1) / width;
  };
  const int64_t jobs = jobs_of(wide ? 32 * chunk : 32);
  const int64_t least = rows ? 8192 : 32;  // elements of a part
  const int64_t parts =
      jobs >= busy ? 1
                   : std::clamp<int64_t>(std::min(busy / jobs, count / least), 1, 4096);
  // A warp has a row where that is enough for all of them, or there is little to read.
  const int64_t longest = outputs >= 16 * gpu ? 8192 : 1024;
  const bool warps = rows && parts == 1 && count <= longest && outputs >= 8;
  p.main = find_function(device, op, source,
                         warps  ? "reduce_short_rows"
                         : rows ? "reduce_rows"
                                : "reduce_columns");
  const auto blocks = [](int64_t n) {
    return static_cast<unsigned>(std::min<int64_t>(n, int64_t{1} << 20));
  };
  if (wide) {
    p.wide = find_function(device, op, source, "reduce_wide_columns");
    p.wide_grid.x = blocks(jobs * parts);
  }
  if (parts > 1) {
    const bool many = outputs < 256;
    p.parts =
        find_function(device, op, source, many ? "reduce_many_parts" : "reduce_parts");
    p.parts_grid.x = blocks(many ? outputs : (outputs + 31) / 32);
    p.workspace_bytes =
        static_cast<size_t>(parts * outputs) * accumulator_bytes(op, dtype);
  }
  p.grid.x = blocks(warps ? (outputs + 7) / 8 : jobs_of(32) * parts);
  p.words[4] = static_cast<uint64_t>(outputs);
  p.words[5] = static_cast<uint64_t>(count);
  p.words[6] = static_cast<uint64_t>(parts);
  size_t at = 7;
  for (const auto* list : {&kept, &gone}) {
    for (const Dim& d : *list) p.words[at++] = static_cast<uint64_t>(d.size);
    for (const Dim& d : *list) p.words[at++] = static_cast<uint64_t>(d.step);
  }
  return p;
}

void run_reduction(const ReducePlan& p, const LaunchArgs& a) {
  if (p.outputs == 0) return;
  auto words = p.words;
  words[0] = reinterpret_cast<uint64_t>(a.inputs[0]);
  words[1] = reinterpret_cast<uint64_t>(a.outputs[0]);
  words[3] = reinterpret_cast<uint64_t>(a.workspace);
  void* arguments[] = {words.data()};
  const bool wide = p.wide.function && words[0] % 16 == 0;
  launch_raw(wide ? p.wide : p.main, *a.stream, wide ? p.wide_grid : p.grid, arguments);
  if (p.workspace_bytes) launch_raw(p.parts, *a.stream, p.parts_grid, arguments);
}

namespace {

using Flags = std::array<bool, kMaxRank>;

ReducePlan prepare_axes(const Signature& s) {
  const Shape& shape = s.in(0).shape;
  const auto& attrs = s.attrs.as<ReduceAttrs>();
  Flags reduced{};
  if (attrs.axis.empty() && !attrs.no_axes) reduced.fill(true);
  for (int64_t axis : attrs.axis) {
    reduced[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  return plan_reduction(s.device, s.op->name, s.in(0).dtype, shape, reduced);
}
ReducePlan prepare_all(const Signature& s) {
  Flags reduced;
  reduced.fill(true);
  return plan_reduction(s.device, s.op->name, s.in(0).dtype, s.in(0).shape, reduced);
}
ReducePlan prepare_sum_like(const Signature& s) {
  const Shape &x = s.in(0).shape, &like = s.in(1).shape;
  Flags reduced{};
  const int extra = x.rank() - like.rank();
  for (int i = 0; i < x.rank(); ++i) {
    reduced[static_cast<size_t>(i)] = i < extra || (like[i - extra] == 1 && x[i] != 1);
  }
  return plan_reduction(s.device, "Sum", s.in(0).dtype, x, reduced);
}
ReducePlan prepare_bias_grad(const Signature& s) {
  const Shape& x = s.in(0).shape;
  Flags reduced;
  reduced.fill(true);
  reduced[static_cast<size_t>(nn::channel_axis(
      x.rank(), channels_first(s.attrs.as<nn::BiasAddAttrs>().data_format)))] = false;
  return plan_reduction(s.device, "Sum", s.in(0).dtype, x, reduced);
}
void launch_moments(const ReducePlan& p, const LaunchArgs& a) {
  ReducePlan with = p;
  with.words[2] = reinterpret_cast<uint64_t>(a.outputs[1]);
  run_reduction(with, a);
}

struct ArgPlan {
  Function function;
  int64_t outputs = 0, n = 0, inner = 1;
};
ArgPlan prepare_arg(const Signature& s) {
  const Shape& shape = s.in(0).shape;
  const int64_t given = s.attrs.as<ArgAttrs>().axis;
  const int axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  ArgPlan p;
  p.inner = shape.slice(axis + 1, shape.rank()).num_elements();
  p.n = shape[axis];
  p.outputs = shape.slice(0, axis).num_elements() * p.inner;
  gpu_of(s).activate();
  p.function = find_function(
      s.device, s.op->name,
      arg_text(s.op->name == "ArgMax", s.in(0).dtype, s.out().dtype), "arg");
  return p;
}
void launch_arg(const ArgPlan& p, const LaunchArgs& a) {
  if (p.outputs == 0) return;
  uint64_t words[5] = {reinterpret_cast<uint64_t>(a.inputs[0]),
                       reinterpret_cast<uint64_t>(a.outputs[0]),
                       static_cast<uint64_t>(p.outputs), static_cast<uint64_t>(p.n),
                       static_cast<uint64_t>(p.inner)};
  void* arguments[] = {words};
  launch_raw(p.function, *a.stream, grid_for(p.function, p.outputs * 32), arguments);
}

}  // namespace

void register_reduce(Kernels& kernels) {
  const auto add = [&](const char* op, DTypeMask dtypes) {
    kernels.add(make_kernel<prepare_axes, run_reduction>(
        op, std::string("cuda.reduce.") + op, dtypes));
  };
  add("Sum", kNumbers);
  add("Mean", kNumbers);
  add("Prod", kNumbers);
  add("EuclideanNorm", kNumbers);
  add("Max", kReals);
  add("Min", kReals);
  add("Any", mask(DType::kBool));
  add("All", mask(DType::kBool));
  add("LogSumExp", kFloats);
  kernels.add(make_kernel<prepare_axes, launch_moments>("Moments", "cuda.reduce.Moments",
                                                        kFloats));
  kernels.add(
      make_kernel<prepare_all, run_reduction>("L2Loss", "cuda.reduce.L2Loss", kFloats));
  kernels.add(
      make_kernel<prepare_sum_like, run_reduction>("SumLike", "cuda.sum_like", kNumbers));
  kernels.add(make_kernel<prepare_bias_grad, run_reduction>(
      "BiasAddGrad", "cuda.bias_add_grad", kNumbers));
  for (const char* op : {"ArgMax", "ArgMin"}) {
    kernels.add(make_kernel<prepare_arg, launch_arg>(op, std::string("cuda.reduce.") + op,
                                                     kReals | mask(DType::kBool)));
  }
}

}  // namespace tandem::cuda
