// Repeat, ReverseSequence: any dtype, by element size. InvertPermutation: int32, int64.
// ListDiff: any dtype.
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"
#include "tandem/error.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

struct RepeatPlan {
  StridedCopy even;             // one count for all
  std::vector<int64_t> counts;  // else one per slice; empty when even
  int64_t outer = 0, inner = 0, total = 0;
  std::vector<int64_t> starts;
  DType dtype = DType::kInvalid;
};
RepeatPlan prepare_repeat(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const int axis = static_cast<int>(given < 0 ? given + in.rank() : given);
  const Ints counts = *known_ints(s.in(1));
  RepeatPlan p;
  p.dtype = s.in(0).dtype;
  p.outer = in.slice(0, axis).num_elements();
  p.inner = in.slice(axis + 1, in.rank()).num_elements();
  p.total = out[axis];
  const int64_t n = in[axis];
  if (counts.size() == 1) {
    const int64_t times = std::max<int64_t>(counts[0], 0);
    const CopyDim dims[] = {{p.outer, n * p.inner, n * times * p.inner},
                            {n, p.inner, times * p.inner},
                            {times, 0, p.inner},
                            {p.inner, 1, 1}};
    p.even = StridedCopy(p.dtype, dims);
    return p;
  }
  p.starts.push_back(0);
  for (int64_t c : counts) {
    p.counts.push_back(std::max<int64_t>(c, 0));
    p.starts.push_back(p.starts.back() + p.counts.back());
  }
  return p;
}
template <class T>
void repeat_slices(const RepeatPlan& p, const T* in, T* out) {
  const auto n = static_cast<int64_t>(p.counts.size());
  const int64_t per_slice = p.inner * (p.total / std::max<int64_t>(n, 1) + 1);
  parallel_for(p.outer * n, copy_grain(per_slice, sizeof(T)), [&](int64_t b, int64_t e) {
    for (int64_t slice = b; slice < e; ++slice) {
      const auto i = static_cast<size_t>(slice % n);
      T* to = out + (slice / n * p.total + p.starts[i]) * p.inner;
      for (int64_t r = 0; r < p.counts[i]; ++r, to += p.inner) {
        copy_elements(to, in + slice * p.inner, p.inner);
      }
    }
  });
}
void launch_repeat(const RepeatPlan& p, const LaunchArgs& a) {
  if (p.counts.empty()) {
    p.even.run(a.in<void>(0), a.out<void>());
    return;
  }
  for_element(p.dtype,
              [&]<class T>(const T&) { repeat_slices(p, a.in<T>(0), a.out<T>()); });
}

// Dimensions as [outer, first, middle, second, inner], where {first, second} = {batch,
// seq}.
struct ReverseSequencePlan {
  int64_t outer, first, middle, second, inner;
  bool seq_first;
  int batch_axis, seq_axis;
  DType dtype, lengths;
};
ReverseSequencePlan prepare_reverse_sequence(const Signature& s) {
  const auto& attrs = s.attrs.as<ReverseSequenceAttrs>();
  const Shape& in = s.in(0).shape;
  const auto axis = [&](int64_t a) {
    return static_cast<int>(a < 0 ? a + in.rank() : a);
  };
  const int seq = axis(attrs.seq_axis), batch = axis(attrs.batch_axis);
  const int one = std::min(seq, batch), two = std::max(seq, batch);
  return {in.slice(0, one).num_elements(),
          in[one],
          in.slice(one + 1, two).num_elements(),
          in[two],
          in.slice(two + 1, in.rank()).num_elements(),
          seq < batch,
          batch,
          seq,
          s.in(0).dtype,
          s.in(1).dtype};
}
template <class T, class I>
void reverse_prefixes(const ReverseSequencePlan& p, const T* in, const I* lengths,
                      T* out) {
  const int64_t batches = p.seq_first ? p.second : p.first;
  const int64_t steps = p.seq_first ? p.first : p.second;
  for (int64_t i = 0; i < batches; ++i) {
    const auto n = static_cast<int64_t>(lengths[i]);
    if (n < 0)
      throw InvalidArgumentError(fmt::format("ReverseSequence: seq_lens({}) < 0", i));
    if (n > steps) {
      throw InvalidArgumentError(
          fmt::format("ReverseSequence: seq_lens({}) > input.dims({})", i, p.seq_axis));
    }
  }
  const int64_t rows = p.outer * p.first * p.middle;
  const int64_t row_length = p.second * p.inner;
  parallel_for(rows, copy_grain(row_length, sizeof(T)), [&](int64_t b, int64_t e) {
    for (int64_t row = b; row < e; ++row) {
      const int64_t at = row / p.middle % p.first;
      T* to = out + row * row_length;
      if (p.seq_first) {
        for (int64_t k = 0; k < p.second; ++k) {
          const auto n = static_cast<int64_t>(lengths[k]);
          const int64_t source = at < n ? row + (n - 1 - 2 * at) * p.middle : row;
          copy_elements(to + k * p.inner, in + source * row_length + k * p.inner,
                        p.inner);
        }
        continue;
      }
      const auto n = static_cast<int64_t>(lengths[at]);
      const T* from = in + row * row_length;
      for (int64_t k = 0; k < n; ++k) {
        copy_elements(to + k * p.inner, from + (n - 1 - k) * p.inner, p.inner);
      }
      copy_elements(to + n * p.inner, from + n * p.inner, (p.second - n) * p.inner);
    }
  });
}
void launch_reverse_sequence(const ReverseSequencePlan& p, const LaunchArgs& a) {
  for_element(p.dtype, [&]<class T>(const T&) {
    if (p.lengths == DType::kInt32) {
      reverse_prefixes(p, a.in<T>(0), a.in<int32_t>(1), a.out<T>());
    } else {
      reverse_prefixes(p, a.in<T>(0), a.in<int64_t>(1), a.out<T>());
    }
  });
}

