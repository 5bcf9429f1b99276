// Convolutions in float64, which oneDNN does not have: blocks of output positions are
// unrolled into matrices of patches (im2col) and multiplied by OpenBLAS, one block per
// thread at a time.
#include <algorithm>
#include <cstring>

#include <cblas.h>

#include "base/parallel.h"
#include "kernels/cpu/nn_conv_problem.h"
#include "kernels/cpu/nn_register.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kConvBlock = 128;  // output positions of one product
constexpr int kMaxConvParts = 64;

struct GemmConv {
  nn::ConvShape c;
  ConvDirection direction = ConvDirection::kForward;
  int input = 0, filter = 0, output = 0;
  bool empty = false;
  int64_t result_elements = 0;
  // Element strides of activations: position and channel.
  int64_t in_position = 0, in_channel = 0, out_position = 0, out_channel = 0;
  int64_t k = 0;      // taps * input channels of a group: rows of the filter matrix
  int64_t parts = 1;  // independent pieces of work
  int64_t part_doubles = 0;
  size_t workspace_bytes = 0;
};

GemmConv prepare_gemm(const Signature& s) {
  const ConvProblem p = conv_problem(s);
  GemmConv g;
  g.c = p.shape;
  g.direction = p.direction;
  g.input = p.input;
  g.filter = p.filter;
  g.output = p.output;
  g.empty = p.empty();
  g.result_elements = p.result_elements;
  if (g.empty) return g;
  // Two spatial dimensions become three with a leading one of size 1.
  if (g.c.spatial == 2) {
    g.c.dims[2] = g.c.dims[1];
    g.c.dims[1] = g.c.dims[0];
    g.c.dims[0] = nn::WindowDim{.in = 1, .out = 1};
    g.c.spatial = 3;
  }
  const bool first = g.c.channels_first;
  g.in_position = first ? 1 : g.c.in_channels;
  g.in_channel = first ? g.c.in_positions() : 1;
  g.out_position = first ? 1 : g.c.out_channels;
  g.out_channel = first ? g.c.out_positions() : 1;
  g.k = g.c.taps() * g.c.in_per_group();
  g.part_doubles = kConvBlock * (g.k + g.c.out_per_group());
  const int64_t blocks = (g.c.out_positions() + kConvBlock - 1) / kConvBlock;
  switch (g.direction) {
    case ConvDirection::kForward:  // any block of any image
      g.parts = g.c.batch * g.c.groups * blocks;
      break;
    case ConvDirection::kByInput:  // blocks of one image add into the same input
      g.parts = g.c.batch * g.c.groups;
      break;
    case ConvDirection::kByFilter:  // each tap has its own rows of the filter's gradient
      g.parts = g.c.taps() * g.c.groups;
      break;
  }
  const int64_t buffers = std::min<int64_t>(g.parts, kMaxConvParts);
  g.workspace_bytes = static_cast<size_t>(buffers * g.part_doubles) * sizeof(double);
  return g;
}

/// Calls body(tap, row, input position) for the taps of output position `at` that meet
/// the input.
template <class Body>
void for_each_tap(const nn::ConvShape& c, int64_t at, Body body) {
  const nn::WindowDim &z = c.dims[0], &y = c.dims[1], &x = c.dims[2];
  const int64_t ox = at % x.out, oy = at / x.out % y.out, oz = at / (x.out * y.out);
  int64_t tap = 0;
  for (int64_t tz = 0; tz < z.size; ++tz) {
    const int64_t iz = oz * z.stride - z.before + tz * z.dilation;
    for (int64_t ty = 0; ty < y.size; ++ty) {
      const int64_t iy = oy * y.stride - y.before + ty * y.dilation;
      for (int64_t tx = 0; tx < x.size; ++tx, ++tap) {
        const int64_t ix = ox * x.stride - x.before + tx * x.dilation;
        const bool inside =
            iz >= 0 && iz < z.in && iy >= 0 && iy < y.in && ix >= 0 && ix < x.in;
        body(tap, inside ? (iz * y.in + iy) * x.in + ix : -1);
      }
    }
  }
}

// Patches of positions [from, to): rows of (tap, channel).
void gather_patches(const GemmConv& g, const double* image, int64_t from, int64_t to,
                    double* patches) {
  const int64_t n = g.c.in_per_group();
  for (int64_t at = from; at < to; ++at, patches += g.k) {
    for_each_tap(g.c, at, [&](int64_t tap, int64_t position) {
      double* row = patches + tap * n;
      if (position < 0) {
        std::fill_n(row, n, 0.0);
        return;
      }
      const double* pixel = image + position * g.in_position;
      for (int64_t i = 0; i < n; ++i) row[i] = pixel[i * g.in_channel];
    });
  }
}

void add_patches(const GemmConv& g, const double* patches, int64_t from, int64_t to,
                 double* image) {
  const int64_t n = g.c.in_per_group();
  for (int64_t at = from; at < to; ++at, patches += g.k) {
    for_each_tap(g.c, at, [&](int64_t tap, int64_t position) {
      if (position < 0) return;
      double* pixel = image + position * g.in_position;
      for (int64_t i = 0; i < n; ++i) pixel[i * g.in_channel] += patches[tap * n + i];
    });
  }
}

// Rows [from, to) of a group's outputs to or from a packed matrix.
void load_outputs(const GemmConv& g, const double* image, int64_t from, int64_t to,
                  double* rows) {
  const int64_t n = g.c.out_per_group();
  for (int64_t at = from; at < to; ++at, rows += n) {
    const double* pixel = image + at * g.out_position;
    for (int64_t i = 0; i < n; ++i) rows[i] = pixel[i * g.out_channel];
  }
}
void store_outputs(const GemmConv& g, const double* rows, int64_t from, int64_t to,
                   double* image) {
  const int64_t n = g.c.out_per_group();
  for (int64_t at = from; at < to; ++at, rows += n) {
    double* pixel = image + at * g.out_position;
    for (int64_t i = 0; i < n; ++i) pixel[i * g.out_channel] = rows[i];
  }
}

