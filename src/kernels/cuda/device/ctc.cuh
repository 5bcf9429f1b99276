// The CTC loss and its gradient, computed in double as on the CPU: a block of 256 threads
// per example. T (float or double) comes before this text.
constexpr int kThreads = 256;
constexpr double kNever = -kInfinity;

/// The layout is known to ctc.cc.
struct Ctc {
  i64 time, batch, classes, blank, width, states, doubles;
};

/// log(exp(a) + exp(b)).
inline double log_add(double a, double b) {
  if (a < b) {
    const double c = a;
    a = b;
    b = c;
  }
  return b == kNever ? a : a + log1p(exp(b - a));
}

/// One example: its labels with blanks around them are states 0, 1, 2, …
struct Example {
  const i32* labels;
  i64 blank, states, steps;
  i64 label(i64 s) const { return s % 2 ? labels[s / 2] : blank; }
  /// A label may follow the one before without a blank when they differ.
  bool may_skip(i64 s) const {
    return s > 1 && s % 2 && labels[s / 2] != labels[s / 2 - 1];
  }
};

/// Whether the lengths and labels of example b can be used; reports the first that
/// cannot. Codes: 1 a length of logits, 2 of labels, 3 a label.
inline bool usable(const Ctc& p, i64 b, const i32* labels, const i32* steps,
                   const i32* lengths, ReportFlags* flags, i32 site) {
  if (steps[b] < 0 || steps[b] > p.time) {
    if (threadIdx.x == 0) report_bad(flags, 1, site, steps[b], b, p.time);
    return false;
  }
  if (lengths[b] < 0 || lengths[b] > p.width) {
    if (threadIdx.x == 0) report_bad(flags, 2, site, lengths[b], b, p.width);
    return false;
  }
  bool good = true;
  for (i64 i = 0; i < lengths[b]; ++i) {
    const i32 label = labels[b * p.width + i];
    if (label >= 0 && label < p.classes) continue;
    if (threadIdx.x == 0) report_bad(flags, 3, site, label, b * p.width + i, p.classes);
    good = false;
  }
  return good;
}

inline double warp_most(double v) {
  for (int by = 16; by > 0; by /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, v, by);
    v = other > v ? other : v;
  }
  return v;
}
inline double warp_sum(double v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xffffffffu, v, by);
  return v;
}
/// The same for all threads of the block.
inline double block_sum(double v, double* parts) {
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < kThreads / 32; ++i) sum += parts[i];
  __syncthreads();
  return sum;
}

/// log_softmax of the rows of one example, a warp per row.
inline void log_probabilities(const Ctc& p, const T* x, i64 steps, double* logp) {
  const int lane = threadIdx.x % 32;
  for (i64 t = threadIdx.x / 32; t < steps; t += kThreads / 32) {
    const T* row = x + t * p.batch * p.classes;
    double most = kNever, sum = 0;
    for (i64 k = lane; k < p.classes; k += 32) {
      if ((double)row[k] > most) most = (double)row[k];
    }
    most = warp_most(most);
    for (i64 k = lane; k < p.classes; k += 32) sum += exp((double)row[k] - most);
    const double shift = most + log(warp_sum(sum));
    for (i64 k = lane; k < p.classes; k += 32) {
      logp[t * p.classes + k] = (double)row[k] - shift;
    }
  }
}

