// Cases of batch and layer normalisation.
#include <cmath>
#include <random>

#include "ops/fused_norms.h"
#include "ops/nn_cases.h"
#include "tandem/ops/nn_norm.h"

namespace tandem::testing {

namespace {

struct RowMoments {
  double mean, r;
};
RowMoments row_moments(const Ref& x, int64_t row, int64_t n, double epsilon) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += x.re(row * n + i) / double(n);
  for (int64_t i = 0; i < n; ++i) {
    variance += std::pow(x.re(row * n + i) - mean, 2) / double(n);
  }
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

void add_layer_norm(CaseList& cases) {
  const double epsilon = 1e-3;
  struct Form {
    const char* name;
    Shape x, row;
    Ints axis;
    bool gamma, beta;
  };
  for (const Form& f : {Form{"last", {3, 2, 19}, {19}, {-1}, true, true},
                        Form{"two axes", {3, 4, 5}, {4, 5}, {1, 2}, true, true},
                        Form{"no gamma", {4, 6}, {6}, {-1}, false, true},
                        Form{"no beta", {4, 6}, {6}, {-1}, true, false},
                        Form{"plain", {4, 6}, {6}, {1}, false, false},
                        Form{"empty", {0, 6}, {6}, {-1}, true, true}}) {
    const int64_t n = f.row.num_elements(), rows = f.x.num_elements() / n;
    const bool gamma = f.gamma, beta = f.beta;
    const Attrs attrs(attrs_ref(nn::LayerNormAttrs{f.axis, epsilon}));
    cases.push_back({.op = "LayerNorm",
                     .name = f.name,
                     .inputs = {{.shape = f.x},
                                {.shape = f.row, .absent = !gamma},
                                {.shape = f.row, .absent = !beta}},
                     .attrs = attrs,
                     .dtypes = kFloatTypes,
                     .reference = [=](const std::vector<Ref>& in, DType) {
                       Ref y = in[0];
                       for (int64_t k = 0; k < rows; ++k) {
                         const RowMoments m = row_moments(in[0], k, n, epsilon);
                         for (int64_t i = 0; i < n; ++i) {
                           y.re(k * n + i) = (in[0].re(k * n + i) - m.mean) * m.r *
                                                 (gamma ? in[1].re(i) : 1) +
                                             (beta ? in[2].re(i) : 0);
                         }
                       }
                       return std::vector<Ref>{y};
                     }});
    cases.push_back(
        {.op = "LayerNormGrad",
         .name = f.name,
         .inputs = {{.shape = f.x}, {.shape = f.x}, {.shape = f.row, .absent = !gamma}},
         .attrs = attrs,
         .dtypes = kFloatTypes,
         .reference = [row = f.row, n, rows, gamma, epsilon](const std::vector<Ref>& in,
                                                             DType) {
           Ref dx = zeros_of(in[1].shape), dgamma = zeros_of(row), dbeta = zeros_of(row);
           for (int64_t k = 0; k < rows; ++k) {
             const RowMoments m = row_moments(in[1], k, n, epsilon);
             const auto h = [&](int64_t i) {
               return (in[1].re(k * n + i) - m.mean) * m.r;
             };
             const auto w = [&](int64_t i) {
               return in[0].re(k * n + i) * (gamma ? in[2].re(i) : 1);
             };
             double sum = 0, dot = 0;
             for (int64_t i = 0; i < n; ++i) {
               sum += w(i) / double(n);
               dot += w(i) * h(i) / double(n);
               dgamma.re(i) += in[0].re(k * n + i) * h(i);
               dbeta.re(i) += in[0].re(k * n + i);
             }
             for (int64_t i = 0; i < n; ++i) {
               dx.re(k * n + i) = m.r * (w(i) - sum - h(i) * dot);
             }
           }
           return std::vector<Ref>{dx, dgamma, dbeta};
         }});
  }
}

/// Visits a tensor channel by channel.
struct Channels {
  int64_t outer, c, inner;
  int64_t count() const { return outer * inner; }
  template <class Visit>
  void visit(int64_t channel, Visit body) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) body((o * c + channel) * inner + i);
    }
  }
};
Channels channels_of(const Shape& s, bool first) {
  const int axis = first ? 1 : s.rank() - 1;
  return {s.slice(0, axis).num_elements(), s[axis],
          s.slice(axis + 1, s.rank()).num_elements()};
}