struct InvertPlan {
  int64_t n;
  bool wide;
};
InvertPlan prepare_invert(const Signature& s) {
  return {s.in(0).shape.num_elements(), s.in(0).dtype == DType::kInt64};
}
template <class I>
void invert(const I* in, I* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = -1;
  for (int64_t i = 0; i < n; ++i) {
    const auto d = static_cast<int64_t>(in[i]);
    if (d < 0 || d >= n) {
      throw InvalidArgumentError(
          fmt::format("InvertPermutation: {} is not between 0 and {}", d, n));
    }
    if (out[d] != -1) {
      throw InvalidArgumentError(
          fmt::format("InvertPermutation: {} is duplicated in the input.", d));
    }
    out[d] = static_cast<I>(i);
  }
}
void launch_invert(const InvertPlan& p, const LaunchArgs& a) {
  if (p.wide) {
    invert(a.in<int64_t>(0), a.out<int64_t>(), p.n);
  } else {
    invert(a.in<int32_t>(0), a.out<int32_t>(), p.n);
  }
}

struct DiffPlan {
  int64_t x, y;
  DType dtype, index;
};
DiffPlan prepare_diff(const Signature& s) {
  return {s.in(0).shape.num_elements(), s.in(1).shape.num_elements(), s.in(0).dtype,
          s.out(1).dtype};
}
// Values as bytes that are equal when the values are; nothing for NaN, which equals
// nothing.
template <class T>
std::optional<std::string> equality_key(const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    return v;
  } else {
    if (!(v == v)) return std::nullopt;
    T positive = v == T{} ? T{} : v;  // -0 equals 0
    return std::string(reinterpret_cast<const char*>(&positive), sizeof(T));
  }
}
template <class T>
void diff(const DiffPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  std::unordered_set<std::string> seen;
  for (int64_t i = 0; i < p.y; ++i) {
    if (auto key = equality_key(a.in<T>(1)[i])) seen.insert(std::move(*key));
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < p.x; ++i) {
    const auto key = equality_key(a.in<T>(0)[i]);
    if (!key || !seen.contains(*key)) kept.push_back(i);
  }
  const Shape shape{static_cast<int64_t>(kept.size())};
  auto* values = static_cast<T*>(outputs.allocate(0, shape));
  void* places = outputs.allocate(1, shape);
  for (size_t i = 0; i < kept.size(); ++i) {
    values[i] = a.in<T>(0)[kept[i]];
    if (p.index == DType::kInt32) {
      static_cast<int32_t*>(places)[i] = static_cast<int32_t>(kept[i]);
    } else {
      static_cast<int64_t*>(places)[i] = kept[i];
    }
  }
}
void launch_diff(const DiffPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  switch (p.dtype) {
    case DType::kFloat16:
      diff<float16>(p, a, outputs);
      break;
    case DType::kBFloat16:
      diff<bfloat16>(p, a, outputs);
      break;
    case DType::kFloat32:
      diff<float>(p, a, outputs);
      break;
    case DType::kFloat64:
      diff<double>(p, a, outputs);
      break;
    case DType::kComplex64:
      diff<std::complex<float>>(p, a, outputs);
      break;
    case DType::kComplex128:
      diff<std::complex<double>>(p, a, outputs);
      break;
    default:
      for_element(p.dtype, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, Bytes16>) diff<T>(p, a, outputs);
      });
  }
}

}  // namespace

void register_array_order_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_repeat, launch_repeat>("Repeat", "cpu.repeat"));
  registry.add(make_kernel<prepare_reverse_sequence, launch_reverse_sequence>(
      "ReverseSequence", "cpu.reverse_sequence"));
  registry.add(make_kernel<prepare_invert, launch_invert>("InvertPermutation",
                                                          "cpu.invert_permutation"));
  registry.add(make_kernel<prepare_diff, launch_diff>("ListDiff", "cpu.list_diff"));
}

}  // namespace tandem::cpu
