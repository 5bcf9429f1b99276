#include "kernels/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/bytes16.h"

namespace tandem::cpu {

namespace {

template <class T>
T load_element(const std::byte* p) {
  if constexpr (std::is_same_v<T, std::string>) {
    return *reinterpret_cast<const std::string*>(p);
  } else {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return v;
  }
}
template <class T>
void store_element(std::byte* p, const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    *reinterpret_cast<std::string*>(p) = v;
  } else {
    std::memcpy(p, &v, sizeof(T));
  }
}

// A block of 16 / sizeof(T) squared, turned by rounds of interleaving rows i and i + N/2.
template <class T>
struct TurnedBlock {
  static constexpr int kSide = static_cast<int>(16 / sizeof(T));
  typedef T Vec __attribute__((vector_size(16)));

  template <size_t... I>
  static void interleave(Vec (&rows)[kSide], std::index_sequence<I...>) {
    constexpr size_t h = kSide / 2;
    constexpr Vec low = {static_cast<T>(I / 2 + (I % 2) * kSide)...};
    constexpr Vec high = {static_cast<T>(I / 2 + h + (I % 2) * kSide)...};
    Vec next[kSide];
#pragma GCC unroll 16
    for (size_t i = 0; i < h; ++i) {
      next[2 * i] = __builtin_shuffle(rows[i], rows[i + h], low);
      next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + h], high);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kSide; ++i) rows[i] = next[i];
  }

  static void turn(const std::byte* in, int64_t in_step, std::byte* out,
                   int64_t out_step) {
    Vec rows[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], in + i * in_step, 16);
#pragma GCC unroll 16
    for (int s = 1; s < kSide; s *= 2)
      interleave(rows, std::make_index_sequence<kSide>());
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) std::memcpy(out + i * out_step, &rows[i], 16);
  }
};

// Planes are turned in squares of whole cache lines, several side by side: a page that
// was looked up serves them all.
constexpr int64_t kLine = 64, kBand = 8;

}  // namespace

struct CopyLoops {
  using Row = StridedCopy::Row;

  static void runs(const StridedCopy&, const Row& r) {
    const auto bytes = static_cast<size_t>(r.end - r.begin);
    for (int64_t i = 0; i < r.n; ++i) {
      std::memcpy(r.out + i * r.out_step + r.begin, r.in + i * r.in_step + r.begin,
                  bytes);
    }
  }