std::vector<Ref> batch_norm(const std::vector<Ref>& in,
                            const nn::FusedBatchNormAttrs& a) {
  const Channels ch = channels_of(in[0].shape, channels_first(a.data_format));
  Ref y = in[0], mean = zeros_of({ch.c}), variance = zeros_of({ch.c}),
      out_mean = zeros_of({ch.c}), out_variance = zeros_of({ch.c});
  const double n = static_cast<double>(ch.count());
  for (int64_t k = 0; k < ch.c; ++k) {
    if (a.is_training) {
      ch.visit(k, [&](int64_t e) { mean.re(k) += in[0].re(e) / n; });
      ch.visit(k, [&](int64_t e) {
        variance.re(k) += std::pow(in[0].re(e) - mean.re(k), 2) / n;
      });
      const double f = a.exponential_avg_factor, unbiased = variance.re(k) * n / (n - 1);
      out_mean.re(k) = f == 1 ? mean.re(k) : (1 - f) * in[3].re(k) + f * mean.re(k);
      out_variance.re(k) = f == 1 ? unbiased : (1 - f) * in[4].re(k) + f * unbiased;
    } else {
      mean.re(k) = out_mean.re(k) = in[3].re(k);
      variance.re(k) = out_variance.re(k) = in[4].re(k);
    }
    const double r = 1 / std::sqrt(variance.re(k) + a.epsilon);
    ch.visit(k, [&](int64_t e) {
      y.re(e) = (in[0].re(e) - mean.re(k)) * r * in[1].re(k) + in[2].re(k);
    });
  }
  return {y, out_mean, out_variance, mean, variance, zeros_of({0})};
}

std::vector<Ref> batch_norm_grad(const std::vector<Ref>& in,
                                 const nn::FusedBatchNormAttrs& a) {
  const Channels ch = channels_of(in[1].shape, channels_first(a.data_format));
  Ref dx = in[1], dscale = zeros_of({ch.c}), doffset = zeros_of({ch.c});
  const double n = static_cast<double>(ch.count());
  for (int64_t k = 0; k < ch.c; ++k) {
    const double r = 1 / std::sqrt(in[4].re(k) + a.epsilon);
    const auto h = [&](int64_t e) { return (in[1].re(e) - in[3].re(k)) * r; };
    ch.visit(k, [&](int64_t e) {
      dscale.re(k) += in[0].re(e) * h(e);
      doffset.re(k) += in[0].re(e);
    });
    ch.visit(k, [&](int64_t e) {
      const double centred =
          a.is_training ? in[0].re(e) - doffset.re(k) / n - h(e) * dscale.re(k) / n
                        : in[0].re(e);
      dx.re(e) = in[2].re(k) * r * centred;
    });
  }
  return {dx, dscale, doffset, zeros_of({0}), zeros_of({0})};
}

/// The gradient with relu's. Results of relu that are read are as good as any numbers.
/// Multiples of 1/8 in [-2, 2).
std::vector<double> eighths(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& v : values) v = static_cast<double>(random() % 32) / 8 - 2;
  return values;
}

