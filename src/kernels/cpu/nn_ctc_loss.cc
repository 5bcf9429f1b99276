// The CTC loss and its gradient, float32 and float64, computed in float64: sums of
// probabilities of all alignments, forwards and backwards, in logarithms.
#include "base/parallel.h"
#include "kernels/cpu/nn_ctc.h"
#include "kernels/cpu/nn_register.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::cpu {

namespace {

struct CtcLossPlan {
  CtcSizes sizes;
  int64_t width = 0;    // of the padded labels
  int64_t states = 0;   // labels with a blank around each
  int64_t doubles = 0;  // of scratch per example
  size_t workspace_bytes = 0;
};

CtcLossPlan prepare_ctc_loss(const Signature& s) {
  CtcLossPlan p{.sizes = ctc_sizes(s, s.attrs.as<nn::CtcAttrs>().blank_index)};
  p.width = s.in(1).shape[1];
  p.states = 2 * p.width + 1;
  // Log-probabilities of all steps, forward sums of all steps, two rows of backward sums.
  p.doubles = p.sizes.time * (p.sizes.classes + p.states) + 2 * p.states;
  p.workspace_bytes = static_cast<size_t>(p.sizes.batch * p.doubles) * sizeof(double);
  return p;
}

// One example: its labels with blanks between them are states 0, 1, 2, …
struct Example {
  const int32_t* labels;
  int64_t blank, states, steps;
  int64_t label(int64_t state) const { return state % 2 ? labels[state / 2] : blank; }
  // A label may follow the one before without a blank when they differ.
  bool may_skip(int64_t state) const {
    return state > 1 && state % 2 && labels[state / 2] != labels[state / 2 - 1];
  }
};

// forward[t][s]: log of the sum over alignments of steps 0…t that end in state s.
void sum_forwards(const Example& e, const double* logp, int64_t classes, double* forward,
                  int64_t stride) {
  std::fill_n(forward, e.states, kNever);
  forward[0] = logp[e.blank];
  if (e.states > 1) forward[1] = logp[e.label(1)];
  for (int64_t t = 1; t < e.steps; ++t) {
    const double *before = forward + (t - 1) * stride, *row = logp + t * classes;
    double* now = forward + t * stride;
    for (int64_t s = 0; s < e.states; ++s) {
      double sum = before[s];
      if (s > 0) sum = log_add(sum, before[s - 1]);
      if (e.may_skip(s)) sum = log_add(sum, before[s - 2]);
      now[s] = sum + row[e.label(s)];
    }
  }
}

// log p of the labels: alignments end in the last label or the blank behind it.
double log_total(const Example& e, const double* last) {
  return e.states > 1 ? log_add(last[e.states - 1], last[e.states - 2]) : last[0];
}

// Walks back through time; `backward` holds sums of what may follow a state, without the
// step itself. Subtracts each class's share of the alignments from its probability.
template <class T>
void subtract_shares(const Example& e, const double* logp, int64_t classes,
                     const double* forward, int64_t stride, double total,
                     double* backward, T* grad, int64_t grad_step) {
  double *now = backward, *next = backward + stride;
  std::fill_n(now, e.states, kNever);
  now[e.states - 1] = 0;
  if (e.states > 1) now[e.states - 2] = 0;
  for (int64_t t = e.steps - 1; t >= 0; --t) {
    T* out = grad + t * grad_step;
    for (int64_t s = 0; s < e.states; ++s) {
      const double share = forward[t * stride + s] + now[s] - total;
      if (share != kNever) out[e.label(s)] -= static_cast<T>(std::exp(share));
    }
    if (t == 0) break;
    std::swap(now, next);
    const double* row = logp + t * classes;
    for (int64_t s = 0; s < e.states; ++s) {
      double sum = next[s] + row[e.label(s)];
      if (s + 1 < e.states) sum = log_add(sum, next[s + 1] + row[e.label(s + 1)]);
      if (s + 2 < e.states && e.may_skip(s + 2)) {
        sum = log_add(sum, next[s + 2] + row[e.label(s + 2)]);
      }
      now[s] = sum;
    }
  }
}

void check_ctc_labels(const CtcLossPlan& p, const int32_t* labels,
                      const int32_t* lengths) {
  for (int64_t b = 0; b < p.sizes.batch; ++b) {
    for (int64_t i = 0; i < lengths[b]; ++i) {
      const int32_t label = labels[b * p.width + i];
      if (label >= 0 && label < p.sizes.classes) continue;
      throw InvalidArgumentError(fmt::format(
          "CTCLossDense: label {} of example {} is {}, which is not in [0, {}).", i, b,
          label, p.sizes.classes));
    }
  }
}

template <class T>
void run_example(const CtcLossPlan& p, const LaunchArgs& a, int64_t b) {
  const CtcSizes& n = p.sizes;
  double* logp = static_cast<double*>(a.workspace) + b * p.doubles;
  double* forward = logp + n.time * n.classes;
  double* backward = forward + n.time * p.states;
  const int64_t step = n.batch * n.classes;
  const T* x = a.in<T>(0) + b * n.classes;
  T* grad = a.out<T>(1) + b * n.classes;
  T& loss = a.out<T>(0)[b];
  const Example e{a.in<int32_t>(1) + b * p.width, n.blank,
                  2 * int64_t{a.in<int32_t>(3)[b]} + 1, a.in<int32_t>(2)[b]};
  for (int64_t t = 0; t < n.time; ++t) std::fill_n(grad + t * step, n.classes, T(0));
  if (e.steps == 0) {
    loss = e.states == 1 ? T(0) : std::numeric_limits<T>::infinity();
    return;
  }
  for (int64_t t = 0; t < e.steps; ++t) {
    log_probabilities(x + t * step, n.classes, logp + t * n.classes);
  }
  sum_forwards(e, logp, n.classes, forward, p.states);
  const double total = log_total(e, forward + (e.steps - 1) * p.states);
  loss = static_cast<T>(-total);
  // No alignment fits: nothing that the logits could do changes the loss.
  if (total == kNever) return;
  for (int64_t t = 0; t < e.steps; ++t) {
    for (int64_t k = 0; k < n.classes; ++k) {
      grad[t * step + k] = static_cast<T>(std::exp(logp[t * n.classes + k]));
    }
  }
  subtract_shares(e, logp, n.classes, forward, p.states, total, backward, grad, step);
}

template <class T>
void launch_ctc_loss(const CtcLossPlan& p, const LaunchArgs& a) {
  check_lengths("CTCLossDense", a.in<int32_t>(2), p.sizes.batch, p.sizes.time,
                "logit_length");
  check_lengths("CTCLossDense", a.in<int32_t>(3), p.sizes.batch, p.width, "label_length");
  check_ctc_labels(p, a.in<int32_t>(1), a.in<int32_t>(3));
  const int64_t work = std::max<int64_t>(1, p.doubles * 20);
  parallel_for(p.sizes.batch, std::max<int64_t>(1, 65536 / work),
               [&](int64_t first, int64_t end) {
                 for (int64_t b = first; b < end; ++b) run_example<T>(p, a, b);
               });
}

}  // namespace

void register_nn_ctc_loss_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_ctc_loss, launch_ctc_loss<float>>(
      "CTCLossDense", "cpu.CTCLossDense.f32", mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_ctc_loss, launch_ctc_loss<double>>(
      "CTCLossDense", "cpu.CTCLossDense.f64", mask(DType::kFloat64)));
}

}  // namespace tandem::cpu
