// Cases of attention. The sums that it returns are not differentiated: gradients are
// checked in tests/cpu/ops/nn_gradient_test.cc, and here the values of the gradient op.
#include <cmath>

#include "ops/nn_attention.h"
#include "ops/nn_cases.h"
#include "tandem/ops/nn_sequence.h"

namespace tandem::testing {

namespace {

struct Attention {
  int64_t b, t, s, n, m, h, v;  // batch, queries, keys, heads, key heads, sizes
  nn::AttentionAttrs attrs;
  Shape mask = {}, bias = {};  // rank 0: none

  Shape shape(int64_t time, int64_t heads, int64_t size) const {
    return attrs.heads_first ? Shape{b, heads, time, size} : Shape{b, time, heads, size};
  }
  int64_t at(int64_t time, int64_t heads, int64_t size, int64_t ib, int64_t it,
             int64_t in, int64_t ih) const {
    return attrs.heads_first ? ((ib * heads + in) * time + it) * size + ih
                             : ((ib * time + it) * heads + in) * size + ih;
  }
  static int64_t broadcast(const Shape& shape, const int64_t (&index)[4]) {
    int64_t at = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      at = at * shape[i] + (shape[i] == 1 ? 0 : index[4 - shape.rank() + i]);
    }
    return at;
  }
  double scale() const {
    return attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(h));
  }
  /// Probabilities of one row, and the logarithm of its sum.
  std::vector<double> row(const std::vector<Ref>& in, int64_t ib, int64_t in_, int64_t it,
                          double* log_sum) const {
    const int64_t kv = in_ / (n / m);
    std::vector<double> score(static_cast<size_t>(s), -INFINITY);
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < s; ++j) {
      const int64_t index[4] = {ib, in_, it, j};
      if (attrs.causal && j > it + s - t) continue;
      if (mask.rank() && in[3].re(broadcast(mask, index)) == 0) continue;
      double dot = 0;
      for (int64_t i = 0; i < h; ++i) {
        dot +=
            in[0].re(at(t, n, h, ib, it, in_, i)) * in[1].re(at(s, m, h, ib, j, kv, i));
      }
      auto& x = score[static_cast<size_t>(j)];
      x = dot * scale() + (bias.rank() ? in[4].re(broadcast(bias, index)) : 0);
      max = std::max(max, x);
    }
    for (double& x : score) sum += x = max == -INFINITY ? 0 : std::exp(x - max);
    for (double& x : score) x = sum > 0 ? x / sum : 0;
    *log_sum = sum > 0 ? max + std::log(sum) : INFINITY;
    return score;
  }
};

std::vector<Ref> attention(const Attention& a, const std::vector<Ref>& in) {
  Ref out = zeros_of(a.shape(a.t, a.n, a.v)), sums = zeros_of({a.b, a.n, a.t});
  for (int64_t b = 0; b < a.b; ++b) {
    for (int64_t n = 0; n < a.n; ++n) {
      for (int64_t t = 0; t < a.t; ++t) {
        const auto p = a.row(in, b, n, t, &sums.re((b * a.n + n) * a.t + t));
        for (int64_t j = 0; j < a.s; ++j) {
          for (int64_t i = 0; i < a.v; ++i) {
            out.re(a.at(a.t, a.n, a.v, b, t, n, i)) +=
                p[static_cast<size_t>(j)] *
                in[2].re(a.at(a.s, a.m, a.v, b, j, n / (a.n / a.m), i));
          }
        }
      }
    }
  }
  return {out, sums};
}

// in: query, key, value, mask, bias, output, sums, gradient of the output
std::vector<Ref> attention_grad(const Attention& a, const std::vector<Ref>& in,
                                bool bias_grad) {
  Ref dq = zeros_of(in[0].shape), dk = zeros_of(in[1].shape), dv = zeros_of(in[2].shape);
  Ref ds = zeros_of(bias_grad ? Shape{a.b, a.n, a.t, a.s} : Shape{0});
  for (int64_t b = 0; b < a.b; ++b) {
    for (int64_t n = 0; n < a.n; ++n) {
      const int64_t kv = n / (a.n / a.m);
      for (int64_t t = 0; t < a.t; ++t) {
        double unused = 0, dot = 0;
        const auto p = a.row(in, b, n, t, &unused);
        std::vector<double> dp(static_cast<size_t>(a.s));
        for (int64_t j = 0; j < a.s; ++j) {
          const auto k = static_cast<size_t>(j);
          for (int64_t i = 0; i < a.v; ++i) {
            const double g = in[7].re(a.at(a.t, a.n, a.v, b, t, n, i));
            const int64_t at = a.at(a.s, a.m, a.v, b, j, kv, i);
            dp[k] += g * in[2].re(at);
            dv.re(at) += p[k] * g;
          }
          dot += p[k] * dp[k];
        }
        for (int64_t j = 0; j < a.s; ++j) {
          const auto k = static_cast<size_t>(j);
          const double d = p[k] * (dp[k] - dot);
          if (bias_grad) ds.re(((b * a.n + n) * a.t + t) * a.s + j) = d;
          for (int64_t i = 0; i < a.h; ++i) {
            const int64_t qi = a.at(a.t, a.n, a.h, b, t, n, i),
                          ki = a.at(a.s, a.m, a.h, b, j, kv, i);
            dq.re(qi) += a.scale() * d * in[1].re(ki);
            dk.re(ki) += a.scale() * d * in[0].re(qi);
          }
        }
      }
    }
  }
  return {dq, dk, dv, ds};
}

