#include "kernels/cuda/fused_rows.h"

#include <algorithm>

#include "op/infer.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

using Kind = FusedInstruction::Kind;

Shape domain_of(std::span<const Shape> inputs) {
  Shape domain;
  for (const Shape& shape : inputs) {
    Shape wider;
    if (!broadcast_shapes(domain, shape, &wider)) {
      throw InvalidArgumentError("Fused: Incompatible shapes: " + domain.debug_str() +
                                 " vs. " + shape.debug_str());
    }
    domain = wider;
  }
  return domain;
}

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

FusedPlan plan_fused(Device* device, const FusedProgram& program,
                     std::span<const Shape> inputs, std::span<const Shape> outputs) {
  auto& gpu = static_cast<CudaDevice&>(*device);
  gpu.activate();
  const Shape domain = domain_of(inputs);
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
  FusedForm form;
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
  const auto row_values = values_of(program, Kind::kRowReduce);
  const auto column_values = values_of(program, Kind::kColumnReduce);
  const auto all_values = values_of(program, Kind::kAllReduce);
  const bool later = !column_values.empty() || !all_values.empty();
  const std::string source = fused_text(program, form);
  const auto find = [&](const char* entry) {
    return find_function(device, "Fused", source, entry);
  };
  const auto reduced_away = [&](int32_t v) {
    return std::count(column_values.begin(), column_values.end(), v) ||
           std::count(all_values.begin(), all_values.end(), v);
  };
  const bool row_outputs =
      !std::all_of(program.outputs.begin(), program.outputs.end(), reduced_away);
  if ((row_outputs && !one_pass(program, form)) || (later && !row_values.empty())) {
    p.rows = find("rows");
  }
  // Enough blocks for the GPU, and enough rows in each.
  const int64_t busy = gpu.multiprocessors() * int64_t{2};
  const int64_t tiles = std::max<int64_t>(1, (p.column_count + 31) / 32);
  p.parts = all_values.empty()
                ? std::clamp<int64_t>(std::min(busy / tiles, p.row_count / 64), 1, 1024)
                : std::clamp<int64_t>(elements / 4096, 1, busy);
  set(w.parts(), p.parts);
  if (later) {
    p.columns_at = row_values.size() * static_cast<size_t>(p.row_count) * 16;
    p.all_at = p.columns_at +
               column_values.size() * static_cast<size_t>(p.parts * p.column_count) * 16;
    p.workspace_bytes = p.all_at + all_values.size() * static_cast<size_t>(p.parts) * 16;
  }
  if (!column_values.empty()) {
    p.columns = find("columns");
    p.finish_columns = find("finish_columns");
  }
  if (!all_values.empty()) {
    p.all = find("all");
    p.finish_all = find("finish_all");
  }
  return p;
}

void run_fused(const FusedPlan& p, const StreamContext& stream, void* const* inputs,
               void* const* outputs, void* workspace) {
  if (p.elementwise) return run_elementwise(*p.elementwise, stream, inputs, outputs);
  uint64_t words[kMaxWords];
  std::copy(p.words.begin(), p.words.end(), words);
  for (int i = 0; i < p.inputs; ++i) words[i] = reinterpret_cast<uint64_t>(inputs[i]);
  for (int k = 0; k < p.outputs; ++k) {
    words[p.inputs + k] = reinterpret_cast<uint64_t>(outputs[k]);
  }
  words[p.places.guard()] = guard_of(stream);
  words[p.places.site()] = static_cast<uint64_t>(p.site->id());
  const auto base = reinterpret_cast<uint64_t>(workspace);
  words[p.places.row_values()] = base;
  words[p.places.columns_part()] = base + p.columns_at;
  words[p.places.all_part()] = base + p.all_at;
  void* arguments[] = {words};
  const auto blocks = [](int64_t n) {
    return static_cast<unsigned>(std::clamp<int64_t>(n, 1, 1 << 20));
  };
  if (p.rows.function && p.row_count > 0) {
    unsigned threads = 32;
    while (threads < 256 && threads * 4 < p.column_count) threads *= 2;
    launch_raw(p.rows, stream, {.x = blocks(p.row_count), .threads = threads}, arguments);
  }
  if (p.columns.function && p.column_count > 0) {
    const int64_t tiles = (p.column_count + 31) / 32;
    launch_raw(p.columns, stream, {.x = blocks(tiles * p.parts)}, arguments);
    if (p.parts > 1) {
      launch_raw(p.finish_columns, stream, {.x = blocks(tiles), .threads = 1024},
                 arguments);
    }
  }
  if (p.all.function) {
    launch_raw(p.all, stream, {.x = blocks(p.parts)}, arguments);
    if (p.parts > 1) launch_raw(p.finish_all, stream, {.x = 1}, arguments);
  }
}

