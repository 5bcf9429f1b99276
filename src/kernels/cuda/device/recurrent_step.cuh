// Recurrent layers with launches for every step. A step is one kernel that multiplies by
// tiles (tile.cuh) and goes on with the cell, or, where a library multiplies, one that
// finds the product in memory. Before this text: recurrent.cuh, tile.cuh with a tile per
// gate (forward) or one (backward), kWarps, which share the inner dimension of a tile.
constexpr int kTileRows = 16, kTileUnits = 8;
constexpr int kAhead = kTiles == 1 ? 4 : 2;  // steps whose loads are under way
static_assert(kWidth < 1 << 30, "places of the inner dimension are counted in 32 bits");

/// Adds up the warps' sums of one element of a tile.
inline C total(const C (&parts)[kWarps][kTileRows * 8 * kTiles], int at) {
  C sum = parts[0][at];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) sum += parts[w][at];
  return sum;
}

#if defined(FORWARD)
extern "C" __global__ void __launch_bounds__(256) begin_forward(const Forward f) {
  const i64 n = f.order.batch * kUnits;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 b = i / kUnits;
    const int unit = (int)(i % kUnits);
    const State state = load_state(f, b, unit);
    f.states[i] = put<T>(state.h);
    f.held_h[i] = state.h;
    if (kLstm) f.held_c[i] = state.c;
    store_state(f, b, unit, state);  // stays when there are no steps
  }
}

inline void step_forward(const Forward& f, i64 b, int unit, i64 s,
                         const C (&inner)[kGates]) {
  const i64 n = f.order.batch * kUnits, at = b * kUnits + unit;
  State state = {f.held_h[at], kLstm ? f.held_c[at] : C(0)};
  const Incoming in = load_incoming(f, b, unit, s);
  const Computed computed = forward_unit(in, load_biases(f, unit), inner, state);
  store_step(f, b, unit, s, in.on, computed, state);
  f.held_h[at] = state.h;
  if (kLstm) f.held_c[at] = state.c;
  f.states[(s + 1) % 2 * n + at] = put<T>(state.h);
}

/// 16 sequences by 8 units, all gates.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    forward_step(const Forward f, i64 s) {
  __shared__ C parts[kWarps][kTileRows * 8 * kTiles];
  const int warp = threadIdx.x / 32;
  const i64 row = (i64)blockIdx.x * kTileRows;
  const int first = (int)blockIdx.y * kTileUnits;
  const T* const h = f.states + s % 2 * f.order.batch * kUnits;
  C sum[kTiles][4] = {};
  add_tile<kAhead, int>(
      sum, warp * 8, kUnits, 8 * kWarps,
      [&](int high, i64 at) {
        const i64 b = row + lane_row() + high * 8;
        return b < f.order.batch ? (C)get(h[b * kUnits + at]) : C(0);
      },
      [&](int c, i64 at) {
        const int unit = first + c % 8;
        if (unit >= kUnits) return C(0);
        return (C)get(f.weights[at * kWidth + (i64)(c / 8) * kUnits + unit]);
      });
  put_tile(parts[warp], sum);
  __syncthreads();
  for (int i = threadIdx.x; i < kTileRows * kTileUnits; i += 32 * kWarps) {
    const i64 b = row + i / kTileUnits;
    const int unit = first + i % kTileUnits;
    if (b >= f.order.batch || unit >= kUnits) continue;
    C inner[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      inner[k] = total(parts, i / kTileUnits * 8 * kTiles + k * 8 + i % kTileUnits);
    }
    step_forward(f, b, unit, s, inner);
  }
}

extern "C" __global__ void __launch_bounds__(256) forward_cell(const Forward f, i64 s) {
  const i64 n = f.order.batch * kUnits;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 b = i / kUnits;
    const int unit = (int)(i % kUnits);
    C inner[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      inner[k] = get(f.product[b * kWidth + (i64)k * kUnits + unit]);
    }
    step_forward(f, b, unit, s, inner);
  }
}
#else
extern "C" __global__ void __launch_bounds__(256) begin_backward(const Backward f) {
  const i64 n = f.order.batch * kUnits;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Running r = load_running(f, i / kUnits, (int)(i % kUnits));
    f.held_dh[i] = r.dh;
    if (kLstm) f.held_dc[i] = r.dc;
    f.held_output[i] = r.output;
  }
}

/// Step s, or what is left for the initial states where s is -1; `through`: the gradient
/// of the state after step s that came through the weights.
inline void step_backward(const Backward& f, i64 b, int unit, i64 s, C through) {
  const i64 at = b * kUnits + unit;
  Running r = {f.held_dh[at] + through, kLstm ? f.held_dc[at] : C(0), f.held_output[at]};
  if (s < 0) return store_running(f, b, unit, r);
  const GateGrads grads = backward_unit(load_passed(f, b, unit, s), r);
  store_grads(f, b, unit, s, grads);
  f.held_dh[at] = r.dh;
  if (kLstm) f.held_dc[at] = r.dc;
  f.held_output[at] = r.output;
  if (!f.step_dr) return;
#pragma unroll
  for (int k = 0; k < kGates; ++k) {
    f.step_dr[b * kWidth + (i64)k * kUnits + unit] = grads.inner[k];
  }
}

/// 16 sequences by 8 units: what comes through the weights from step s + 1, then step s.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    backward_step(const Backward f, i64 s) {
  __shared__ C parts[kWarps][kTileRows * 8 * kTiles];
  const int warp = threadIdx.x / 32;
  const i64 row = (i64)blockIdx.x * kTileRows;
  const int first = (int)blockIdx.y * kTileUnits;
  C sum[kTiles][4] = {};
  if (s + 1 < f.order.time) {
    const i64 t = input_time(f.order, s + 1);
    add_tile<kAhead, int>(
        sum, warp * 8, (int)kWidth, 8 * kWarps,
        [&](int high, i64 at) {
          const i64 b = row + lane_row() + high * 8;
          if (b >= f.order.batch) return C(0);
          return (C)get(f.dr[row_of(f.order, b, t) * kWidth + at]);
        },
        [&](int c, i64 at) {
          const int unit = first + c;
          return unit < kUnits ? (C)get(f.weights[unit * kWidth + at]) : C(0);
        });
  }
  put_tile(parts[warp], sum);
  __syncthreads();
  for (int i = threadIdx.x; i < kTileRows * kTileUnits; i += 32 * kWarps) {
    const i64 b = row + i / kTileUnits;
    const int unit = first + i % kTileUnits;
    if (b < f.order.batch && unit < kUnits) {
      step_backward(f, b, unit, s, total(parts, i));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) backward_cell(const Backward f, i64 s) {
  const i64 n = f.order.batch * kUnits;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    step_backward(f, i / kUnits, (int)(i % kUnits), s,
                  s + 1 < f.order.time ? get(f.product[i]) : C(0));
  }
}
#endif
