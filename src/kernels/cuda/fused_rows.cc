#include "kernels/cuda/fused_rows.h"

#include <algorithm>

#include "tandem/error.h"

namespace tandem::cuda {

namespace {

/// The last `axes` dimensions of a shape that broadcasts to one of `rank`, or those
/// before.
Shape trailing(const Shape& shape, int axes) {
  return shape.slice(std::max(0, shape.rank() - axes), shape.rank());
}
Shape leading(const Shape& shape, int axes) {
  return shape.slice(0, std::max(0, shape.rank() - axes));
}

std::string failure(const Report& r) {
  return r.value == 2
             ? "Integers to negative integer powers are not allowed. Cast to a "
               "floating-point dtype."
             : "Integer division by zero. Replace the zeros, or divide as floats.";
}

}  // namespace

namespace {

/// Columns to a thread: 16 bytes of the widest element, where sums of columns are all
/// there is besides full outputs, and rows are whole chunks. A block's sums must fit into
/// block_space (device/fused.cuh).
int wide_columns(const FusedProgram& p, const FusedForm& form, int64_t columns,
                 std::span<const Shape> trailing_shapes) {
  const auto sums = values_of(p, FusedKind::kColumnReduce);
  if (sums.empty() || !values_of(p, FusedKind::kAllReduce).empty() ||
      !one_pass(p, form)) {
    return 0;
  }
  size_t widest = 1, sum = 1;
  for (int32_t i = 0; i < p.num_inputs; ++i) {
    const auto k = static_cast<size_t>(i);
    if (form.row_input[k]) continue;
    if (trailing_shapes[k].num_elements() != columns) return 0;
    widest = std::max(widest, dtype_size(p.dtype(i)));
  }
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    if (form.full_output[k]) widest = std::max(widest, dtype_size(p.dtype(p.outputs[k])));
  }
  for (int32_t v : sums) sum = std::max(sum, std::max<size_t>(4, dtype_size(p.dtype(v))));
  const auto lanes =
      static_cast<int>(std::min(16 / std::min<size_t>(widest, 16), 64 / sum));
  return lanes > 1 && columns % lanes == 0 ? lanes : 0;
}

/// Everything but the functions; `groups` plans will run side by side.
FusedPlan layout_fused(Device* device, const FusedProgram& program,
                       std::span<const Shape> inputs, std::span<const Shape> outputs,
                       int64_t groups) {
  auto& gpu = static_cast<CudaDevice&>(*device);
  gpu.activate();
  const Shape domain = fused_domain(inputs);
  FusedPlan p;
  p.inputs = program.num_inputs;
  p.outputs = static_cast<int>(program.outputs.size());
  const int64_t elements = domain.num_elements();
  const bool all_full = std::all_of(outputs.begin(), outputs.end(), [&](const Shape& o) {
    return o.num_elements() == elements;
  });
  if (is_elementwise(program) && all_full) {
    p.elementwise = plan_elementwise(device, "Fused", program, domain, inputs);
    return p;
  }
  const int axes = std::min(program.row_axes, domain.rank());
  const Shape lead = leading(domain, axes), trail = trailing(domain, axes);
  p.row_count = lead.num_elements();
  p.column_count = trail.num_elements();
  std::vector<Shape> lead_shapes, trail_shapes;
  FusedForm& form = p.form;
  for (const Shape& shape : inputs) {
    lead_shapes.push_back(leading(shape, axes));
    trail_shapes.push_back(trailing(shape, axes));
    form.row_input.push_back(trail_shapes.back().num_elements() == 1);
  }
  for (const Shape& shape : outputs) {
    form.full_output.push_back(shape.num_elements() == elements);
  }
  const Geometry rows = broadcast_geometry(lead, lead_shapes);
  const Geometry columns = broadcast_geometry(trail, trail_shapes);
  form.lead = rows.rank();
  form.trail = columns.rank();
  p.places = {p.inputs, p.outputs, form.lead, form.trail};
  const FusedWords& w = p.places;
  if (w.total() > kMaxWords) {
    throw InternalError("Fused: a program with too many inputs for one kernel");
  }
  p.words.assign(static_cast<size_t>(w.total()), 0);
  const auto set = [&](int at, int64_t value) {
    p.words[static_cast<size_t>(at)] = static_cast<uint64_t>(value);
  };
  set(w.rows(), p.row_count);
  set(w.cols(), p.column_count);
  set(w.flags(), static_cast<int64_t>(gpu.flags()));
  p.site = std::make_shared<ErrorSite>(failure);
  for (int i = 0; i < p.inputs; ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t inner = trail_shapes[k].num_elements();
    for (int d = 0; d < form.lead; ++d) {
      set(w.lead_strides(i) + d, rows.strides[k][static_cast<size_t>(d)] * inner);
    }
    for (int d = 0; d < form.trail; ++d) {
      set(w.trail_strides(i) + d, columns.strides[k][static_cast<size_t>(d)]);
    }
  }
  for (int d = 0; d < form.lead; ++d) {
    set(w.lead_dims() + d, rows.dims[static_cast<size_t>(d)]);
  }
  for (int d = 0; d < form.trail; ++d) {
    set(w.trail_dims() + d, columns.dims[static_cast<size_t>(d)]);
  }
  const auto row_values = values_of(program, FusedKind::kRowReduce);
  const auto column_values = values_of(program, FusedKind::kColumnReduce);
  const auto all_values = values_of(program, FusedKind::kAllReduce);
  form.wide = wide_columns(program, form, p.column_count, trail_shapes);
  // Short rows: several of them to a warp. Groups of one launch have one form.
  while (groups == 1 && form.across > 4 &&
         form.across / 2 * form.wide >= p.column_count) {
    form.across /= 2;
  }
  // Enough blocks for the GPU, and enough rows in each.
  const int64_t busy = gpu.multiprocessors() * int64_t{form.wide ? 4 : 2};
  const int64_t width = form.wide ? int64_t{form.across} * form.wide : 32;
  const int64_t tiles = std::max<int64_t>(1, (p.column_count + width - 1) / width);
  const int64_t least = form.wide ? 2 * 256 / form.across : 64;
  p.parts = all_values.empty()
                ? std::clamp<int64_t>(
                      std::min(busy / (tiles * groups), p.row_count / least), 1, 1024)
                : std::clamp<int64_t>(elements / 4096, 1, busy);
  set(w.parts(), p.parts);
  if (!column_values.empty() || !all_values.empty()) {
    p.columns_at = row_values.size() * static_cast<size_t>(p.row_count) * 16;
    p.all_at = p.columns_at +
               column_values.size() * static_cast<size_t>(p.parts * p.column_count) * 16;
    p.workspace_bytes = p.all_at + all_values.size() * static_cast<size_t>(p.parts) * 16;
  }
  return p;
}

/// The kernels that the plan needs.
void find_functions(Device* device, const FusedProgram& program, FusedPlan& p) {
  const auto row_values = values_of(program, FusedKind::kRowReduce);
  const auto column_values = values_of(program, FusedKind::kColumnReduce);
  const auto all_values = values_of(program, FusedKind::kAllReduce);
  const bool later = !column_values.empty() || !all_values.empty();
  const std::string source = fused_text(program, p.form);
  const auto find = [&](const char* entry) {
    return find_function(device, "Fused", source, entry);
  };
  const auto reduced_away = [&](int32_t v) {
    return std::count(column_values.begin(), column_values.end(), v) ||
           std::count(all_values.begin(), all_values.end(), v);
  };
  const bool row_outputs =
      !std::all_of(program.outputs.begin(), program.outputs.end(), reduced_away);
  if ((row_outputs && !one_pass(program, p.form)) || (later && !row_values.empty())) {
    p.rows = find("rows");
  }
  if (!column_values.empty()) {
    p.columns = find("columns");
    p.finish_columns = find("finish_columns");
    if (p.form.wide) p.wide = find("wide_columns");
  }
  if (!all_values.empty()) {
    p.all = find("all");
    p.finish_all = find("finish_all");
  }
}

/// The plan's words with the tensors of a call. Says whether all of them begin at
/// multiples of 16 bytes.
bool set_pointers(const FusedPlan& p, const StreamContext& stream, void* const* inputs,
                  void* const* outputs, void* workspace, uint64_t* words) {
  std::copy(p.words.begin(), p.words.end(), words);
  uint64_t all = 0;
  for (int i = 0; i < p.inputs; ++i) {
    all |= words[i] = reinterpret_cast<uint64_t>(inputs[i]);
  }
  for (int k = 0; k < p.outputs; ++k) {
    all |= words[p.inputs + k] = reinterpret_cast<uint64_t>(outputs[k]);
  }
  words[p.places.guard()] = guard_of(stream);
  const auto base = reinterpret_cast<uint64_t>(workspace);
  words[p.places.row_values()] = base;
  words[p.places.columns_part()] = base + p.columns_at;
  words[p.places.all_part()] = base + p.all_at;
  return all % 16 == 0;
}

unsigned block_count(int64_t n) {
  return static_cast<unsigned>(std::clamp<int64_t>(n, 1, 1 << 20));
}
int64_t tiles_of(const FusedPlan& p, int64_t width) {
  return (p.column_count + width - 1) / width;
}
unsigned column_blocks(const FusedPlan& p, bool wide) {
  return block_count(tiles_of(p, wide ? int64_t{p.form.across} * p.form.wide : 32) *
                     p.parts);
}

}  // namespace