void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
              const double* a, int64_t lda, const double* b, int64_t ldb, double beta,
              double* c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0, a, static_cast<int>(lda), b,
              static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}

struct Offsets {
  int64_t input, output, filter;
};
Offsets offsets(const GemmConv& g, int64_t image, int64_t group) {
  return {image * g.c.in_positions() * g.c.in_channels +
              group * g.c.in_per_group() * g.in_channel,
          image * g.c.out_positions() * g.c.out_channels +
              group * g.c.out_per_group() * g.out_channel,
          group * g.c.out_per_group()};
}

void forward_part(const GemmConv& g, const LaunchArgs& a, int64_t part, double* buffer) {
  const int64_t blocks = (g.c.out_positions() + kConvBlock - 1) / kConvBlock;
  const int64_t block = part % blocks, unit = part / blocks;
  const Offsets at = offsets(g, unit / g.c.groups, unit % g.c.groups);
  const int64_t from = block * kConvBlock,
                to = std::min(from + kConvBlock, g.c.out_positions());
  double* rows = buffer + kConvBlock * g.k;
  const int64_t n = g.c.out_per_group();
  gather_patches(g, a.in<double>(g.input) + at.input, from, to, buffer);
  multiply(CblasNoTrans, CblasNoTrans, to - from, n, g.k, buffer, g.k,
           a.in<double>(g.filter) + at.filter, g.c.out_channels, 0.0, rows, n);
  store_outputs(g, rows, from, to, a.out<double>() + at.output);
}

void by_input_part(const GemmConv& g, const LaunchArgs& a, int64_t part, double* buffer) {
  const Offsets at = offsets(g, part / g.c.groups, part % g.c.groups);
  double* rows = buffer + kConvBlock * g.k;
  double* image = a.out<double>() + at.input;
  const int64_t n = g.c.out_per_group(), channels = g.c.in_per_group();
  for (int64_t i = 0; i < g.c.in_positions(); ++i) {
    for (int64_t j = 0; j < channels; ++j)
      image[i * g.in_position + j * g.in_channel] = 0;
  }
  for (int64_t from = 0; from < g.c.out_positions(); from += kConvBlock) {
    const int64_t to = std::min(from + kConvBlock, g.c.out_positions());
    load_outputs(g, a.in<double>(g.output) + at.output, from, to, rows);
    multiply(CblasNoTrans, CblasTrans, to - from, g.k, n, rows, n,
             a.in<double>(g.filter) + at.filter, g.c.out_channels, 0.0, buffer, g.k);
    add_patches(g, buffer, from, to, image);
  }
}

void by_filter_part(const GemmConv& g, const LaunchArgs& a, int64_t part,
                    double* buffer) {
  const int64_t wanted = part / g.c.groups, group = part % g.c.groups;
  const int64_t channels = g.c.in_per_group(), n = g.c.out_per_group();
  double* rows = buffer + kConvBlock * g.k;
  double* result = a.out<double>() + wanted * channels * g.c.out_channels + group * n;
  double beta = 0;
  for (int64_t image = 0; image < g.c.batch; ++image) {
    const Offsets at = offsets(g, image, group);
    const double* pixels = a.in<double>(g.input) + at.input;
    for (int64_t from = 0; from < g.c.out_positions(); from += kConvBlock) {
      const int64_t to = std::min(from + kConvBlock, g.c.out_positions());
      for (int64_t p = from; p < to; ++p) {
        double* row = buffer + (p - from) * channels;
        for_each_tap(g.c, p, [&](int64_t tap, int64_t position) {
          if (tap != wanted) return;
          for (int64_t i = 0; i < channels; ++i) {
            row[i] =
                position < 0 ? 0.0 : pixels[position * g.in_position + i * g.in_channel];
          }
        });
      }
      load_outputs(g, a.in<double>(g.output) + at.output, from, to, rows);
      multiply(CblasTrans, CblasNoTrans, channels, n, to - from, buffer, channels, rows,
               n, beta, result, g.c.out_channels);
      beta = 1;
    }
  }
}

void launch_gemm_conv(const GemmConv& g, const LaunchArgs& a) {
  if (g.empty) {
    std::fill_n(a.out<double>(), g.result_elements, 0.0);
    return;
  }
  auto* workspace = static_cast<double*>(a.workspace);
  parallel_parts(g.parts, 1, kMaxConvParts, [&](int buffer, int64_t begin, int64_t end) {
    double* mine = workspace + buffer * g.part_doubles;
    for (int64_t part = begin; part < end; ++part) {
      switch (g.direction) {
        case ConvDirection::kForward:
          forward_part(g, a, part, mine);
          break;
        case ConvDirection::kByInput:
          by_input_part(g, a, part, mine);
          break;
        case ConvDirection::kByFilter:
          by_filter_part(g, a, part, mine);
          break;
      }
    }
  });
}

}  // namespace

void register_nn_conv_gemm_kernels(KernelRegistry& registry) {
  for (const auto direction :
       {ConvDirection::kForward, ConvDirection::kByInput, ConvDirection::kByFilter}) {
    for (const char* op : conv_ops(direction)) {
      registry.add(make_kernel<prepare_gemm, launch_gemm_conv>(
          op, std::string("cpu.") + op + ".gemm", mask(DType::kFloat64)));
    }
  }
}

}  // namespace tandem::cpu
