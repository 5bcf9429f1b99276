// One elementwise program over many groups of tensors, several groups to a launch.
#include <algorithm>

#include "kernels/cuda/fused_rows.h"

namespace tandem::cuda {

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
    const int64_t n = fused_domain(own).num_elements();
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
  const auto per = static_cast<int64_t>(k + m + kMultiTail);
  int64_t words = 64;
  while (words < kMultiWords && words < kMultiHead + groups * per) words *= 2;
  p.words = static_cast<int>(std::min<int64_t>(words, kMultiWords));
  p.function = find_function(device, "FusedMulti",
                             multi_text(program, scalars.value_or(0), p.words), "multi");
  return p;
}

void run_multi(const MultiPlan& p, const StreamContext& stream, void* const* inputs,
               void* const* outputs) {
  const size_t per = static_cast<size_t>(p.inputs + p.outputs + kMultiTail);
  const size_t most = (static_cast<size_t>(p.words) - kMultiHead) / per;
  uint64_t words[kMultiWords];
  for (size_t first = 0; first < p.counts.size(); first += most) {
    const size_t count = std::min(most, p.counts.size() - first);
    words[0] = p.flags;
    words[1] = 0;
    words[2] = guard_of(stream);
    words[3] = count;
    unsigned blocks = 0;
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
      // Blocks of 256 threads with a vector each, of large groups with several.
      const auto own = static_cast<unsigned>(std::min(
          (p.counts[group] + 1023) / 1024, int64_t{16} * p.function.multiprocessors));
      *to++ = static_cast<uint64_t>(p.counts[group]);
      *to++ = blocks;
      *to = own;
      blocks += own;
    }
    if (blocks == 0) continue;
    void* arguments[] = {words};
    launch_raw(p.function, stream, {.x = blocks}, arguments);
  }
}

}  // namespace tandem::cuda
