// LSTM and GRU cells: what one step does to one unit of one sequence, forward and back,
// given the recurrent part of its pre-activations. Before this text: T (storage), C
// (float or double), kLstm, kUnits. Rows of a sequence's tensors are in the order of x;
// a step and the time it reads differ when steps run backwards.
constexpr int kGates = kLstm ? 4 : 3;
constexpr i64 kWidth = (i64)kGates * kUnits;
constexpr int kKept = 4;  // values per unit that the gradient reads

struct Order {
  i64 batch, time;
  i32 time_major, backwards;
};
inline i64 row_of(const Order& o, i64 b, i64 t) {
  return o.time_major ? t * o.batch + b : b * o.time + t;
}
inline i64 input_time(const Order& o, i64 s) { return o.backwards ? o.time - 1 - s : s; }

inline C sigmoid(C x) { return C(1) / (C(1) + f_exp(-x)); }
inline C or_zero(const T* p, i64 at) { return p ? get(p[at]) : C(0); }

// ---- Forward --------------------------------------------------------------------------
struct Forward {
  Order order;
  const T* x_part;  // [rows, kWidth]; an LSTM's is where its gates go
  const T *weights, *bias, *h0, *c0;
  const bool* mask;
  T *sequence, *h, *c, *gates, *cells;
  // Forms with a launch per step keep the states in memory: rounded for products (two,
  // which change places), and as computed.
  T* states;
  C *held_h, *held_c;
  const T* product;  // [batch, kWidth]
};
struct Biases {
  C x[kGates], inner[kGates];
};
inline Biases load_biases(const Forward& f, int unit) {
  Biases bias;
#pragma unroll
  for (int k = 0; k < kGates; ++k) {
    bias.x[k] = or_zero(f.bias, (i64)k * kUnits + unit);
    bias.inner[k] = kLstm ? C(0) : or_zero(f.bias, kWidth + (i64)k * kUnits + unit);
  }
  return bias;
}
/// What a step reads from memory, apart from the states.
struct Incoming {
  C x[kGates];
  bool on;
};
inline Incoming load_incoming(const Forward& f, i64 b, int unit, i64 s) {
  const i64 row = row_of(f.order, b, input_time(f.order, s));
  Incoming in;
#pragma unroll
  for (int k = 0; k < kGates; ++k) {
    in.x[k] = get(f.x_part[row * kWidth + (i64)k * kUnits + unit]);
  }
  in.on = !f.mask || f.mask[row];
  return in;
}
struct State {
  C h, c;
};
inline State load_state(const Forward& f, i64 b, int unit) {
  const i64 at = b * kUnits + unit;
  return {or_zero(f.h0, at), kLstm ? or_zero(f.c0, at) : C(0)};
}
inline void store_state(const Forward& f, i64 b, int unit, const State& state) {
  const i64 at = b * kUnits + unit;
  f.h[at] = put<T>(state.h);
  if (kLstm) f.c[at] = put<T>(state.c);
}

/// What a step computes for one unit, and where it puts it. Apart from each other: what
/// others wait for may be sent before the rest is written.
struct Computed {
  C gate[kKept];
};
/// `inner`: states · weights.
inline Computed forward_unit(const Incoming& in, const Biases& bias,
                             const C (&inner)[kGates], State& state) {
  Computed r;
  if constexpr (kLstm) {
#pragma unroll
    for (int k = 0; k < kGates; ++k) r.gate[k] = in.x[k] + bias.x[k] + inner[k];
    if (in.on) {
      r.gate[0] = sigmoid(r.gate[0]);
      r.gate[1] = sigmoid(r.gate[1]);
      r.gate[2] = f_tanh(r.gate[2]);
      r.gate[3] = sigmoid(r.gate[3]);
      state.c = r.gate[1] * state.c + r.gate[0] * r.gate[2];
      state.h = r.gate[3] * f_tanh(state.c);
    }
  } else {
    const C update = sigmoid(in.x[0] + bias.x[0] + (inner[0] + bias.inner[0]));
    const C reset = sigmoid(in.x[1] + bias.x[1] + (inner[1] + bias.inner[1]));
    const C last = inner[2] + bias.inner[2];
    const C candidate = f_tanh(in.x[2] + bias.x[2] + reset * last);
    if (in.on) state.h = update * state.h + (C(1) - update) * candidate;
    r.gate[0] = in.on ? update : C(0);
    r.gate[1] = in.on ? reset : C(0);
    r.gate[2] = in.on ? candidate : C(0);
    r.gate[3] = in.on ? last : C(0);
  }
  return r;
}
inline void store_step(const Forward& f, i64 b, int unit, i64 s, bool on,
                       const Computed& r, const State& state) {
  const i64 row = row_of(f.order, b, input_time(f.order, s));
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    f.gates[(row * kKept + k) * kUnits + unit] = put<T>(r.gate[k]);
  }
  if (kLstm) f.cells[row * kUnits + unit] = put<T>(state.c);
  T* const out = f.sequence + unit;
  T value = put<T>(state.h);
  if (!on) {
    // The output before is repeated; there is none before the first.
    value = s > 0 ? out[row_of(f.order, b, s - 1) * kUnits] : put<T>(C(0));
  }
  out[row_of(f.order, b, s) * kUnits] = value;
  if (s == f.order.time - 1) store_state(f, b, unit, state);
}