  template <class T>
  static void fill(const StridedCopy&, const Row& r) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < r.n; ++i) {
      const T v = load_element<T>(r.in + i * r.in_step);
      std::byte* o = r.out + i * r.out_step;
      for (int64_t k = r.begin; k < r.end; ++k) store_element<T>(o + k * kSize, v);
    }
  }

  template <class T>
  static void backwards(const StridedCopy&, const Row& r) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < r.n; ++i) {
      const std::byte* in = r.in + i * r.in_step;
      std::byte* o = r.out + i * r.out_step;
      for (int64_t k = r.begin; k < r.end; ++k) {
        store_element<T>(o + k * kSize, load_element<T>(in - k * kSize));
      }
    }
  }

  template <class T>
  static void steps(const StridedCopy& c, const Row& r) {
    for (int64_t i = 0; i < r.n; ++i) {
      const std::byte* in = r.in + i * r.in_step;
      std::byte* o = r.out + i * r.out_step;
      for (int64_t k = r.begin; k < r.end; ++k) {
        store_element<T>(o + k * c.unit_out_, load_element<T>(in + k * c.unit_in_));
      }
    }
  }

  // [begin, end) counts bands of kBand lines along the dimension contiguous in the input.
  template <class T>
  static void plane(const StridedCopy& c, const Row& r) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    constexpr int64_t kSide = kLine / kSize;
    for (int64_t i = 0; i < r.n; ++i) {
      const std::byte* in = r.in + i * r.in_step;
      std::byte* out = r.out + i * r.out_step;
      for (int64_t band = r.begin; band < r.end; ++band) {
        const int64_t first = band * kBand * kSide;
        const int64_t last = std::min(first + kBand * kSide, c.plane_n_);
        for (int64_t a0 = 0; a0 < c.unit_n_; a0 += kSide) {
          const int64_t a1 = std::min(a0 + kSide, c.unit_n_);
          for (int64_t b0 = first; b0 < last; b0 += kSide) {
            square<T>(c, in, out, a0, a1, b0, std::min(b0 + kSide, last));
          }
        }
      }
    }
  }

  template <class T>
  static void square(const StridedCopy& c, const std::byte* in, std::byte* out,
                     int64_t a0, int64_t a1, int64_t b0, int64_t b1) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    int64_t a_done = a0, b_done = b0;
    if constexpr (sizeof(T) < 16) {
      constexpr int64_t kStep = TurnedBlock<T>::kSide;
      a_done = a0 + (a1 - a0) / kStep * kStep;
      b_done = b0 + (b1 - b0) / kStep * kStep;
      for (int64_t b = b0; b < b_done; b += kStep) {
        for (int64_t a = a0; a < a_done; a += kStep) {
          TurnedBlock<T>::turn(in + a * c.unit_in_ + b * kSize, c.unit_in_,
                               out + b * c.plane_out_ + a * kSize, c.plane_out_);
        }
      }
    }
    const auto rest = [&](int64_t af, int64_t al, int64_t bf, int64_t bl) {
      for (int64_t b = bf; b < bl; ++b) {
        for (int64_t a = af; a < al; ++a) {
          store_element<T>(out + b * c.plane_out_ + a * kSize,
                           load_element<T>(in + a * c.unit_in_ + b * kSize));
        }
      }
    };
    rest(a_done, a1, b0, b_done);
    rest(a0, a1, b_done, b1);
  }

  enum Kind { kFill, kBackwards, kSteps, kPlane };
  template <class T>
  static StridedCopy::Inner of(Kind kind) {
    switch (kind) {
      case kFill:
        return fill<T>;
      case kBackwards:
        return backwards<T>;
      case kSteps:
        return steps<T>;
      case kPlane:
        return plane<T>;
    }
    return nullptr;
  }
  static StridedCopy::Inner choose(int64_t size, Kind kind) {
    switch (size) {
      case 1:
        return of<uint8_t>(kind);
      case 2:
        return of<uint16_t>(kind);
      case 4:
        return of<uint32_t>(kind);
      case 8:
        return of<uint64_t>(kind);
      default:
        return of<Bytes16>(kind);
    }
  }
};

namespace {

// Dimensions by falling output step, neighbours merged where both sides allow it.
std::vector<CopyDim> normalised(std::span<const CopyDim> dims, int64_t element) {
  std::vector<CopyDim> list;
  for (const CopyDim& d : dims) {
    if (d.n != 1) list.push_back({d.n, d.in * element, d.out * element});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const CopyDim& a, const CopyDim& b) { return a.out > b.out; });
  std::vector<CopyDim> merged;
  for (const CopyDim& d : list) {
    if (!merged.empty() && merged.back().in == d.in * d.n &&
        merged.back().out == d.out * d.n) {
      merged.back() = {merged.back().n * d.n, d.in, d.out};
    } else {
      merged.push_back(d);
    }
  }
  return merged;
}