void add_batch_norm_grad_ends(CaseList& cases) {
  struct Form {
    const char* name;
    Shape x;
    FusedBatchNormGradExAttrs attrs;
    bool half = false;
  };
  const auto first = nn::DataFormat::kNCHW;
  for (const Form& f :
       {Form{"odd", {2, 3, 4, 5}, {.epsilon = 1e-3}},
        Form{"first", {2, 3, 4, 5}, {.epsilon = 1e-3, .data_format = first}},
        Form{"vectors", {3, 3, 5, 8}, {.epsilon = 1e-3}},
        Form{"vectors of several blocks", {700, 24}, {.epsilon = 1e-3}},
        Form{"vectors inference", {67, 8}, {.epsilon = 1e-2, .is_training = false}},
        Form{"empty", {0, 3, 8}, {.epsilon = 1e-3}},
        Form{"half", {4, 5, 3}, {.epsilon = 1e-3}, true},
        Form{"half vectors", {210, 16}, {.epsilon = 1e-3}, true}}) {
    const int64_t c = channels_of(f.x, channels_first(f.attrs.data_format)).c;
    const DType wide = f.half ? DType::kFloat32 : DType::kInvalid;
    for (const bool by_y : {true, false}) {
      for (const int gradients : {0, 1, 2}) {  // kept: 1 of one, 2 of two
        FusedBatchNormGradExAttrs a = f.attrs;
        a.side = gradients > 0;
        const In vector{.shape = {c}, .low = 0.5, .high = 2, .dtype = wide};
        // Away from 0, where the last bit of the normalisation decides.
        const In offset{.shape = {c}, .low = -0.3, .high = 0.3, .dtype = wide};
        std::vector<In> inputs = {{.shape = f.x},
                                  {.shape = f.x},
                                  vector,
                                  offset,
                                  vector,
                                  {.shape = {0}, .dtype = wide},
                                  {.shape = f.x, .absent = !by_y},
                                  offset,
                                  {.shape = f.x, .absent = gradients < 2}};
        inputs[kNormGradOffset].absent = by_y;
        // A GPU rounds the sum of two gradients to their dtype, as the op that it stands
        // for does; the CPU sums up in float32. Of eighths both are exact.
        if (f.half && gradients == 2) {
          inputs[0].fixed = eighths(f.x.num_elements(), 1);
          inputs[kNormGradMore].fixed = eighths(f.x.num_elements(), 2);
        }
        cases.push_back(
            {.op = "FusedBatchNormGradEx",
             .name = std::string(f.name) + (by_y ? " by y" : " by x") +
                     (gradients == 2   ? " of two"
                      : gradients == 1 ? " kept"
                                       : ""),
             .inputs = inputs,
             .attrs = Attrs(attrs_ref(a)),
             .dtypes = f.half ? std::vector<DType>{DType::kFloat16, DType::kBFloat16}
                              : std::vector<DType>{DType::kFloat32, DType::kFloat64},
             .reference =
                 [a, by_y, gradients](const std::vector<Ref>& in, DType) {
                   std::vector<Ref> given = in;
                   const Channels ch =
                       channels_of(in[1].shape, channels_first(a.data_format));
                   for (int64_t k = 0; k < ch.c; ++k) {
                     const double r = 1 / std::sqrt(in[4].re(k) + a.epsilon);
                     ch.visit(k, [&](int64_t e) {
                       const double y =
                           by_y ? in[kNormGradY].re(e)
                                : (in[1].re(e) - in[3].re(k)) * r * in[2].re(k) +
                                      in[kNormGradOffset].re(k);
                       const double sum =
                           in[0].re(e) + (gradients == 2 ? in[kNormGradMore].re(e) : 0);
                       given[0].re(e) = y > 0 ? sum : 0;
                     });
                   }
                   std::vector<Ref> out = batch_norm_grad(given, a.norm());
                   out.push_back(a.side ? given[0] : zeros_of({0}));
                   return out;
                 },
             // Sums of many in float32.
             .tolerance = f.x.num_elements() > 2000 ? 1e-4 : 1e-5,
             .check_gradient = false});
      }
    }
  }
}

