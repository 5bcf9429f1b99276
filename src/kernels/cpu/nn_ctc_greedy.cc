// The greedy CTC decoder, float32 and float64.
#include "base/parallel.h"
#include "kernels/cpu/nn_ctc.h"
#include "kernels/cpu/nn_register.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::cpu {

namespace {

struct GreedyPlan {
  CtcSizes sizes;
  bool merge_repeated = true;
};

GreedyPlan prepare_greedy(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::CtcGreedyAttrs>();
  return {ctc_sizes(s, attrs.blank_index), attrs.merge_repeated};
}

template <class T>
void launch_greedy(const GreedyPlan& p, const LaunchArgs& a) {
  const CtcSizes& n = p.sizes;
  const int32_t* lengths = a.in<int32_t>(1);
  check_lengths("CTCGreedyDecode", lengths, n.batch, n.time, "sequence_length");
  const int64_t work = std::max<int64_t>(1, n.time * n.classes);
  parallel_for(n.batch, std::max<int64_t>(1, 65536 / work), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      int64_t* out = a.out<int64_t>(0) + i * n.time;
      std::fill_n(out, n.time, -1);
      T score = 0;
      int64_t last = -1;
      for (int64_t t = 0; t < lengths[i]; ++t) {
        const T* row = a.in<T>(0) + (t * n.batch + i) * n.classes;
        const T* best = std::max_element(row, row + n.classes);
        const int64_t label = best - row;
        score -= *best;
        if (label != n.blank && !(p.merge_repeated && label == last)) *out++ = label;
        last = label;
      }
      a.out<T>(1)[i] = score;
    }
  });
}

}  // namespace

void register_nn_ctc_greedy_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_greedy, launch_greedy<float>>(
      "CTCGreedyDecode", "cpu.CTCGreedyDecode.f32", mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_greedy, launch_greedy<double>>(
      "CTCGreedyDecode", "cpu.CTCGreedyDecode.f64", mask(DType::kFloat64)));
}

}  // namespace tandem::cpu
