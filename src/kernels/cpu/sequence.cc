// Distances of edits (real numbers of up to 64 bits) and monotone fits (float32,
// float64).
#include "kernels/cpu/sequence.h"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "base/parallel.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/sequence.h"

namespace tandem::cpu {

namespace {

struct DistancePlan {
  bool normalize = true;
  Shape out;
  int64_t count[2] = {0, 0};  // elements of hypothesis and truth
  size_t workspace_bytes = 0;
};
DistancePlan prepare_distance(const Signature& s) {
  DistancePlan p;
  p.normalize = s.attrs.as<sequence::EditDistanceAttrs>().normalize;
  p.out = s.out().shape;
  p.count[0] = s.in(0).shape[0];
  p.count[1] = s.in(3).shape[0];
  p.workspace_bytes = static_cast<size_t>(p.count[1] + 1) * sizeof(int64_t);
  return p;
}

// Which sequence an element belongs to.
int64_t place_of(const int64_t* index, const Shape& out) {
  int64_t place = 0;
  for (int i = 0; i < out.rank(); ++i) {
    if (index[i] < 0 || index[i] >= out[i]) {
      throw InvalidArgumentError(
          fmt::format("EditDistance: index {} of dimension {} is out of bounds for size "
                      "{}. Indices of a sparse tensor lie inside its shape.",
                      index[i], i, out[i]));
    }
    place = place * out[i] + index[i];
  }
  return place;
}

// One row of the table of distances is kept.
template <class T>
int64_t distance_of(std::span<const T> a, std::span<const T> b, int64_t* row) {
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t above = row[j + 1];
      row[j + 1] = std::min(
          {above + 1, row[j] + 1, diagonal + static_cast<int64_t>(a[i] != b[j])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <class T>
void launch_distance(const DistancePlan& p, const LaunchArgs& a) {
  float* out = a.out<float>();
  std::fill_n(out, p.out.num_elements(), 0.0f);
  const int rank = p.out.rank() + 1;
  int64_t at[2] = {0, 0};
  const auto next = [&](int side) {
    return at[side] < p.count[side]
               ? place_of(a.in<int64_t>(3 * side) + at[side] * rank, p.out)
               : std::numeric_limits<int64_t>::max();
  };
  // Both are in row-major order, so that sequences come one after the other.
  while (at[0] < p.count[0] || at[1] < p.count[1]) {
    const int64_t place = std::min(next(0), next(1));
    std::span<const T> sequence[2];
    for (int side = 0; side < 2; ++side) {
      const int64_t begin = at[side];
      while (next(side) == place) ++at[side];
      sequence[side] = {a.in<T>(3 * side + 1) + begin,
                        static_cast<size_t>(at[side] - begin)};
    }
    auto distance = static_cast<float>(
        distance_of(sequence[0], sequence[1], static_cast<int64_t*>(a.workspace)));
    if (p.normalize) {
      if (!sequence[1].empty()) {
        distance /= static_cast<float>(sequence[1].size());
      } else if (!sequence[0].empty()) {
        distance = std::numeric_limits<float>::infinity();
      }
    }
    out[place] = distance;
  }
}

struct RowsPlan {
  int64_t rows = 0, n = 0;
};
RowsPlan prepare_rows(const Signature& s) {
  const Shape& in = s.in(0).shape;
  const int64_t n = in[in.rank() - 1];
  return {n ? in.num_elements() / n : 0, n};
}

// Neighbours that rise are joined until none does. The means and sizes of runs so far
// stand at the front of the outputs, and are spread over them from the end.
template <class T>
void fit_row(const T* in, T* out, int32_t* segments, int64_t n) {
  int64_t runs = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[runs] = in[i];
    segments[runs] = 1;
    ++runs;
    while (runs > 1 && out[runs - 2] < out[runs - 1]) {
      const double m = segments[runs - 2], k = segments[runs - 1];
      out[runs - 2] = static_cast<T>((static_cast<double>(out[runs - 2]) * m +
                                      static_cast<double>(out[runs - 1]) * k) /
                                     (m + k));
      segments[runs - 2] += segments[runs - 1];
      --runs;
    }
  }
  for (int64_t run = runs, end = n; run-- > 0;) {
    const T value = out[run];
    const int32_t size = segments[run];
    for (int32_t k = 0; k < size; ++k) {
      --end;
      out[end] = value;
      segments[end] = static_cast<int32_t>(run);
    }
  }
}

template <class T>
void launch_fit(const RowsPlan& p, const LaunchArgs& a) {
  parallel_for(p.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(p.n, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t r = b; r < e; ++r) {
                   fit_row(a.in<T>(0) + r * p.n, a.out<T>(0) + r * p.n,
                           a.out<int32_t>(1) + r * p.n, p.n);
                 }
               });
}

template <class T>
void launch_run_mean(const RowsPlan& p, const LaunchArgs& a) {
  parallel_for(p.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(p.n, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t r = b; r < e; ++r) {
                   const T* in = a.in<T>(0) + r * p.n;
                   const int32_t* segments = a.in<int32_t>(1) + r * p.n;
                   T* out = a.out<T>() + r * p.n;
                   for (int64_t i = 0, end = 0; i < p.n; i = end) {
                     double sum = 0;
                     for (end = i; end < p.n && segments[end] == segments[i]; ++end) {
                       sum += static_cast<double>(in[end]);
                     }
                     std::fill(out + i, out + end,
                               static_cast<T>(sum / static_cast<double>(end - i)));
                   }
                 }
               });
}

template <class T>
void add_distance(KernelRegistry& registry, const std::string& suffix) {
  registry.add(make_kernel<prepare_distance, launch_distance<T>>(
      "EditDistance", "cpu.EditDistance." + suffix, mask(dtype_of<T>)));
}
template <class T>
void add_fits(KernelRegistry& registry, const std::string& suffix) {
  registry.add(make_kernel<prepare_rows, launch_fit<T>>(
      "IsotonicRegression", "cpu.IsotonicRegression." + suffix, mask(dtype_of<T>)));
  registry.add(make_kernel<prepare_rows, launch_run_mean<T>>(
      "SegmentRunMean", "cpu.SegmentRunMean." + suffix, mask(dtype_of<T>)));
}

}  // namespace

void register_sequence_kernels(KernelRegistry& registry) {
  add_distance<int8_t>(registry, "i8");
  add_distance<int16_t>(registry, "i16");
  add_distance<int32_t>(registry, "i32");
  add_distance<int64_t>(registry, "i64");
  add_distance<uint8_t>(registry, "u8");
  add_distance<uint16_t>(registry, "u16");
  add_distance<uint32_t>(registry, "u32");
  add_distance<uint64_t>(registry, "u64");
  add_distance<float>(registry, "f32");
  add_distance<double>(registry, "f64");
  add_fits<float>(registry, "f32");
  add_fits<double>(registry, "f64");
}

}  // namespace tandem::cpu