FusedPlan plan_fused(Device* device, const FusedProgram& program,
                     std::span<const Shape> inputs, std::span<const Shape> outputs) {
  FusedPlan p = layout_fused(device, program, inputs, outputs, 1);
  if (!p.elementwise) find_functions(device, program, p);
  return p;
}

void run_fused(const FusedPlan& p, const StreamContext& stream, void* const* inputs,
               void* const* outputs, void* workspace) {
  if (p.elementwise) return run_elementwise(*p.elementwise, stream, inputs, outputs);
  uint64_t words[kMaxWords];
  const bool together = set_pointers(p, stream, inputs, outputs, workspace, words);
  void* arguments[] = {words};
  if (p.rows.function && p.row_count > 0) {
    unsigned threads = 32;
    while (threads < 256 && threads * 4 < p.column_count) threads *= 2;
    launch_raw(p.rows, stream, {.x = block_count(p.row_count), .threads = threads},
               arguments);
  }
  if (p.columns.function && p.column_count > 0) {
    const bool wide = p.wide.function && together;
    launch_raw(wide ? p.wide : p.columns, stream, {.x = column_blocks(p, wide)},
               arguments);
    if (p.parts > 1) {
      launch_raw(p.finish_columns, stream,
                 {.x = block_count(tiles_of(p, 32)), .threads = 1024}, arguments);
    }
  }
  if (p.all.function) {
    launch_raw(p.all, stream, {.x = block_count(p.parts)}, arguments);
    if (p.parts > 1) launch_raw(p.finish_all, stream, {.x = 1}, arguments);
  }
}

