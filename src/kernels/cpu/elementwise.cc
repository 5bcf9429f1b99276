// Kernels of elementwise ops: one pair of functions serves every op in the block table.
#include <cstring>
#include <span>

#include "base/parallel.h"
#include "kernels/cpu/elementwise_plan.h"
#include "kernels/register.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/attrs.h"

namespace tandem::cpu {

namespace {

// The dtype of type variable T in a call.
DType type_of(const Signature& s) {
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (s.op->input_def(static_cast<int>(i)).type == 'T') return s.inputs[i].dtype;
  }
  return s.out().dtype;
}

ElementwisePlan prepare_elementwise(const Signature& s) {
  return plan_elementwise(*find_blocks(s.op->name, type_of(s)), block_params(s.attrs),
                          s.inputs, s.out());
}
void launch_elementwise(const ElementwisePlan& plan, const LaunchArgs& a) {
  run_elementwise(plan, a.inputs, a.outputs[0]);
}

ElementwisePlan prepare_cast(const Signature& s) {
  const auto& attrs = s.attrs.as<CastAttrs>();
  ElementwiseBlocks blocks{1, attrs.dtype, 1, {}};
  blocks.variants[0] = find_cast_block(s.in(0).dtype, attrs.dtype, attrs.truncate);
  return plan_elementwise(blocks, {}, s.inputs, s.out());
}

// AddN: a cache-sized stretch of the output at a time, so that it is written to memory
// once.
struct AddNPlan {
  Block add = nullptr;
  int64_t n = 0;
  int inputs = 0;
  int64_t size = 0;
  int64_t grain = 1;
};
AddNPlan prepare_add_n(const Signature& s) {
  const DType dtype = s.out().dtype;
  AddNPlan p;
  p.add = find_blocks("AddV2", dtype)->variants[0];
  p.n = s.out().shape.num_elements();
  p.inputs = static_cast<int>(s.inputs.size());
  p.size = static_cast<int64_t>(dtype_size(dtype));
  p.grain = std::max<int64_t>(65536 / p.inputs, 1024);
  return p;
}
void launch_add_n(const AddNPlan& p, const LaunchArgs& a) {
  constexpr int64_t kStretch = 4096;
  auto* out = a.out<std::byte>();
  const auto input = [&](int i, int64_t at) { return a.in<std::byte>(i) + at * p.size; };
  // The sum may lie where an addend does, which must not be gone before it is added.
  bool aside = false;
  for (int i = 2; i < p.inputs; ++i) aside |= input(i, 0) == out;
  parallel_for(p.n, p.grain, [&](int64_t begin, int64_t end) {
    constexpr size_t kMostBytes = 16;  // of an element
    alignas(64) std::byte stretch[kStretch * kMostBytes];
    for (int64_t b = begin; b < end; b += kStretch) {
      const int64_t m = std::min(kStretch, end - b);
      std::byte* const place = out + b * p.size;
      std::byte* const o = aside ? stretch : place;
      if (p.inputs == 1) {
        std::memcpy(o, input(0, b), static_cast<size_t>(m * p.size));
        continue;
      }
      for (int i = 1; i < p.inputs; ++i) {
        const void* operands[] = {i == 1 ? input(0, b) : o, input(i, b)};
        p.add(operands, o, m, {});
      }
      if (aside) std::memcpy(place, stretch, static_cast<size_t>(m * p.size));
    }
  });
}

// Bitcast to wider elements; the others are views.
size_t prepare_bitcast(const Signature& s) {
  return static_cast<size_t>(s.out().shape.num_elements()) * dtype_size(s.out().dtype);
}
void launch_bitcast(const size_t& bytes, const LaunchArgs& a) {
  if (bytes) std::memcpy(a.out<std::byte>(), a.in<std::byte>(0), bytes);
}

}  // namespace

void register_elementwise_kernels(KernelRegistry& registry) {
  for (const auto& [op, dtypes] : block_table().ops()) {
    registry.add(make_kernel<prepare_elementwise, launch_elementwise>(
        op, "cpu.elementwise." + op, dtypes));
  }
  registry.add(make_kernel<prepare_cast, launch_elementwise>("Cast", "cpu.cast", kPlain));
  registry.add(make_kernel<prepare_add_n, launch_add_n>("AddN", "cpu.add_n", kNumbers));
  registry.add(
      make_kernel<prepare_bitcast, launch_bitcast>("Bitcast", "cpu.bitcast", kNumbers));
}

}  // namespace tandem::cpu