void add_batch_norm(CaseList& cases) {
  struct Form {
    const char* name;
    Shape x;
    nn::FusedBatchNormAttrs attrs;
  };
  const auto first = nn::DataFormat::kNCHW;
  for (const Form& f :
       {Form{"training", {2, 3, 4, 5}, {.epsilon = 1e-3}},
        Form{"channels first", {2, 3, 4, 5}, {.epsilon = 1e-3, .data_format = first}},
        Form{"running", {3, 4, 7}, {.epsilon = 1e-3, .exponential_avg_factor = 0.1}},
        // Channels that fill whole vectors; rows that are no multiple of anything.
        Form{"vectors", {3, 3, 5, 8}, {.epsilon = 1e-3}},
        Form{"vectors running",
             {67, 20},
             {.epsilon = 1e-3, .exponential_avg_factor = 0.1}},
        Form{"vectors inference", {2, 3, 4, 8}, {.epsilon = 1e-2, .is_training = false}},
        Form{"inference", {2, 3, 4, 5}, {.epsilon = 1e-2, .is_training = false}},
        Form{"inference first",
             {2, 3, 4, 5},
             {.epsilon = 1e-2, .data_format = first, .is_training = false}}}) {
    const nn::FusedBatchNormAttrs a = f.attrs;
    const int64_t c = channels_of(f.x, channels_first(a.data_format)).c;
    const bool moments = !a.is_training || a.exponential_avg_factor != 1;
    const In positive{.shape = {c}, .low = 0.5, .high = 2};
    // Only y is differentiated, as in TensorFlow; tests/cpu/ops/nn_gradient_test.cc
    // checks that.
    cases.push_back(
        {.op = "FusedBatchNormV3",
         .name = f.name,
         .inputs = {{.shape = f.x},
                    {.shape = {c}},
                    {.shape = {c}},
                    {.shape = {c}, .absent = !moments},
                    {.shape = {c}, .low = 0.5, .high = 2, .absent = !moments}},
         .attrs = Attrs(attrs_ref(a)),
         .reference = [a](const std::vector<Ref>& in,
                          DType) { return batch_norm(in, a); },
         .check_gradient = false});
    for (const bool side : {false, true}) {
      cases.push_back(
          {.op = "FusedBatchNormEx",
           .name = std::string(f.name) + (side ? " with a side" : ""),
           .inputs = {{.shape = f.x},
                      {.shape = {c}},
                      {.shape = {c}},
                      {.shape = {c}, .absent = !moments},
                      {.shape = {c}, .low = 0.5, .high = 2, .absent = !moments},
                      {.shape = f.x, .absent = !side}},
           .attrs = Attrs(attrs_ref(FusedBatchNormExAttrs{
               a.epsilon, a.exponential_avg_factor, a.data_format, a.is_training})),
           .reference =
               [a, side](const std::vector<Ref>& in, DType) {
                 std::vector<Ref> out = batch_norm(in, a);
                 for (int64_t i = 0; i < out[0].n(); ++i) {
                   const auto e = static_cast<size_t>(i);
                   const double v = out[0].re(e) + (side ? in[kNormSide].re(e) : 0);
                   out[0].re(e) = std::max(v, 0.0);
                 }
                 return out;
               },
           .check_gradient = false});
    }
    // The gradient of x counts its moments in, which are inputs of their own here.
    cases.push_back({.op = "FusedBatchNormGradV3",
                     .name = f.name,
                     .inputs = {{.shape = f.x},
                                {.shape = f.x},
                                {.shape = {c}},
                                {.shape = {c}},
                                positive,
                                {.shape = {0}}},
                     .attrs = Attrs(attrs_ref(a)),
                     .reference = [a](const std::vector<Ref>& in,
                                      DType) { return batch_norm_grad(in, a); },
                     .grad_inputs = {0, 2}});
  }
  add_batch_norm_grad_ends(cases);
  // Half-precision inputs keep float32 parameters.
  const nn::FusedBatchNormAttrs a{.epsilon = 1e-3};
  for (const Shape& x : {Shape{4, 5, 3}, Shape{21, 8}}) {
    const int64_t c = x.dim(-1);
    const std::string name = c == 8 ? "half precision vectors" : "half precision";
    const In wide{.shape = {c}, .low = 0.5, .high = 2, .dtype = DType::kFloat32};
    cases.push_back({.op = "FusedBatchNormV3",
                     .name = name,
                     .inputs = {{.shape = x},
                                wide,
                                wide,
                                {.shape = {c}, .dtype = DType::kFloat32, .absent = true},
                                {.shape = {c}, .dtype = DType::kFloat32, .absent = true}},
                     .attrs = Attrs(attrs_ref(a)),
                     .dtypes = {DType::kFloat16, DType::kBFloat16},
                     .reference = [a](const std::vector<Ref>& in,
                                      DType) { return batch_norm(in, a); },
                     .check_gradient = false});
    cases.push_back({.op = "FusedBatchNormGradV3",
                     .name = name,
                     .inputs = {{.shape = x},
                                {.shape = x},
                                wide,
                                wide,
                                wide,
                                {.shape = {0}, .dtype = DType::kFloat32}},
                     .attrs = Attrs(attrs_ref(a)),
                     .dtypes = {DType::kFloat16, DType::kBFloat16},
                     .reference = [a](const std::vector<Ref>& in,
                                      DType) { return batch_norm_grad(in, a); },
                     .check_gradient = false});
  }
}

}  // namespace

void add_nn_norm_cases(CaseList& cases) {
  add_layer_norm(cases);
  add_batch_norm(cases);
}

}  // namespace tandem::testing
