// Cases of Fourier transforms: against sums over all elements, for lengths with small
// factors, prime ones (which go through a convolution), one, and cut or filled up.
#include <cmath>
#include <numbers>

#include "ops/case_parts.h"
#include "ops/values.h"

namespace tandem::testing {

namespace {

using Sizes = std::vector<int64_t>;

int64_t count_of(const Sizes& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}
Sizes places(int64_t flat, const Sizes& sizes) {
  Sizes at(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; flat /= sizes[i]) at[i] = flat % sizes[i];
  return at;
}

/// Over all of x, of sizes `sizes`; not divided.
std::vector<Complex> transform(const std::vector<Complex>& x, const Sizes& sizes,
                               double sign) {
  std::vector<Complex> out(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    const Sizes frequency = places(static_cast<int64_t>(k), sizes);
    for (size_t n = 0; n < x.size(); ++n) {
      const Sizes at = places(static_cast<int64_t>(n), sizes);
      double turns = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        turns += double(frequency[i] * at[i] % sizes[i]) / double(sizes[i]);
      }
      out[k] += x[n] * std::polar(1.0, sign * 2 * std::numbers::pi * turns);
    }
  }
  return out;
}

// The elements of one array of sizes `from` as one of sizes `to`, cut or with zeros.
std::vector<Complex> fitted(const Complex* x, const Sizes& from, const Sizes& to) {
  std::vector<Complex> out(static_cast<size_t>(count_of(to)));
  for (size_t i = 0; i < out.size(); ++i) {
    const Sizes at = places(static_cast<int64_t>(i), to);
    int64_t flat = 0;
    bool inside = true;
    for (size_t d = 0; d < to.size(); ++d) {
      inside &= at[d] < from[d];
      flat = flat * from[d] + at[d];
    }
    if (inside) out[i] = x[flat];
  }
  return out;
}

enum class Fourier { kForward, kInverse, kFromReal, kToReal };

std::vector<Complex> expected(Fourier kind, const Complex* x, const Sizes& in,
                              const Sizes& full) {
  const auto n = double(count_of(full));
  Sizes half = full;
  half.back() = full.back() / 2 + 1;
  std::vector<Complex> out;
  switch (kind) {
    case Fourier::kForward:
      return transform({x, x + count_of(in)}, in, -1);
    case Fourier::kInverse:
      out = transform({x, x + count_of(in)}, in, 1);
      break;
    case Fourier::kFromReal: {
      const auto all = transform(fitted(x, in, full), full, -1);
      return fitted(all.data(), full, half);
    }
    case Fourier::kToReal: {
      // Outer dimensions first; then the other half of the last one is the conjugate.
      const auto kept = fitted(x, in, half);
      std::vector<Complex> whole(static_cast<size_t>(count_of(full)));
      for (size_t o = 0; o < whole.size(); ++o) {
        const Sizes at = places(static_cast<int64_t>(o), full);
        double sum = 0;
        for (size_t k = 0; k < kept.size(); ++k) {
          const Sizes f = places(static_cast<int64_t>(k), half);
          double turns = 0;
          for (size_t i = 0; i < full.size(); ++i) {
            turns += double(f[i] * at[i] % full[i]) / double(full[i]);
          }
          const bool alone = f.back() == 0 || 2 * f.back() == full.back();
          sum += (alone ? 1 : 2) *
                 (kept[k] * std::polar(1.0, 2 * std::numbers::pi * turns)).real();
        }
        whole[o] = sum;
      }
      out = whole;
      break;
    }
  }
  for (Complex& v : out) v /= n;
  return out;
}

void add_fourier(CaseList& cases, const char* op, Fourier kind, const Sizes& in,
                 const Sizes& full) {
  constexpr int64_t kBatch = 2;
  Shape shape{kBatch};
  for (const int64_t s : in) shape.push_back(s);
  Sizes out_sizes = full;
  if (kind == Fourier::kFromReal) out_sizes.back() = full.back() / 2 + 1;
  Shape out_shape{kBatch};
  for (const int64_t s : out_sizes) out_shape.push_back(s);
  std::vector<In> inputs = {{.shape = shape}};
  if (kind == Fourier::kFromReal || kind == Fourier::kToReal) {
    inputs.push_back({.shape = {static_cast<int64_t>(full.size())},
                      .fixed = std::vector<double>(full.begin(), full.end()),
                      .dtype = DType::kInt32});
  }
  const bool real = kind == Fourier::kFromReal;
  std::string name;
  for (const int64_t s : full) name += (name.empty() ? "" : "x") + std::to_string(s);
  cases.push_back(
      {.op = op,
       .name = name,
       .inputs = inputs,
       .dtypes = real ? std::vector<DType>{DType::kFloat32, DType::kFloat64}
                      : std::vector<DType>{DType::kComplex64, DType::kComplex128},
       .reference =
           [=](const std::vector<Ref>& x, DType) {
             Ref r;
             r.shape = out_shape;
             for (int64_t b = 0; b < kBatch; ++b) {
               const auto part =
                   expected(kind, x[0].values.data() + b * count_of(in), in, full);
               r.values.insert(r.values.end(), part.begin(), part.end());
             }
             return std::vector<Ref>{r};
           },
       .tolerance = 1e-4});
}

}  // namespace

void add_signal_cases(CaseList& cases) {
  for (const int64_t n : {1, 2, 12, 17, 30}) {
    add_fourier(cases, "FFT", Fourier::kForward, {n}, {n});
    add_fourier(cases, "IFFT", Fourier::kInverse, {n}, {n});
  }
  for (const int64_t n : {7, 8, 5, 12, 19}) {
    add_fourier(cases, "RFFT", Fourier::kFromReal, {8}, {n});
    add_fourier(cases, "IRFFT", Fourier::kToReal, {5}, {n});
  }
  add_fourier(cases, "FFT2D", Fourier::kForward, {4, 3}, {4, 3});
  add_fourier(cases, "IFFT2D", Fourier::kInverse, {4, 3}, {4, 3});
  add_fourier(cases, "RFFT2D", Fourier::kFromReal, {4, 6}, {4, 6});
  add_fourier(cases, "RFFT2D", Fourier::kFromReal, {4, 6}, {5, 3});
  add_fourier(cases, "IRFFT2D", Fourier::kToReal, {4, 4}, {4, 6});
  add_fourier(cases, "IRFFT2D", Fourier::kToReal, {4, 4}, {3, 7});
  add_fourier(cases, "FFT3D", Fourier::kForward, {2, 3, 4}, {2, 3, 4});
  add_fourier(cases, "IFFT3D", Fourier::kInverse, {2, 3, 4}, {2, 3, 4});
  add_fourier(cases, "RFFT3D", Fourier::kFromReal, {2, 3, 4}, {2, 3, 4});
  add_fourier(cases, "IRFFT3D", Fourier::kToReal, {2, 3, 3}, {2, 3, 4});
}

}  // namespace tandem::testing