void add_attention(CaseList& cases, const std::string& name, const Attention& a,
                   const std::vector<double>& mask_values = {}) {
  const Shape q = a.shape(a.t, a.n, a.h), k = a.shape(a.s, a.m, a.h),
              v = a.shape(a.s, a.m, a.v);
  const In mask{.shape = a.mask,
                .low = 0,
                .high = 2,
                .fixed = mask_values,
                .dtype = DType::kBool,
                .absent = a.mask.rank() == 0};
  const In bias{.shape = a.bias, .absent = a.bias.rank() == 0};
  cases.push_back(
      {.op = "ScaledDotProductAttention",
       .name = name,
       .inputs = {{.shape = q}, {.shape = k}, {.shape = v}, mask, bias},
       .attrs = Attrs(attrs_ref(a.attrs)),
       .dtypes = kFloatTypes,
       .reference = [a](const std::vector<Ref>& in, DType) { return attention(a, in); },
       .check_gradient = false});
  // The gradient needs a true output and true sums: they are computed from fixed inputs.
  std::vector<In> inputs = {{.shape = q}, {.shape = k}, {.shape = v}, mask, bias};
  std::vector<Ref> refs;
  double value = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Ref r = inputs[i].absent ? Ref{} : zeros_of(inputs[i].shape);
    for (size_t e = 0; e < r.values.size(); ++e) {
      value = value > 1.5 ? value - 3.03125 : value + 0.40625;
      r.re(e) =
          i == 3 ? (mask_values.empty() ? double(e % 3 != 0) : mask_values[e]) : value;
    }
    for (const auto& x : r.values) {
      if (i != 3 || mask_values.empty()) inputs[i].fixed.push_back(x.real());
    }
    refs.push_back(r);
  }
  const std::vector<Ref> forward = attention(a, refs);
  for (const Ref& r : forward) {
    In in{.shape = r.shape};
    for (const auto& x : r.values) in.fixed.push_back(x.real());
    inputs.push_back(in);
  }
  inputs.push_back({.shape = forward[0].shape});
  const bool bias_grad = a.bias.rank() > 0;
  cases.push_back(
      {.op = "ScaledDotProductAttentionGrad",
       .name = name,
       .inputs = inputs,
       .attrs = Attrs(attrs_ref(nn::AttentionGradAttrs{a.attrs.scale, a.attrs.causal,
                                                       a.attrs.heads_first, bias_grad})),
       .reference = [a, bias_grad](const std::vector<Ref>& in,
                                   DType) { return attention_grad(a, in, bias_grad); },
       .tolerance = 3e-5,
       .check_gradient = false});
}

}  // namespace

void add_nn_attention_cases(CaseList& cases) {
  add_attention(cases, "plain", {2, 5, 7, 2, 2, 4, 3, {}});
  add_attention(cases, "heads first", {1, 6, 6, 3, 3, 4, 4, {.heads_first = true}});
  add_attention(cases, "causal", {1, 6, 6, 2, 2, 4, 4, {.scale = 0.3, .causal = true}});
  add_attention(cases, "causal, more keys", {1, 3, 8, 1, 1, 4, 4, {.causal = true}});
  add_attention(cases, "grouped", {2, 4, 5, 4, 2, 3, 3, {}});
  add_attention(cases, "mask and bias",
                {2, 3, 5, 2, 2, 4, 4, {}, {2, 1, 3, 5}, {1, 2, 3, 5}});
  add_attention(cases, "nothing allowed", {1, 2, 3, 1, 1, 4, 4, {}, {1, 1, 2, 3}, {}},
                {0, 0, 0, 1, 0, 1});
  add_attention(cases, "many blocks", {1, 70, 300, 1, 1, 4, 4, {}});
  // Several tiles of rows on each side, the last ones not full.
  add_attention(cases, "tiles", {1, 70, 133, 2, 1, 24, 40, {.causal = true}});
  add_attention(
      cases, "tiles, bias",
      {1, 130, 67, 1, 1, 16, 8, {.heads_first = true}, {1, 1, 130, 67}, {130, 67}});
}

}  // namespace tandem::testing
