// Fourier transforms over the last dimensions. complex64 and complex128; float32 and
// float64 on the real side. The whole array lies in scratch memory as lines of the
// dimension that is being transformed.
#include "kernels/cpu/signal.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/fourier.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

enum class FourierKind { kComplex, kFromReal, kToReal };

template <class T>
struct FourierPlan {
  using Complex = std::complex<T>;
  bool inverse = false;
  int64_t outer = 1;  // transforms that have nothing to do with one another
  std::vector<int64_t> in, out, full;  // sizes of the transformed dimensions
  std::vector<std::shared_ptr<const Fourier<T>>> lines;
  T scale = 1;
  int64_t elements = 0, per_line = 0;
  size_t workspace_bytes = 0;
};

template <class T, FourierKind kKind, int kDims, bool kInverse>
FourierPlan<T> prepare_fourier(const Signature& s) {
  FourierPlan<T> p;
  p.inverse = kInverse;
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const int rank = in.rank();
  for (int i = 0; i < rank - kDims; ++i) p.outer *= in[i];
  double count = 1;
  p.elements = p.outer;
  for (int i = 0; i < kDims; ++i) {
    const int axis = rank - kDims + i;
    p.in.push_back(in[axis]);
    p.out.push_back(out[axis]);
    const int64_t n =
        kKind == FourierKind::kComplex ? in[axis] : s.in(1).value[static_cast<size_t>(i)];
    p.full.push_back(n);
    p.lines.push_back(std::make_shared<const Fourier<T>>(n));
    p.elements *= n;
    count *= static_cast<double>(n);
  }
  int64_t scratch = 0;
  for (size_t i = 0; i < p.lines.size(); ++i) {
    const int64_t lines = p.full[i] ? p.elements / p.full[i] : 0;
    scratch = std::max(scratch, lines * p.lines[i]->scratch());
  }
  p.scale = kInverse ? static_cast<T>(1 / std::max(count, 1.0)) : T(1);
  p.workspace_bytes =
      static_cast<size_t>(2 * p.elements + scratch) * sizeof(std::complex<T>);
  return p;
}

/// Calls body(offset in a, offset in b, whether it lies inside b) for every element of an
/// array of sizes `a` in front of one of sizes `b`.
template <class Body>
void over_both(int64_t outer, const std::vector<int64_t>& a,
               const std::vector<int64_t>& b, Body body) {
  const size_t dims = a.size();
  int64_t na = 1, nb = 1;
  for (size_t i = 0; i < dims; ++i) na *= a[i], nb *= b[i];
  const int64_t last = a[dims - 1];
  if (na == 0) return;
  for (int64_t row = 0; row < outer * (na / last); ++row) {
    int64_t left = row % (na / last), at = 0, step = b[dims - 1];
    bool inside = true;
    for (size_t i = dims - 1; i-- > 0;) {
      const int64_t place = left % a[i];
      left /= a[i];
      inside &= place < b[i];
      at += place * step;
      step *= b[i];
    }
    const int64_t from = row / (na / last) * nb + at;
    for (int64_t k = 0; k < last; ++k) {
      body(row * last + k, from + k, inside && k < b[dims - 1]);
    }
  }
}

// Transforms dimension i of the array in `data`; `lines` and `scratch` are for that.
template <class T>
void transform(const FourierPlan<T>& p, size_t i, std::complex<T>* data,
               std::complex<T>* lines, std::complex<T>* scratch) {
  const Fourier<T>& line = *p.lines[i];
  const int64_t n = p.full[i];
  int64_t inner = 1;
  for (size_t k = i + 1; k < p.full.size(); ++k) inner *= p.full[k];
  const int64_t count = p.elements / n;
  const int64_t grain = std::max<int64_t>(1, 4096 / n);
  parallel_for(count, grain, [&](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c) {
      std::complex<T>* from = data + c / inner * n * inner + c % inner;
      std::complex<T>* work = inner == 1 ? from : lines + c * n;
      for (int64_t k = 0; inner > 1 && k < n; ++k) work[k] = from[k * inner];
      line.run(work, scratch + c * line.scratch(), p.inverse);
      for (int64_t k = 0; inner > 1 && k < n; ++k) from[k * inner] = work[k];
    }
  });
}

