// Sizes and order of a recurrent call; shared by the LSTM and GRU kernels. Tensors over
// the sequence have rows (batch, time) in the order of x; `row` finds them.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "op/kernel.h"
#include "tandem/ops/nn_sequence.h"

namespace tandem::cpu {

struct RecurrentPlan {
  int64_t batch = 0, time = 0, in = 0, units = 0;
  bool time_major = false, backwards = false;
  size_t workspace_bytes = 0;

  int64_t rows() const { return batch * time; }
  int64_t row(int64_t b, int64_t t) const {
    return time_major ? t * batch + b : b * time + t;
  }
  /// Rows between two neighbours in the batch.
  int64_t batch_step() const { return time_major ? 1 : time; }
  /// The time index that step s reads; outputs are in the order of steps.
  int64_t input_time(int64_t s) const { return backwards ? time - 1 - s : s; }
};

inline RecurrentPlan recurrent_plan(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::RecurrentAttrs>();
  const Shape& x = s.in(0).shape;
  RecurrentPlan p;
  p.time_major = attrs.time_major;
  p.backwards = attrs.go_backwards;
  p.batch = x[p.time_major ? 1 : 0];
  p.time = x[p.time_major ? 0 : 1];
  p.in = x[2];
  p.units = s.in(2).shape[0];
  return p;
}

/// Runs body(first, last, alone) over ranges of the batch. The sequences of a large batch
/// are independent of each other, so each thread takes some through all steps (alone: its
/// products run on it); a small batch goes as one range whose products are shared with
/// the team.
template <class Body>
void over_batch(const RecurrentPlan& p, Body body) {
  constexpr int64_t kRows = 8;
  if (p.batch >= 2 * kRows) {
    parallel_for(p.batch, kRows, [&](int64_t b, int64_t e) { body(b, e, true); });
  } else {
    body(0, p.batch, false);
  }
}

/// States before each step: `before[row(b, input_time(s))]` from the outputs, which
/// repeat under a mask.
template <class T>
void states_before(const RecurrentPlan& p, const T* initial, const bool* mask,
                   const T* sequence, T* before) {
  const int64_t u = p.units;
  parallel_for(p.batch, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p.time * u)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const T* state = initial ? initial + b * u : nullptr;
                   for (int64_t s = 0; s < p.time; ++s) {
                     const int64_t row = p.row(b, p.input_time(s));
                     if (state) {
                       std::copy_n(state, u, before + row * u);
                     } else {
                       std::fill_n(before + row * u, u, T(0));
                     }
                     if (!mask || mask[row]) state = sequence + p.row(b, s) * u;
                   }
                 }
               });
}

/// The output of step s: the state, or under a mask the previous output (zeros at the
/// start).
template <class T>
void write_output(const RecurrentPlan& p, int64_t b, int64_t s, const T* state,
                  bool masked, T* sequence) {
  T* to = sequence + p.row(b, s) * p.units;
  if (!masked) {
    std::copy_n(state, p.units, to);
  } else if (s > 0) {
    std::copy_n(sequence + p.row(b, s - 1) * p.units, p.units, to);
  } else {
    std::fill_n(to, p.units, T(0));
  }
}

template <class T>
void copy_or_zero(const T* from, T* to, int64_t n) {
  if (from) {
    std::copy_n(from, n, to);
  } else {
    std::fill_n(to, n, T(0));
  }
}

}  // namespace tandem::cpu
