// Kernels that add up what an op had copied: MirrorPadGrad, RepeatGrad. All numeric
// dtypes; float16 and bfloat16 add in float.
#include "base/parallel.h"
#include "kernels/cpu/array_common.h"
#include "kernels/cpu/array_mirror.h"
#include "ops/array_common.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

template <class T>
struct SummedIn {
  using type = T;
};
template <>
struct SummedIn<float16> {
  using type = float;
};
template <>
struct SummedIn<bfloat16> {
  using type = float;
};

template <class F>
void for_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      f(uint8_t{});
      break;
    case DType::kInt16:
    case DType::kUInt16:
      f(uint16_t{});
      break;
    case DType::kInt32:
    case DType::kUInt32:
      f(uint32_t{});
      break;
    case DType::kInt64:
    case DType::kUInt64:
      f(uint64_t{});
      break;
    case DType::kFloat16:
      f(float16{});
      break;
    case DType::kBFloat16:
      f(bfloat16{});
      break;
    case DType::kFloat32:
      f(float{});
      break;
    case DType::kFloat64:
      f(double{});
      break;
    case DType::kComplex64:
      f(std::complex<float>{});
      break;
    default:
      f(std::complex<double>{});
      break;
  }
}

template <class T>
T plus(T a, T b) {
  using S = typename SummedIn<T>::type;
  return static_cast<T>(static_cast<S>(a) + static_cast<S>(b));
}

struct MirrorGradPlan {
  StridedCopy center;
  std::vector<MirrorPiece> borders;  // sizes not 0; at least one dimension
  DType dtype;
};
MirrorGradPlan prepare_mirror_grad(const Signature& s) {
  const Shape &padded = s.in(0).shape, &inner = s.out().shape;
  MirrorGradPlan plan{{}, {}, s.out().dtype};
  for (MirrorPiece& piece : mirror_pieces(inner, padded, *known_ints(s.in(1)),
                                          s.attrs.as<MirrorPadAttrs>().mode)) {
    if (piece.is_center) {
      for (CopyDim& d : piece.dims) std::swap(d.in, d.out);
      plan.center =
          StridedCopy(plan.dtype, piece.dims, piece.out_offset, piece.in_offset);
      continue;
    }
    int64_t n = 1;
    for (const CopyDim& d : piece.dims) n *= d.n;
    if (n > 0) plan.borders.push_back(std::move(piece));
  }
  return plan;
}
// Within a piece no element is met twice, so rows may be added in parallel.
template <class T>
void add_piece(const MirrorPiece& piece, const T* grad, T* out) {
  const CopyDim inner = piece.dims.back();
  const size_t outer = piece.dims.size() - 1;
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i) rows *= piece.dims[i].n;
  parallel_for(rows, copy_grain(inner.n, 2 * sizeof(T)), [&](int64_t b, int64_t e) {
    for (int64_t row = b; row < e; ++row) {
      int64_t to = piece.in_offset, from = piece.out_offset;
      for (int64_t rest = row, i = static_cast<int64_t>(outer) - 1; i >= 0; --i) {
        const CopyDim& d = piece.dims[static_cast<size_t>(i)];
        to += rest % d.n * d.in;
        from += rest % d.n * d.out;
        rest /= d.n;
      }
      for (int64_t k = 0; k < inner.n; ++k) {
        T& slot = out[to + k * inner.in];
        slot = plus(slot, grad[from + k * inner.out]);
      }
    }
  });
}
void launch_mirror_grad(const MirrorGradPlan& p, const LaunchArgs& a) {
  p.center.run(a.in<void>(0), a.out<void>());
  for_number(p.dtype, [&]<class T>(T) {
    for (const MirrorPiece& piece : p.borders) add_piece(piece, a.in<T>(0), a.out<T>());
  });
}

struct RepeatGradPlan {
  int64_t outer, n, inner, total;
  std::vector<int64_t> starts;  // n + 1: where the copies of each slice begin
  DType dtype;
};
RepeatGradPlan prepare_repeat_grad(const Signature& s) {
  const Shape& out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const int axis = static_cast<int>(given < 0 ? given + out.rank() : given);
  const Ints counts = *known_ints(s.in(1));
  RepeatGradPlan p{out.slice(0, axis).num_elements(),
                   out[axis],
                   out.slice(axis + 1, out.rank()).num_elements(),
                   s.in(0).shape[axis],
                   {0},
                   s.out().dtype};
  for (int64_t i = 0; i < p.n; ++i) {
    const int64_t count = counts.size() == 1 ? counts[0] : counts[static_cast<size_t>(i)];
    p.starts.push_back(p.starts.back() + std::max<int64_t>(count, 0));
  }
  return p;
}
template <class T>
void sum_copies(const RepeatGradPlan& p, const T* grad, T* out) {
  using S = typename SummedIn<T>::type;
  constexpr int64_t kBlock = 256;
  const int64_t per_slice = p.inner * (p.total / std::max<int64_t>(p.n, 1) + 1);
  parallel_for(p.outer * p.n, copy_grain(per_slice, sizeof(T)),
               [&](int64_t b, int64_t e) {
                 S sums[kBlock];
                 for (int64_t slice = b; slice < e; ++slice) {
                   const auto i = static_cast<size_t>(slice % p.n);
                   const T* first = grad + (slice / p.n * p.total) * p.inner;
                   for (int64_t at = 0; at < p.inner; at += kBlock) {
                     const int64_t m = std::min(kBlock, p.inner - at);
                     for (int64_t k = 0; k < m; ++k) sums[k] = S(0);
                     for (int64_t r = p.starts[i]; r < p.starts[i + 1]; ++r) {
                       const T* from = first + r * p.inner + at;
                       for (int64_t k = 0; k < m; ++k)
                         sums[k] = static_cast<S>(sums[k] + static_cast<S>(from[k]));
                     }
                     T* to = out + slice * p.inner + at;
                     for (int64_t k = 0; k < m; ++k) to[k] = static_cast<T>(sums[k]);
                   }
                 }
               });
}
void launch_repeat_grad(const RepeatGradPlan& p, const LaunchArgs& a) {
  for_number(p.dtype, [&]<class T>(T) { sum_copies<T>(p, a.in<T>(0), a.out<T>()); });
}

}  // namespace

void register_array_add_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_mirror_grad, launch_mirror_grad>(
      "MirrorPadGrad", "cpu.mirror_pad_grad"));
  registry.add(make_kernel<prepare_repeat_grad, launch_repeat_grad>("RepeatGrad",
                                                                    "cpu.repeat_grad"));
}

}  // namespace tandem::cpu