// ---- Backward -------------------------------------------------------------------------
struct Backward {
  Order order;
  const T *weights, *h0, *c0;
  const bool* mask;
  const T *sequence, *gates, *cells, *dsequence, *dh, *dc;
  T* before;   // states before each step, [rows, kUnits]
  T *dx, *dr;  // by the pre-activations' parts, [rows, kWidth]; an LSTM's are the same
  T *dh0, *dc0;
  // Forms with a launch per step:
  C *held_dh, *held_dc, *held_output;
  const T* product;  // [batch, kUnits]
  T* step_dr;        // [batch, kWidth]
};
/// What a step reads from memory, apart from the running gradients.
struct Passed {
  C gate[kKept], cell, before, doutput;
  bool on;
};
inline Passed load_passed(const Backward& f, i64 b, int unit, i64 s) {
  const i64 row = row_of(f.order, b, input_time(f.order, s));
  Passed p;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    p.gate[k] = get(f.gates[(row * kKept + k) * kUnits + unit]);
  }
  p.doutput = get(f.dsequence[row_of(f.order, b, s) * kUnits + unit]);
  p.on = !f.mask || f.mask[row];
  if constexpr (kLstm) {
    p.cell = get(f.cells[row * kUnits + unit]);
    const i64 earlier = row_of(f.order, b, input_time(f.order, s - 1));
    p.before =
        s > 0 ? get(f.cells[earlier * kUnits + unit]) : or_zero(f.c0, b * kUnits + unit);
  } else {
    p.cell = C(0);
    p.before = get(f.before[row * kUnits + unit]);
  }
  return p;
}
/// Of the states, and of outputs that masked steps have repeated.
struct Running {
  C dh, dc, output;
};
inline Running load_running(const Backward& f, i64 b, int unit) {
  const i64 at = b * kUnits + unit;
  return {get(f.dh[at]), kLstm ? get(f.dc[at]) : C(0), C(0)};
}
inline void store_running(const Backward& f, i64 b, int unit, const Running& r) {
  const i64 at = b * kUnits + unit;
  f.dh0[at] = put<T>(r.dh);
  if (kLstm) f.dc0[at] = put<T>(r.dc);
}

/// By the parts of the pre-activations, as stored.
struct GateGrads {
  T x[kGates], inner[kGates];
};
/// r.dh holds the gradient of the state after the step, and then what of the state
/// before it does not go through the weights.
inline GateGrads backward_unit(const Passed& p, Running& r) {
  r.output += p.doutput;
  C g[kGates] = {};
  C last = C(0);
  if (p.on) {
    const C dh = r.dh + r.output;
    r.output = C(0);
    if constexpr (kLstm) {
      const C i = p.gate[0], forget = p.gate[1], c = p.gate[2], o = p.gate[3];
      const C t = f_tanh(p.cell);
      const C dcell = r.dc + dh * o * (C(1) - t * t);
      g[0] = dcell * c * i * (C(1) - i);
      g[1] = dcell * p.before * forget * (C(1) - forget);
      g[2] = dcell * i * (C(1) - c * c);
      g[3] = dh * t * o * (C(1) - o);
      r.dc = dcell * forget;
      r.dh = C(0);
    } else {
      const C update = p.gate[0], reset = p.gate[1], candidate = p.gate[2];
      const C dcandidate = dh * (C(1) - update) * (C(1) - candidate * candidate);
      g[0] = dh * (p.before - candidate) * update * (C(1) - update);
      g[1] = dcandidate * p.gate[3] * reset * (C(1) - reset);
      g[2] = dcandidate;
      last = dcandidate * reset;
      r.dh = dh * update;
    }
  }
  GateGrads to;
#pragma unroll
  for (int k = 0; k < kGates; ++k) to.x[k] = to.inner[k] = put<T>(g[k]);
  if (!kLstm) to.inner[kGates - 1] = put<T>(last);
  return to;
}
inline void store_grads(const Backward& f, i64 b, int unit, i64 s, const GateGrads& g) {
  const i64 row = row_of(f.order, b, input_time(f.order, s));
#pragma unroll
  for (int k = 0; k < kGates; ++k) {
    const i64 at = row * kWidth + (i64)k * kUnits + unit;
    f.dx[at] = g.x[k];
    if (!kLstm) f.dr[at] = g.inner[k];
  }
}

/// The states before each step: the initial one up to the first step that is not masked,
/// then the outputs, which masked steps repeat. A block takes a share of one sequence's
/// steps.
extern "C" __global__ void __launch_bounds__(256) states_before(const Backward f) {
  __shared__ u64 first;
  for (i64 b = blockIdx.x; b < f.order.batch; b += gridDim.x) {
    __syncthreads();
    if (threadIdx.x == 0) first = f.mask ? (u64)f.order.time : 0;
    __syncthreads();
    if (f.mask) {
      for (i64 s = threadIdx.x; s < f.order.time; s += blockDim.x) {
        if (!f.mask[row_of(f.order, b, input_time(f.order, s))]) continue;
        atomicMin(&first, (u64)s);
        break;
      }
    }
    __syncthreads();
    const i64 start = (i64)first, step = (i64)gridDim.y * blockDim.x;
    for (i64 i = (i64)blockIdx.y * blockDim.x + threadIdx.x; i < f.order.time * kUnits;
         i += step) {
      const i64 s = i / kUnits, unit = i % kUnits;
      f.before[row_of(f.order, b, input_time(f.order, s)) * kUnits + unit] =
          s > start ? f.sequence[row_of(f.order, b, s - 1) * kUnits + unit]
          : f.h0    ? f.h0[b * kUnits + unit]
                    : put<T>(C(0));
    }
  }
}