bool is_element_size(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

// The dimension to turn against the innermost one: contiguous in the input.
int find_plane(const std::vector<CopyDim>& dims, int64_t element) {
  constexpr int64_t kWorth = 4;
  const CopyDim& last = dims.back();
  if (last.out != element || last.n < kWorth) return -1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    if (dims[i].in == element && dims[i].n >= kWorth) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

StridedCopy::StridedCopy(DType dtype, std::span<const CopyDim> given, int64_t in_offset,
                         int64_t out_offset) {
  auto element = static_cast<int64_t>(dtype_size(dtype));
  in_offset_ = in_offset * element;
  out_offset_ = out_offset * element;
  for (const CopyDim& d : given) {
    if (d.n == 0) return;
  }
  std::vector<CopyDim> dims = normalised(given, element);
  int64_t bytes = element;  // of one unit
  if (dtype == DType::kString) {
    if (dims.empty()) dims.push_back({1, element, element});
    const CopyDim d = dims.back();
    dims.pop_back();
    unit_n_ = range_ = d.n;
    unit_in_ = d.in;
    unit_out_ = d.out;
    bytes = d.n * element;
    inner_ = CopyLoops::steps<std::string>;
  } else {
    if (!dims.empty() && dims.back().in == element && dims.back().out == element) {
      bytes = dims.back().n * element;
      dims.pop_back();
    }
    if (dims.empty() || !is_element_size(bytes)) {
      inner_ = CopyLoops::runs;
      range_ = bytes;
    } else {
      element = bytes;  // a short run moves as one wide element
      const int turned = find_plane(dims, element);
      const CopyDim d = dims.back();
      dims.pop_back();
      unit_n_ = range_ = d.n;
      unit_in_ = d.in;
      unit_out_ = d.out;
      bytes = d.n * element;
      if (turned >= 0) {
        const CopyDim p = dims[static_cast<size_t>(turned)];
        dims.erase(dims.begin() + turned);
        plane_n_ = p.n;
        plane_out_ = p.out;
        bytes *= p.n;
        const int64_t side = kBand * kLine / element;
        range_ = (p.n + side - 1) / side;
        inner_ = CopyLoops::choose(element, CopyLoops::kPlane);
      } else if (d.out == element && d.in == 0) {
        inner_ = CopyLoops::choose(element, CopyLoops::kFill);
      } else if (d.out == element && d.in == -element) {
        inner_ = CopyLoops::choose(element, CopyLoops::kBackwards);
      } else {
        inner_ = CopyLoops::choose(element, CopyLoops::kSteps);
      }
    }
  }
  rank_ = static_cast<int>(dims.size());
  units_ = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    n_[i] = dims[i].n;
    in_[i] = dims[i].in;
    out_[i] = dims[i].out;
    units_ *= dims[i].n;
  }
  constexpr int64_t kBytesPerTask = 128 << 10;
  grain_ = std::max<int64_t>(1, kBytesPerTask / bytes);
  constexpr int64_t kFewUnits = 32;
  if (units_ < kFewUnits && bytes > 2 * kBytesPerTask && range_ > 1) {
    range_grain_ = std::max<int64_t>(1, range_ / (bytes / kBytesPerTask));
  }
}

StridedCopy StridedCopy::flat(DType dtype, int64_t n, int64_t in_offset,
                              int64_t out_offset) {
  const CopyDim dim{n, 1, 1};
  return StridedCopy(dtype, {&dim, 1}, in_offset, out_offset);
}

StridedCopy StridedCopy::fill(DType dtype, int64_t n) {
  const CopyDim dim{n, 0, 1};
  return StridedCopy(dtype, {&dim, 1});
}

void StridedCopy::walk(const std::byte* in, std::byte* out, int64_t first,
                       int64_t last) const {
  if (rank_ == 0) {
    inner_(*this, {in, out, 1, 0, 0, 0, range_});
    return;
  }
  const int row = rank_ - 1;
  int64_t at[kMaxCopyRank] = {};
  for (int64_t rest = first, d = row; d >= 0; --d) {
    at[d] = rest % n_[d];
    rest /= n_[d];
    in += at[d] * in_[d];
    out += at[d] * out_[d];
  }
  for (int64_t left = last - first; left > 0;) {
    const int64_t n = std::min(left, n_[row] - at[row]);
    inner_(*this, {in, out, n, in_[row], out_[row], 0, range_});
    left -= n;
    if (left <= 0) break;
    in -= at[row] * in_[row];
    out -= at[row] * out_[row];
    at[row] = 0;
    for (int d = row - 1; d >= 0; --d) {
      in += in_[d];
      out += out_[d];
      if (++at[d] < n_[d]) break;
      in -= n_[d] * in_[d];
      out -= n_[d] * out_[d];
      at[d] = 0;
    }
  }
}

void StridedCopy::run(const void* from, void* to) const {
  if (units_ == 0) return;
  const std::byte* in = static_cast<const std::byte*>(from) + in_offset_;
  std::byte* out = static_cast<std::byte*>(to) + out_offset_;
  if (!range_grain_) {
    parallel_for(units_, grain_, [&](int64_t b, int64_t e) { walk(in, out, b, e); });
    return;
  }
  for (int64_t u = 0; u < units_; ++u) {
    const std::byte* unit_in = in;
    std::byte* unit_out = out;
    for (int64_t rest = u, d = rank_ - 1; d >= 0; --d) {
      unit_in += rest % n_[d] * in_[d];
      unit_out += rest % n_[d] * out_[d];
      rest /= n_[d];
    }
    parallel_for(range_, range_grain_, [&](int64_t b, int64_t e) {
      inner_(*this, {unit_in, unit_out, 1, 0, 0, b, e});
    });
  }
}

}  // namespace tandem::cpu
