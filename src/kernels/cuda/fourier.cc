// Fourier transforms over the last one to three dimensions through cuFFT: complex64 and
// complex128, float32 and float64 on the real side.
#include <fmt/format.h>

#include "kernels/cuda/cufft.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string fourier_text(bool wide) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", wide ? "double" : "float") +
         std::string(device_text("fourier.cuh"));
}

namespace {

enum class FourierKind { kComplex, kFromReal, kToReal };

/// The layout is known to device/fourier.cuh.
struct FourierSizes {
  int64_t outer = 1, in[3] = {1, 1, 1}, full[3] = {1, 1, 1};
};
struct FourierPlan {
  std::shared_ptr<const FftPlan> plan;  // null where there is nothing to transform
  Function around;                      // fills up, or divides
  FourierSizes sizes;
  bool fills = false;  // the input is not of the transform's size
  size_t complex = 0;  // bytes of a complex number
  int64_t n = 0;       // elements of the whole array, all of them complex or real
  double scale = 1;    // of an inverse
  size_t work_at = 0;  // in the workspace, behind what is made there
  size_t workspace_bytes = 0;
};

cufftType fft_type(FourierKind kind, bool wide) {
  switch (kind) {
    case FourierKind::kFromReal:
      return wide ? CUFFT_D2Z : CUFFT_R2C;
    case FourierKind::kToReal:
      return wide ? CUFFT_Z2D : CUFFT_C2R;
    case FourierKind::kComplex:
      break;
  }
  return wide ? CUFFT_Z2Z : CUFFT_C2C;
}

template <FourierKind kKind, int kDims, bool kInverse>
FourierPlan prepare_fourier(const Signature& s) {
  const Shape& in = s.in(0).shape;
  const int rank = in.rank();
  FourierPlan p;
  for (int i = 0; i < rank - kDims; ++i) p.sizes.outer *= in[i];
  FftPlan::Sizes sizes{.rank = kDims, .batch = p.sizes.outer};
  int64_t count = 1;
  for (int i = 0; i < kDims; ++i) {
    const int64_t given = in[rank - kDims + i];
    const int64_t n =
        kKind == FourierKind::kComplex ? given : s.in(1).value[static_cast<size_t>(i)];
    p.sizes.in[3 - kDims + i] = given;
    p.sizes.full[3 - kDims + i] = n;
    p.fills |= given != n;
    sizes.n[i] = n;
    count *= n;
  }
  p.n = p.sizes.outer * count;
  if (p.n == 0) return p;
  const DType dtype = s.in(0).dtype;
  const bool wide = dtype == DType::kComplex128 || dtype == DType::kFloat64;
  p.complex = wide ? 16 : 8;
  if (kInverse) p.scale = 1 / static_cast<double>(count);
  gpu_of(s).activate();
  p.plan = std::make_shared<const FftPlan>(fft_type(kKind, wide), sizes);
  p.around = find_function(s.device, s.op->name, fourier_text(wide),
                           kKind == FourierKind::kFromReal ? "fill_up"
                           : kKind == FourierKind::kToReal ? "half_spectrum"
                                                           : "divide");
  if (kKind == FourierKind::kFromReal)
    p.work_at = static_cast<size_t>(p.n) * p.complex / 2;
  if (kKind == FourierKind::kToReal) {
    p.work_at = static_cast<size_t>(p.n / p.sizes.full[2] * (p.sizes.full[2] / 2 + 1)) *
                p.complex;
  }
  p.work_at = (p.work_at + 255) / 256 * 256;
  p.workspace_bytes = p.work_at + p.plan->work_bytes();
  return p;
}

void* work_of(const FourierPlan& p, const LaunchArgs& a) {
  return static_cast<std::byte*>(a.workspace) + p.work_at;
}

template <bool kInverse>
void launch_complex(const FourierPlan& p, const LaunchArgs& a) {
  if (!p.plan) return;
  p.plan->run(a.stream->native, a.inputs[0], a.outputs[0], work_of(p, a),
              kInverse ? CUFFT_INVERSE : CUFFT_FORWARD);
  if (kInverse) {
    launch(p.around, *a.stream, grid_for(p.around, 2 * p.n), a.outputs[0], 2 * p.n,
           p.scale);
  }
}
void launch_from_real(const FourierPlan& p, const LaunchArgs& a) {
  if (!p.plan) return;
  const void* from = a.inputs[0];
  // cuFFT reads pairs: a part of a tensor may begin in the middle of one.
  if (p.fills || reinterpret_cast<uintptr_t>(from) % p.complex != 0) {
    launch(p.around, *a.stream, grid_for(p.around, p.n), from, a.workspace, p.sizes);
    from = a.workspace;
  }
  p.plan->run(a.stream->native, from, a.outputs[0], work_of(p, a), CUFFT_FORWARD);
}
// The transform overwrites what it reads, so it always reads from the workspace.
void launch_to_real(const FourierPlan& p, const LaunchArgs& a) {
  if (!p.plan) return;
  launch(p.around, *a.stream, grid_for(p.around, p.n), a.inputs[0], a.workspace, p.sizes,
         p.scale);
  p.plan->run(a.stream->native, a.workspace, a.outputs[0], work_of(p, a), CUFFT_INVERSE);
}

bool has_library(const Signature&) { return cufft() != nullptr; }

template <int kDims>
void add_transforms(Kernels& kernels, const std::string& dims) {
  constexpr DTypeMask kReal = mask(DType::kFloat32, DType::kFloat64);
  const auto add = [&](const std::string& op, Kernel kernel) {
    kernel.op = op;
    kernel.id = "cuda." + op;
    kernels.add(std::move(kernel));
  };
  add("FFT" + dims, make_kernel<prepare_fourier<FourierKind::kComplex, kDims, false>,
                                launch_complex<false>>("", "", kComplexes, has_library));
  add("IFFT" + dims, make_kernel<prepare_fourier<FourierKind::kComplex, kDims, true>,
                                 launch_complex<true>>("", "", kComplexes, has_library));
  add("RFFT" + dims, make_kernel<prepare_fourier<FourierKind::kFromReal, kDims, false>,
                                 launch_from_real>("", "", kReal, has_library));
  add("IRFFT" + dims,
      make_kernel<prepare_fourier<FourierKind::kToReal, kDims, true>, launch_to_real>(
          "", "", kComplexes, has_library));
}

}  // namespace

void register_fourier(Kernels& kernels) {
  add_transforms<1>(kernels, "");
  add_transforms<2>(kernels, "2D");
  add_transforms<3>(kernels, "3D");
}

}  // namespace tandem::cuda