std::optional<MultiColumnsPlan> plan_multi_columns(Device* device,
                                                   const FusedProgram& program,
                                                   std::span<const Shape> inputs,
                                                   std::span<const Shape> outputs,
                                                   int64_t groups) {
  if (is_elementwise(program) || groups < 2) return std::nullopt;
  const auto k = static_cast<size_t>(program.num_inputs);
  const auto m = program.outputs.size();
  MultiColumnsPlan p;
  for (size_t g = 0; g < static_cast<size_t>(groups); ++g) {
    p.groups.push_back(layout_fused(device, program, inputs.subspan(g * k, k),
                                    outputs.subspan(g * m, m), groups));
    const FusedPlan& own = p.groups.back();
    if (own.elementwise || !own.form.wide || own.column_count == 0 ||
        own.form != p.groups[0].form) {
      return std::nullopt;
    }
    p.workspace_at.push_back(p.workspace_bytes);
    p.workspace_bytes += own.workspace_bytes;
  }
  const auto most =
      static_cast<int64_t>(static_cast<size_t>(kMultiWords) / p.groups[0].words.size());
  if (most < 2) return std::nullopt;
  FusedPlan& first = p.groups[0];
  first.form.groups = static_cast<int>(std::min(most, groups));
  find_functions(device, program, first);
  return p;
}

void run_multi_columns(const MultiColumnsPlan& p, const StreamContext& stream,
                       void* const* inputs, void* const* outputs, void* workspace) {
  const FusedPlan& kernels = p.groups[0];
  const auto most = static_cast<size_t>(kernels.form.groups), per = kernels.words.size();
  uint64_t words[kMultiWords] = {};
  for (size_t first = 0; first < p.groups.size(); first += most) {
    const size_t count = std::min(most, p.groups.size() - first);
    bool together = true, parts = false;
    unsigned blocks = 1, finish_blocks = 1;
    for (size_t g = 0; g < count; ++g) {
      const FusedPlan& own = p.groups[first + g];
      together &= set_pointers(
          own, stream, inputs + (first + g) * static_cast<size_t>(own.inputs),
          outputs + (first + g) * static_cast<size_t>(own.outputs),
          static_cast<std::byte*>(workspace) + p.workspace_at[first + g],
          words + g * per);
      blocks = std::max(blocks, column_blocks(own, true));
      finish_blocks = std::max(finish_blocks, block_count(tiles_of(own, 32)));
      parts |= own.parts > 1;
    }
    void* arguments[] = {words};
    if (together) {
      launch_raw(kernels.wide, stream, {.x = blocks, .y = static_cast<unsigned>(count)},
                 arguments);
    }
    for (size_t g = 0; g < count && !together; ++g) {
      void* single[] = {words + g * per};
      launch_raw(kernels.columns, stream,
                 {.x = column_blocks(p.groups[first + g], false)}, single);
    }
    if (parts) {
      launch_raw(kernels.finish_columns, stream,
                 {.x = finish_blocks, .y = static_cast<unsigned>(count), .threads = 1024},
                 arguments);
    }
  }
}

}  // namespace tandem::cuda
