// Cases of LSTM and GRU. Their gates are not differentiated: gradients are checked in
// tests/cpu/ops/nn_gradient_test.cc, and here the values of the gradient ops against
// differences.
#include <cmath>

#include "ops/nn_cases.h"
#include "tandem/ops/nn_sequence.h"

namespace tandem::testing {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Recurrent {
  int64_t b, t, in, u;
  nn::RecurrentAttrs attrs;
  bool extras = true;  // bias and initial states
  bool mask = false;

  int64_t row(int64_t ib, int64_t it) const {
    return attrs.time_major ? it * b + ib : ib * t + it;
  }
  Shape sequence(int64_t n) const {
    return attrs.time_major ? Shape{t, b, n} : Shape{b, t, n};
  }
  In mask_input() const {
    In m{.shape = attrs.time_major ? Shape{t, b} : Shape{b, t},
         .dtype = DType::kBool,
         .absent = !mask};
    for (int64_t i = 0; i < b * t; ++i) m.fixed.push_back(double(i % 3 != 1));
    return m;
  }
};

// x·W of one row plus h·R, gate by gate.
double pre(const Ref& x, int64_t row, const Ref& w, int64_t column) {
  const int64_t n = w.shape[0], width = w.shape[1];
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x.re(row * n + i) * w.re(i * width + column);
  return sum;
}

std::vector<Ref> lstm(const Recurrent& r, const std::vector<Ref>& in) {
  const int64_t u = r.u;
  Ref sequence = zeros_of(r.sequence(u)), h = zeros_of({r.b, u}), c = zeros_of({r.b, u});
  Ref gates = zeros_of(r.sequence(4 * u)), cells = zeros_of(r.sequence(u));
  if (r.extras) {
    h = in[4];
    c = in[5];
  }
  for (int64_t b = 0; b < r.b; ++b) {
    for (int64_t s = 0; s < r.t; ++s) {
      const int64_t row = r.row(b, r.attrs.go_backwards ? r.t - 1 - s : s);
      std::vector<double> z(static_cast<size_t>(4 * u));
      for (int64_t j = 0; j < 4 * u; ++j) {
        auto& v = z[static_cast<size_t>(j)];
        v = pre(in[0], row, in[1], j) + pre(h, b, in[2], j) +
            (r.extras ? in[3].re(j) : 0);
        gates.re(row * 4 * u + j) = v;
      }
      if (r.mask && in[6].re(row) == 0) {
        for (int64_t j = 0; j < u; ++j) {
          cells.re(row * u + j) = c.re(b * u + j);
          sequence.re(r.row(b, s) * u + j) =
              s > 0 ? sequence.re(r.row(b, s - 1) * u + j) : 0;
        }
        continue;
      }
      for (int64_t j = 0; j < u; ++j) {
        const auto gate = [&](int64_t k) { return z[static_cast<size_t>(k * u + j)]; };
        const double i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = std::tanh(gate(2)),
                     o = sigmoid(gate(3));
        c.re(b * u + j) = f * c.re(b * u + j) + i * g;
        h.re(b * u + j) = o * std::tanh(c.re(b * u + j));
        const double values[4] = {i, f, g, o};
        for (int64_t k = 0; k < 4; ++k) gates.re(row * 4 * u + k * u + j) = values[k];
        cells.re(row * u + j) = c.re(b * u + j);
        sequence.re(r.row(b, s) * u + j) = h.re(b * u + j);
      }
    }
  }
  return {sequence, h, c, gates, cells};
}

std::vector<Ref> gru(const Recurrent& r, const std::vector<Ref>& in) {
  const int64_t u = r.u;
  Ref sequence = zeros_of(r.sequence(u)), h = zeros_of({r.b, u}),
      gates = zeros_of(r.sequence(4 * u));
  if (r.extras) h = in[4];
  for (int64_t b = 0; b < r.b; ++b) {
    for (int64_t s = 0; s < r.t; ++s) {
      const int64_t row = r.row(b, r.attrs.go_backwards ? r.t - 1 - s : s);
      if (r.mask && in[5].re(row) == 0) {
        for (int64_t j = 0; s > 0 && j < u; ++j) {
          sequence.re(r.row(b, s) * u + j) = sequence.re(r.row(b, s - 1) * u + j);
        }
        continue;
      }
      const Ref before = h;
      for (int64_t j = 0; j < u; ++j) {
        const auto x = [&](int64_t k) {
          return pre(in[0], row, in[1], k * u + j) + (r.extras ? in[3].re(k * u + j) : 0);
        };
        const auto inner = [&](int64_t k) {
          return pre(before, b, in[2], k * u + j) +
                 (r.extras ? in[3].re((3 + k) * u + j) : 0);
        };
        const double z = sigmoid(x(0) + inner(0)), reset = sigmoid(x(1) + inner(1));
        const double candidate = std::tanh(x(2) + reset * inner(2));
        h.re(b * u + j) = z * before.re(b * u + j) + (1 - z) * candidate;
        const double values[4] = {z, reset, candidate, inner(2)};
        for (int64_t k = 0; k < 4; ++k) gates.re(row * 4 * u + k * u + j) = values[k];
        sequence.re(r.row(b, s) * u + j) = h.re(b * u + j);
      }
    }
  }
  return {sequence, h, gates};
}

using Layer = std::vector<Ref> (*)(const Recurrent&, const std::vector<Ref>&);

// Inputs of the forward op, with values that repeat from run to run.
std::vector<In> forward_inputs(const Recurrent& r, bool is_lstm) {
  const int64_t gates = is_lstm ? 4 : 3;
  std::vector<In> inputs = {
      {.shape = r.sequence(r.in)},
      {.shape = {r.in, gates * r.u}},
      {.shape = {r.u, gates * r.u}},
      {.shape = is_lstm ? Shape{4 * r.u} : Shape{2, 3 * r.u}, .absent = !r.extras},
      {.shape = {r.b, r.u}, .absent = !r.extras}};
  if (is_lstm) inputs.push_back({.shape = {r.b, r.u}, .absent = !r.extras});
  inputs.push_back(r.mask_input());
  double value = 0;
  for (In& in : inputs) {
    if (in.absent || in.dtype == DType::kBool) continue;
    for (int64_t i = 0; i < in.shape.num_elements(); ++i) {
      value = value > 0.7 ? value - 1.515625 : value + 0.203125;
      in.fixed.push_back(value);
    }
  }
  return inputs;
}

std::vector<Ref> refs_of(const std::vector<In>& inputs) {
  std::vector<Ref> refs;
  for (const In& in : inputs) {
    Ref r = in.absent ? Ref{} : zeros_of(in.shape);
    for (size_t i = 0; i < r.values.size(); ++i) r.re(i) = in.fixed[i];
    refs.push_back(r);
  }
  return refs;
}

// The gradient op's results by differences of the reference: outputs weighted by the
// gradients given.
std::vector<Ref> numeric_grad(const Recurrent& r, Layer layer, std::vector<Ref> inputs,
                              const std::vector<Ref>& out_grads, int wanted,
                              const std::vector<Shape>& shapes) {
  std::vector<Ref> result;
  const auto loss = [&] {
    const std::vector<Ref> out = layer(r, inputs);
    double sum = 0;
    for (size_t k = 0; k < out_grads.size(); ++k) {
      for (int64_t i = 0; i < out[k].n(); ++i) sum += out[k].re(i) * out_grads[k].re(i);
    }
    return sum;
  };
  for (int k = 0; k < wanted; ++k) {
    const auto at = static_cast<size_t>(k);
    Ref g = zeros_of(shapes[at]);
    Ref& x = inputs[at];
    for (size_t i = 0; i < x.values.size(); ++i) {
      const double kept = x.re(i);
      x.re(i) = kept + 1e-6;
      const double up = loss();
      x.re(i) = kept - 1e-6;
      g.re(i) = (up - loss()) / 2e-6;
      x.re(i) = kept;
    }
    result.push_back(g);
  }
  return result;
}

void add_recurrent(CaseList& cases, const std::string& name, const Recurrent& r,
                   bool is_lstm) {
  const Layer layer = is_lstm ? lstm : gru;
  const std::vector<In> fixed = forward_inputs(r, is_lstm);
  std::vector<In> random = fixed;
  for (In& in : random) {
    if (in.dtype != DType::kBool) in.fixed.clear();
    in.low = -0.8;
    in.high = 0.8;
  }
  const Attrs attrs(attrs_ref(r.attrs));
  // Gates under a mask are left over from the product; they are compared where they mean
  // something.
  cases.push_back(
      {.op = is_lstm ? "Lstm" : "Gru",
       .name = name,
       .inputs = random,
       .attrs = attrs,
       .dtypes = kFloatTypes,
       .reference = [=](const std::vector<Ref>& in, DType) { return layer(r, in); },
       .tolerance = 2e-5,
       .check_gradient = false});
  if (!r.extras) return;  // all gradients exist only when all inputs do
  const std::vector<Ref> refs = refs_of(fixed);
  const std::vector<Ref> forward = layer(r, refs);
  std::vector<In> inputs = {fixed[0], fixed[1], fixed[2]};
  for (size_t i = 4; i < fixed.size(); ++i) inputs.push_back(fixed[i]);
  const std::vector<size_t> kept =
      is_lstm ? std::vector<size_t>{0, 3, 4} : std::vector<size_t>{0, 2};
  for (size_t k : kept) {
    In in{.shape = forward[k].shape};
    for (const auto& v : forward[k].values) in.fixed.push_back(v.real());
    inputs.push_back(in);
  }
  const size_t grads = is_lstm ? 3 : 2;
  const size_t first_grad = inputs.size();
  for (size_t k = 0; k < grads; ++k) inputs.push_back({.shape = forward[k].shape});
  std::vector<Shape> shapes;
  for (const In& in : fixed) shapes.push_back(in.shape);
  const int wanted = is_lstm ? 6 : 5;
  cases.push_back({.op = is_lstm ? "LstmGrad" : "GruGrad",
                   .name = name,
                   .inputs = inputs,
                   .attrs = attrs,
                   // Differences are not fine enough for float64.
                   .dtypes = {DType::kFloat32},
                   .reference =
                       [=](const std::vector<Ref>& in, DType) {
                         const std::vector<Ref> out_grads(
                             in.begin() + static_cast<std::ptrdiff_t>(first_grad),
                             in.end());
                         return numeric_grad(r, layer, refs, out_grads, wanted, shapes);
                       },
                   .tolerance = 1e-4,
                   .check_gradient = false});
}

}  // namespace

void add_nn_sequence_cases(CaseList& cases) {
  for (const bool is_lstm : {true, false}) {
    add_recurrent(cases, "plain", {3, 4, 2, 5, {}}, is_lstm);
    add_recurrent(cases, "no extras", {2, 3, 3, 4, {}, false}, is_lstm);
    add_recurrent(cases, "time major", {3, 4, 2, 3, {.time_major = true}}, is_lstm);
    add_recurrent(cases, "backwards", {2, 4, 3, 3, {.go_backwards = true}}, is_lstm);
    add_recurrent(cases, "mask", {3, 5, 2, 3, {.go_backwards = !is_lstm}, true, true},
                  is_lstm);
    add_recurrent(cases, "large batch", {37, 2, 2, 2, {}}, is_lstm);
    add_recurrent(cases, "one of everything", {1, 1, 1, 1, {}}, is_lstm);
    // Forward only: more units than a block of a GPU takes.
    add_recurrent(cases, "many units", {3, 3, 4, 130, {}, false}, is_lstm);
    add_recurrent(cases, "many units, mask", {9, 2, 3, 70, {}, false, true}, is_lstm);
  }
}

}  // namespace tandem::testing
