// Cases of CTC. References enumerate every path of classes through time.
#include <algorithm>
#include <cmath>
#include <map>

#include "ops/nn_cases.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::testing {

namespace {

using Labels = std::vector<int64_t>;

constexpr int64_t kTime = 4, kExamples = 3, kClasses = 3;

/// Visits all paths of `steps` classes of one example with their probability.
template <class Visit>
void each_path(const Ref& logits, int64_t example, int64_t steps, Visit visit) {
  std::vector<double> p(static_cast<size_t>(steps * kClasses));
  for (int64_t t = 0; t < steps; ++t) {
    double sum = 0;
    for (int64_t k = 0; k < kClasses; ++k) {
      p[t * kClasses + k] = std::exp(logits.re((t * kExamples + example) * kClasses + k));
      sum += p[t * kClasses + k];
    }
    for (int64_t k = 0; k < kClasses; ++k) p[t * kClasses + k] /= sum;
  }
  const auto count = static_cast<int64_t>(std::pow(kClasses, steps) + 0.5);
  for (int64_t code = 0; code < count; ++code) {
    Labels path;
    double product = 1;
    for (int64_t t = 0, rest = code; t < steps; ++t, rest /= kClasses) {
      path.push_back(rest % kClasses);
      product *= p[t * kClasses + path.back()];
    }
    visit(path, product);
  }
}

Labels collapse(const Labels& path, int64_t blank, bool merge = true) {
  Labels out;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] == blank || (merge && t > 0 && path[t] == path[t - 1])) continue;
    out.push_back(path[t]);
  }
  return out;
}

const In kLogits{.shape = {kTime, kExamples, kClasses}};
const In kSteps = ints({kExamples}, {4, 3, 2});

std::vector<Ref> loss_reference(const std::vector<Ref>& in, int64_t blank) {
  Ref loss = zeros_of({kExamples}), grad = zeros_of(in[0].shape);
  const int64_t width = in[1].shape[1];
  for (int64_t b = 0; b < kExamples; ++b) {
    Labels wanted;
    for (int64_t i = 0; i < static_cast<int64_t>(in[3].re(b)); ++i) {
      wanted.push_back(static_cast<int64_t>(in[1].re(b * width + i)));
    }
    const auto steps = static_cast<int64_t>(in[2].re(b));
    double total = 0;
    std::vector<double> used(kTime * kClasses), all(kTime * kClasses);
    each_path(in[0], b, steps, [&](const Labels& path, double p) {
      const bool fits = collapse(path, blank) == wanted;
      if (fits) total += p;
      for (int64_t t = 0; t < steps; ++t) {
        all[t * kClasses + path[t]] += p;
        if (fits) used[t * kClasses + path[t]] += p;
      }
    });
    loss.re(b) = -std::log(total);
    if (total == 0) continue;
    for (int64_t e = 0; e < kTime * kClasses; ++e) {
      grad.re((e / kClasses * kExamples + b) * kClasses + e % kClasses) =
          all[e] - used[e] / total;
    }
  }
  return {loss, grad};
}

void add_loss(CaseList& cases) {
  struct Form {
    const char* name;
    int64_t blank;
    std::vector<double> labels, lengths;
  };
  // Repetitions, no labels, more labels than steps (an infinite loss, no gradient).
  for (const Form& f : {Form{"blank first", 0, {1, 2, 2, 0, 1, 1}, {2, 1, 2}},
                        Form{"blank last", -1, {0, 0, 1, 0, 0, 0}, {2, 2, 0}},
                        Form{"blank between", 1, {0, 2, 2, 2, 2, 0}, {2, 2, 2}}}) {
    const int64_t blank = f.blank < 0 ? f.blank + kClasses : f.blank;
    cases.push_back({.op = "CTCLossDense",
                     .name = f.name,
                     .inputs = {kLogits, ints({kExamples, 2}, f.labels), kSteps,
                                ints({kExamples}, f.lengths)},
                     .attrs = Attrs(attrs_ref(nn::CtcAttrs{f.blank})),
                     .reference = [blank](const std::vector<Ref>& in,
                                          DType) { return loss_reference(in, blank); },
                     // The second output, which is the gradient, is compared above.
                     .check_gradient = false});
  }
}

void write_labels(Ref& out, int64_t at, const Labels& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    out.re(at * kTime + static_cast<int64_t>(i)) = static_cast<double>(labels[i]);
  }
}
Ref nothing(const Shape& shape) {
  Ref out = zeros_of(shape);
  for (auto& v : out.values) v = -1;
  return out;
}

void add_decoders(CaseList& cases) {
  for (const bool merge : {true, false}) {
    cases.push_back({.op = "CTCGreedyDecode",
                     .name = merge ? "merged" : "repeated",
                     .inputs = {kLogits, kSteps},
                     .attrs = Attrs(attrs_ref(nn::CtcGreedyAttrs{merge, 0})),
                     .reference = [merge](const std::vector<Ref>& in, DType) {
                       Ref out = nothing({1, kExamples, kTime}),
                           score = zeros_of({kExamples, 1});
                       for (int64_t b = 0; b < kExamples; ++b) {
                         Labels path;
                         for (int64_t t = 0; t < in[1].re(b); ++t) {
                           const int64_t row = (t * kExamples + b) * kClasses;
                           int64_t best = 0;
                           for (int64_t k = 1; k < kClasses; ++k) {
                             if (in[0].re(row + k) > in[0].re(row + best)) best = k;
                           }
                           path.push_back(best);
                           score.re(b) -= in[0].re(row + best);
                         }
                         write_labels(out, b, collapse(path, 0, merge));
                       }
                       return std::vector<Ref>{out, score};
                     }});
  }
  // Wide enough for all prefixes: the search is exact. The last example has fewer
  // sequences than a wider search would ask for.
  cases.push_back({.op = "CTCBeamDecode",
                   .inputs = {kLogits, kSteps},
                   .attrs = Attrs(attrs_ref(nn::CtcBeamAttrs{64, 3})),
                   .reference = [](const std::vector<Ref>& in, DType) {
                     Ref out = nothing({3, kExamples, kTime}),
                         score = zeros_of({kExamples, 3});
                     for (int64_t b = 0; b < kExamples; ++b) {
                       std::map<Labels, double> found;
                       each_path(in[0], b, static_cast<int64_t>(in[1].re(b)),
                                 [&](const Labels& path, double p) {
                                   found[collapse(path, kClasses - 1)] += p;
                                 });
                       std::vector<std::pair<double, Labels>> order;
                       for (const auto& [labels, p] : found)
                         order.push_back({-p, labels});
                       std::sort(order.begin(), order.end());
                       for (int64_t k = 0; k < 3; ++k) {
                         const auto& [p, labels] = order[static_cast<size_t>(k)];
                         write_labels(out, k * kExamples + b, labels);
                         score.re(b * 3 + k) = std::log(-p);
                       }
                     }
                     return std::vector<Ref>{out, score};
                   }});
}

}  // namespace

void add_nn_ctc_cases(CaseList& cases) {
  add_loss(cases);
  add_decoders(cases);
}

}  // namespace tandem::testing
