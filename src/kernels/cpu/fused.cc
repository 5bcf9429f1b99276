// Kernels of Fused and FusedMulti: all dtypes that have block functions.
#include "kernels/cpu/fused.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/fused_plan.h"
#include "kernels/register.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kFusedGrain = 65536;  // additions in about 20 µs

bool supports_fused(const Signature& s) { return plan_fused(s).has_value(); }

FusedPlan prepare_fused(const Signature& s) {
  std::optional<FusedPlan> plan = plan_fused(s);
  if (!plan) throw InternalError(s.op->name + ": prepared for what it does not support");
  return std::move(*plan);
}

// The first item that starts at `weight` or after it.
size_t item_at(const FusedPlan& p, int64_t weight) {
  const auto it =
      std::lower_bound(p.items.begin(), p.items.end(), weight,
                       [](const FusedItem& item, int64_t w) { return item.weight < w; });
  return static_cast<size_t>(it - p.items.begin());
}

// Joins the parts of each reduction in order, and writes the results.
void finish_reductions(const FusedPlan& p, const LaunchArgs& a) {
  for (size_t g = 0; g < p.groups.size(); ++g) {
    const FusedGroup& group = p.groups[g];
    const FusedCode& code = p.codes[group.code];
    const FusedGeometry& geometry = group.geometry;
    auto* parts = static_cast<std::byte*>(a.workspace) + group.partials;
    for (size_t r = 0; r < code.reductions.size(); ++r) {
      const FusedReduction& red = code.reductions[r];
      if (red.kind == FusedReduction::Kind::kRow) continue;
      const bool column = red.kind == FusedReduction::Kind::kColumn;
      const int64_t n = column ? geometry.columns : 1;
      const int64_t count = column || red.of_rows ? geometry.rows : geometry.elements();
      auto* acc = parts + fused_partial_offset(code, geometry, r);
      for (int64_t at = 0; at < n; at += kReduceChunk) {
        const int64_t m = std::min(kReduceChunk, n - at);
        auto* first = acc + at * static_cast<int64_t>(red.loops->acc_size);
        for (int64_t part = 1; part < group.parts; ++part) {
          red.loops->combine(first, first + part * group.partial_bytes, m);
        }
        for (size_t o = 0; o < code.outputs.size(); ++o) {
          const FusedOutput& out = code.outputs[o];
          if (out.form != FusedOutput::Form::kReduced || out.slot != r) continue;
          void* to = a.outputs[g * static_cast<size_t>(p.outputs) + o];
          red.loops->finish(first, m, count, static_cast<std::byte*>(to) + at * out.size,
                            nullptr);
        }
      }
    }
  }
}

void launch_fused(const FusedPlan& p, const LaunchArgs& a) {
  auto* stores = static_cast<std::byte*>(a.workspace) + p.stores;
  if (p.weight <= kFusedGrain) {
    run_fused_items(p, a, 0, p.items.size(), stores);
  } else {
    parallel_parts(p.weight, kFusedGrain, p.max_threads,
                   [&](int part, int64_t begin, int64_t end) {
                     run_fused_items(p, a, item_at(p, begin), item_at(p, end),
                                     stores + part * p.store_bytes);
                   });
  }
  if (p.reduces) finish_reductions(p, a);
}

}  // namespace

void register_fused_kernels(KernelRegistry& r) {
  r.add(
      make_kernel<prepare_fused, launch_fused>("Fused", "cpu.fused", 0, supports_fused));
  r.add(make_kernel<prepare_fused, launch_fused>("FusedMulti", "cpu.fused_multi", 0,
                                                 supports_fused));
}

}  // namespace tandem::cpu