template <class T, FourierKind kKind>
void launch_fourier(const FourierPlan<T>& p, const LaunchArgs& a) {
  using Complex = std::complex<T>;
  if (p.elements == 0) return;
  auto* data = static_cast<Complex*>(a.workspace);
  Complex *lines = data + p.elements, *scratch = lines + p.elements;
  const size_t dims = p.full.size();
  if constexpr (kKind == FourierKind::kFromReal) {
    over_both(p.outer, p.full, p.in, [&](int64_t to, int64_t from, bool inside) {
      data[to] = inside ? Complex(a.in<T>(0)[from]) : Complex();
    });
  } else if constexpr (kKind == FourierKind::kComplex) {
    std::copy_n(a.in<Complex>(0), p.elements, data);
  } else {
    // The half that is there; the other one follows from it, once the outer dimensions
    // are transformed.
    std::vector<int64_t> half = p.full;
    half[dims - 1] = p.full[dims - 1] / 2 + 1;
    std::vector<int64_t> there = p.in;
    there[dims - 1] = std::min(there[dims - 1], half[dims - 1]);
    over_both(p.outer, p.full, p.in, [&](int64_t to, int64_t from, bool inside) {
      const bool kept = inside && to % p.full[dims - 1] < there[dims - 1];
      data[to] = kept ? a.in<Complex>(0)[from] : Complex();
    });
  }
  for (size_t i = 0; i + 1 < dims; ++i) transform(p, i, data, lines, scratch);
  const int64_t n = p.full[dims - 1];
  if constexpr (kKind == FourierKind::kToReal) {
    for (int64_t row = 0; row < p.elements / n; ++row) {
      Complex* x = data + row * n;
      x[0] = x[0].real();
      if (n % 2 == 0) x[n / 2] = x[n / 2].real();
      for (int64_t k = 1; 2 * k < n; ++k) x[n - k] = std::conj(x[k]);
    }
  }
  transform(p, dims - 1, data, lines, scratch);
  if constexpr (kKind == FourierKind::kToReal) {
    for (int64_t i = 0; i < p.elements; ++i) a.out<T>()[i] = data[i].real() * p.scale;
  } else if constexpr (kKind == FourierKind::kComplex) {
    for (int64_t i = 0; i < p.elements; ++i) a.out<Complex>()[i] = data[i] * p.scale;
  } else {
    over_both(p.outer, p.out, p.full,
              [&](int64_t to, int64_t from, bool) { a.out<Complex>()[to] = data[from]; });
  }
}

template <class T, int kDims>
void add_transforms(KernelRegistry& registry, const std::string& dimensions) {
  const std::string suffix = "." + std::string(dtype_name(dtype_of<T>));
  const auto add = [&](Kernel kernel, const char* base) {
    kernel.op = base + dimensions;
    kernel.id = "cpu." + kernel.op + suffix;
    registry.add(std::move(kernel));
  };
  const DTypeMask real = mask(dtype_of<T>), complex = mask(dtype_of<std::complex<T>>);
  add(make_kernel<prepare_fourier<T, FourierKind::kComplex, kDims, false>,
                  launch_fourier<T, FourierKind::kComplex>>("", "", complex),
      "FFT");
  add(make_kernel<prepare_fourier<T, FourierKind::kComplex, kDims, true>,
                  launch_fourier<T, FourierKind::kComplex>>("", "", complex),
      "IFFT");
  add(make_kernel<prepare_fourier<T, FourierKind::kFromReal, kDims, false>,
                  launch_fourier<T, FourierKind::kFromReal>>("", "", real),
      "RFFT");
  add(make_kernel<prepare_fourier<T, FourierKind::kToReal, kDims, true>,
                  launch_fourier<T, FourierKind::kToReal>>("", "", complex),
      "IRFFT");
}

}  // namespace

void register_signal_kernels(KernelRegistry& registry) {
  add_transforms<float, 1>(registry, "");
  add_transforms<float, 2>(registry, "2D");
  add_transforms<float, 3>(registry, "3D");
  add_transforms<double, 1>(registry, "");
  add_transforms<double, 2>(registry, "2D");
  add_transforms<double, 3>(registry, "3D");
}

}  // namespace tandem::cpu