extern "C" __global__ void ctc_loss(const T* logits, const i32* labels, const i32* steps,
                                    const i32* lengths, T* loss, T* grads, double* work,
                                    const Ctc p, ReportFlags* flags, i32 site) {
  __shared__ double parts[kThreads / 32];
  const i64 step = p.batch * p.classes;
  for (i64 b = blockIdx.x; b < p.batch; b += gridDim.x) {
    T* grad = grads + b * p.classes;
    for (i64 t = 0; t < p.time; ++t) {
      for (i64 k = threadIdx.x; k < p.classes; k += kThreads) grad[t * step + k] = T(0);
    }
    __syncthreads();
    if (!usable(p, b, labels, steps, lengths, flags, site)) {
      if (threadIdx.x == 0) loss[b] = T(0);
      continue;
    }
    const Example e = {labels + b * p.width, p.blank, 2 * (i64)lengths[b] + 1, steps[b]};
    if (e.steps == 0) {
      if (threadIdx.x == 0) loss[b] = e.states == 1 ? T(0) : (T)kInfinity;
      continue;
    }
    double* logp = work + b * p.doubles;
    double* forward = logp + p.time * p.classes;
    double *now = forward + p.time * p.states, *next = now + p.states;
    double* shares = next + p.states;
    i64* again = (i64*)(shares + p.states);  // the next state with the same label
    i64* leads = again + p.states;           // whether there is none before
    log_probabilities(p, logits + b * p.classes, e.steps, logp);
    __syncthreads();
    // forward[t][s]: log of the sum over alignments of steps 0…t that end in state s.
    for (i64 t = 0; t < e.steps; ++t) {
      const double *before = forward + (t - 1) * p.states, *row = logp + t * p.classes;
      for (i64 s = threadIdx.x; s < e.states; s += kThreads) {
        double sum = t == 0 ? (s < 2 ? 0 : kNever) : before[s];
        if (t > 0 && s > 0) sum = log_add(sum, before[s - 1]);
        if (t > 0 && e.may_skip(s)) sum = log_add(sum, before[s - 2]);
        forward[t * p.states + s] = sum + row[e.label(s)];
      }
      __syncthreads();
    }
    // Alignments end in the last label or the blank behind it.
    const double* last = forward + (e.steps - 1) * p.states;
    const double total =
        e.states > 1 ? log_add(last[e.states - 1], last[e.states - 2]) : last[0];
    if (threadIdx.x == 0) loss[b] = (T)-total;
    // No alignment fits: nothing that the logits could do changes the loss.
    if (total == kNever) continue;
    for (i64 s = threadIdx.x; s < e.states; s += kThreads) {
      now[s] = s + 2 >= e.states ? 0 : kNever;
      // Equal labels are added up by the first of them.
      i64 found = -1;
      for (i64 o = s + 2; s % 2 && found < 0 && o < e.states; o += 2) {
        if (e.label(o) == e.label(s)) found = o;
      }
      bool first = s % 2;
      for (i64 o = 1; first && o < s; o += 2) first = e.label(o) != e.label(s);
      again[s] = found;
      leads[s] = first;
    }
    for (i64 t = 0; t < e.steps; ++t) {
      for (i64 k = threadIdx.x; k < p.classes; k += kThreads) {
        grad[t * step + k] = (T)exp(logp[t * p.classes + k]);
      }
    }
    __syncthreads();
    // Back through time: `now` holds sums of what may follow a state, without the step
    // itself. Each class's share of the alignments leaves its probability.
    for (i64 t = e.steps - 1; t >= 0; --t) {
      T* out = grad + t * step;
      double blanks = 0;
      for (i64 s = threadIdx.x; s < e.states; s += kThreads) {
        const double share = forward[t * p.states + s] + now[s] - total;
        shares[s] = share == kNever ? 0 : exp(share);
        if (s % 2 == 0) blanks += shares[s];
      }
      blanks = block_sum(blanks, parts);
      for (i64 s = 2 * (i64)threadIdx.x + 1; s < e.states; s += 2 * kThreads) {
        if (!leads[s]) continue;
        double sum = shares[s];
        for (i64 o = again[s]; o > 0; o = again[o]) sum += shares[o];
        out[e.label(s)] -= (T)sum;
      }
      __syncthreads();
      if (threadIdx.x == 0) out[e.blank] -= (T)blanks;
      const double* row = logp + t * p.classes;
      for (i64 s = threadIdx.x; s < e.states; s += kThreads) {
        double sum = now[s] + row[e.label(s)];
        if (s + 1 < e.states) sum = log_add(sum, now[s + 1] + row[e.label(s + 1)]);
        if (s + 2 < e.states && e.may_skip(s + 2)) {
          sum = log_add(sum, now[s + 2] + row[e.label(s + 2)]);
        }
        next[s] = sum;
      }
      __syncthreads();
      double* swapped = now;
      now = next;
      next = swapped;
    }
  }
}

/// The largest logit of every step, a warp per example; equal ones: the first.
extern "C" __global__ void ctc_greedy(const T* logits, const i32* steps, i64* labels,
                                      T* score, i32 merge_repeated, const Ctc p,
                                      ReportFlags* flags, i32 site) {
  const int lane = threadIdx.x % 32;
  for (i64 b = global_thread() / 32; b < p.batch; b += global_threads() / 32) {
    i64* out = labels + b * p.time;
    for (i64 t = lane; t < p.time; t += 32) out[t] = -1;
    __syncwarp();
    const bool good = steps[b] >= 0 && steps[b] <= p.time;
    if (!good && lane == 0) report_bad(flags, 1, site, steps[b], b, p.time);
    const i64 end = good ? steps[b] : 0;
    T sum = 0;
    i64 last = -1, found = 0;
    for (i64 t = 0; t < end; ++t) {
      const T* row = logits + (t * p.batch + b) * p.classes;
      i64 best = lane < p.classes ? lane : 0;
      T top = row[best];
      for (i64 k = best + 32; k < p.classes; k += 32) {
        if (row[k] > top) {
          top = row[k];
          best = k;
        }
      }
      for (int by = 16; by > 0; by /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, top, by);
        const i64 place = __shfl_xor_sync(0xffffffffu, best, by);
        if (other > top || (other == top && place < best)) {
          top = other;
          best = place;
        }
      }
      sum -= top;
      if (best != p.blank && !(merge_repeated && best == last)) {
        if (lane == 0) out[found] = best;
        ++found;
      }
      last = best;
    }
    if (lane == 0) score[b] = sum;
  }
}