std::optional<MultiPlan> plan_multi(Device* device, const FusedProgram& program,
                                    std::span<const Shape> inputs,
                                    std::span<const Shape> outputs, int64_t groups) {
  if (!is_elementwise(program) || program.num_inputs > 24) return std::nullopt;
  const auto k = static_cast<size_t>(program.num_inputs);
  const auto m = program.outputs.size();
  MultiPlan p;
  p.inputs = program.num_inputs;
  p.outputs = static_cast<int>(m);
  std::optional<uint32_t> scalars;
  for (size_t g = 0; g < static_cast<size_t>(groups); ++g) {
    const auto own = inputs.subspan(g * k, k);
    const int64_t n = domain_of(own).num_elements();
    for (const Shape& out : outputs.subspan(g * m, m)) {
      if (out.num_elements() != n) return std::nullopt;
    }
    uint32_t mask = 0;
    for (size_t i = 0; i < k; ++i) {
      const int64_t size = own[i].num_elements();
      if (size == 1 && n != 1) {
        mask |= 1u << i;
      } else if (size != n) {
        return std::nullopt;
      }
    }
    p.counts.push_back(n);
    if (n == 1) continue;  // fits any form
    if (scalars && *scalars != mask) return std::nullopt;
    scalars = mask;
  }
  auto& gpu = static_cast<CudaDevice&>(*device);
  gpu.activate();
  p.flags = gpu.flags();
  // An argument is part of every launch: no longer than it must be, but of few lengths,
  // since each is a text of its own.
  const auto per = static_cast<int64_t>(k + m + 1);
  int64_t words = 64;
  while (words < kMultiWords && words < kMultiHead + groups * per) words *= 2;
  p.words = static_cast<int>(std::min<int64_t>(words, kMultiWords));
  p.function = find_function(device, "FusedMulti",
                             multi_text(program, scalars.value_or(0), p.words), "multi");
  return p;
}

void run_multi(const MultiPlan& p, const StreamContext& stream, void* const* inputs,
               void* const* outputs) {
  const size_t per = static_cast<size_t>(p.inputs + p.outputs + 1);
  const size_t most = (static_cast<size_t>(p.words) - kMultiHead) / per;
  uint64_t words[kMultiWords];
  for (size_t first = 0; first < p.counts.size(); first += most) {
    const size_t count = std::min(most, p.counts.size() - first);
    words[0] = p.flags;
    words[1] = 0;
    words[2] = guard_of(stream);
    int64_t largest = 0;
    for (size_t g = 0; g < count; ++g) {
      uint64_t* to = words + kMultiHead + g * per;
      const size_t group = first + g;
      for (int i = 0; i < p.inputs; ++i) {
        *to++ = reinterpret_cast<uint64_t>(
            inputs[group * static_cast<size_t>(p.inputs) + static_cast<size_t>(i)]);
      }
      for (int o = 0; o < p.outputs; ++o) {
        *to++ = reinterpret_cast<uint64_t>(
            outputs[group * static_cast<size_t>(p.outputs) + static_cast<size_t>(o)]);
      }
      *to = static_cast<uint64_t>(p.counts[group]);
      largest = std::max(largest, p.counts[group]);
    }
    if (largest == 0) continue;
    Grid grid = grid_for(p.function, (largest + 3) / 4);
    grid.y = static_cast<unsigned>(count);
    void* arguments[] = {words};
    launch_raw(p.function, stream, grid, arguments);
  }
}

}  // namespace tandem::cuda
