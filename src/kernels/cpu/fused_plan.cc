#include "kernels/cpu/fused_plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "kernels/cpu/fused_groups.h"

namespace tandem::cpu {

namespace {

using Reduction = FusedReduction;

constexpr int64_t kMostBlockElements = 1024;  // of a block
constexpr int64_t kLeastBlockElements = 64;
constexpr uint32_t kCachedArena = 40 << 10;  // what stays in the L1 cache
constexpr int64_t kStepWeight = 64;  // a call costs about as much as this many additions
constexpr int64_t kItemWeight = 32768;  // half of what is worth a thread
constexpr int64_t kMostItems = 1024;    // of one group
constexpr int64_t kMostParts = 64;
constexpr int64_t kRowsPerPart =
    64;  // at least, where each part has a row of partial sums

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Groups that share everything that code depends on.
std::string code_key(const FusedGeometry& g, const FusedTiling& t) {
  std::string key(g.access.size(), '\0');
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<char>(g.access[i]);
  key += t.chunked ? 'c' : 'w';
  key += std::to_string(t.block);
  if (t.rows_per_tile > 1) {
    key += ' ' + std::to_string(t.rows_per_tile) + ' ' + std::to_string(g.columns);
  }
  return key;
}

class Planner {
 public:
  Planner(const FusedProgram& program, FusedPlan& plan)
      : program_(program), plan_(plan) {}

  /// The largest blocks whose registers stay in the cache; else the largest that fit.
  bool find_code(const FusedGeometry& g, uint32_t* index) {
    std::optional<uint32_t> fits;
    for (int64_t block = kMostBlockElements; block >= kLeastBlockElements; block /= 2) {
      const std::optional<uint32_t> found = compile(g, block);
      if (!found) continue;
      if (!fits) fits = found;
      if (plan_.codes[*found].arena_bytes <= kCachedArena) {
        fits = found;
        break;
      }
    }
    if (fits) *index = *fits;
    return fits.has_value();
  }

 private:
  std::optional<uint32_t> compile(const FusedGeometry& g, int64_t block) {
    const FusedTiling tiling = fused_tiling(program_, g, block);
    const auto [it, fresh] = known_.try_emplace(code_key(g, tiling));
    if (!fresh) return it->second;
    if (std::optional<FusedCode> code = compile_fused(program_, g, tiling)) {
      it->second = static_cast<uint32_t>(plan_.codes.size());
      plan_.codes.push_back(std::move(*code));
    }
    return it->second;
  }

  const FusedProgram& program_;
  FusedPlan& plan_;
  std::map<std::string, std::optional<uint32_t>> known_;
};

void count_tiles(const FusedCode& code, FusedGroup& group) {
  const FusedGeometry& g = group.geometry;
  if (!code.chunked && g.columns > code.block) {
    group.tiles_per_row = (g.columns + code.block - 1) / code.block;
  }
  group.tiles =
      (g.rows + code.rows_per_tile - 1) / code.rows_per_tile * group.tiles_per_row;
}

// Cuts a group into items. With partial results the number of items depends on the
// group's sizes alone.
void add_items(FusedPlan& plan, size_t index) {
  FusedGroup& group = plan.groups[index];
  const FusedCode& code = plan.codes[group.code];
  const FusedGeometry& g = group.geometry;
  const int64_t tile_elements =
      group.tiles ? (g.elements() + group.tiles - 1) / group.tiles : 0;
  const int64_t tile_weight =
      static_cast<int64_t>(static_cast<double>(tile_elements) * code.cost) +
      kStepWeight * static_cast<int64_t>(code.steps.size() + 1);
  int64_t items = std::clamp<int64_t>(group.tiles * tile_weight / kItemWeight, 1,
                                      plan.reduces ? kMostParts : kMostItems);
  if (plan.reduces) {
    const bool columns = std::any_of(
        code.reductions.begin(), code.reductions.end(),
        [](const Reduction& r) { return r.kind == Reduction::Kind::kColumn; });
    if (columns) items = std::clamp<int64_t>(g.rows / kRowsPerPart, 1, items);
    group.partials = static_cast<int64_t>(plan.workspace_bytes);
    group.partial_bytes = fused_partial_offset(code, g, code.reductions.size());
  }
  items = std::clamp<int64_t>(items, 1, std::max<int64_t>(group.tiles, 1));
  group.parts = static_cast<uint32_t>(items);
  plan.workspace_bytes += static_cast<size_t>(group.partial_bytes * items);
  for (int64_t i = 0; i < items; ++i) {
    const int64_t begin = group.tiles * i / items, end = group.tiles * (i + 1) / items;
    plan.items.push_back({static_cast<uint32_t>(index), static_cast<uint32_t>(i), begin,
                          end, plan.weight});
    plan.weight += (end - begin) * tile_weight + kStepWeight;
  }
}

}  // namespace

int64_t fused_partial_offset(const FusedCode& code, const FusedGeometry& g,
                             size_t index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index; ++i) {
    const Reduction& r = code.reductions[i];
    if (r.kind == Reduction::Kind::kRow) continue;
    const int64_t count = r.kind == Reduction::Kind::kColumn ? g.columns : 1;
    offset += aligned(count * static_cast<int64_t>(r.loops->acc_size));
    if (r.lanes) offset += aligned(count * static_cast<int64_t>(sizeof(float)));
  }
  return offset;
}

std::optional<FusedPlan> plan_fused(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedAttrs>();
  const FusedProgram program = FusedProgram::parse(attrs.program);
  FusedPlan plan;
  plan.inputs = program.num_inputs;
  plan.outputs = static_cast<int32_t>(program.outputs.size());
  plan.max_threads = std::max(s.threads, 1);
  for (const FusedInstruction& i : program.instructions) {
    plan.reduces = plan.reduces || i.kind == FusedInstruction::Kind::kColumnReduce ||
                   i.kind == FusedInstruction::Kind::kAllReduce;
  }
  const int row_axes = fused_has_rows(program) ? program.row_axes : -1;
  const auto n = static_cast<size_t>(program.num_inputs);
  Planner planner(program, plan);
  plan.groups.resize(static_cast<size_t>(attrs.groups));
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < n; ++i) shapes.push_back(s.inputs[g * n + i].shape);
    FusedGroup& group = plan.groups[g];
    const Shape domain = fused_domain(shapes);
    const std::vector<Shape> values = fused_value_shapes(program, shapes);
    group.geometry = fused_geometry(domain, shapes, row_axes);
    bool fit = fused_shapes_fit(program, group.geometry, values);
    if (!fit && row_axes < 0 && program.row_axes > 0) {
      // Outputs with one element per row, though nothing is reduced.
      group.geometry = fused_geometry(domain, shapes, program.row_axes);
      fit = fused_shapes_fit(program, group.geometry, values);
    }
    if (!fit || !planner.find_code(group.geometry, &group.code)) return std::nullopt;
    const FusedCode& code = plan.codes[group.code];
    count_tiles(code, group);
    add_items(plan, g);
    const int64_t padded = (group.geometry.columns + 63) / 64 * 64;
    plan.store_bytes = std::max(plan.store_bytes, padded * code.store_size);
  }
  if (plan.groups.size() > 1) {
    plan.join = find_join(program, s, plan);
    if (plan.join &&
        !planner.find_code(plan.join->whole.geometry, &plan.join->whole.code)) {
      plan.join.reset();
    }
  }
  plan.stores = static_cast<int64_t>(plan.workspace_bytes);
  plan.workspace_bytes += static_cast<size_t>(plan.store_bytes * plan.max_threads);
  return plan;
}

}  // namespace tandem::cpu
