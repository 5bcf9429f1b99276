// LSTM: float32, float64 (float16 and bfloat16 through float32). One product makes the
// input part of all steps; each step adds the recurrent part and applies the gates.
#include "kernels/cpu/nn_channels.h"
#include "kernels/cpu/nn_gates.h"
#include "kernels/cpu/nn_gemm.h"
#include "kernels/cpu/nn_recurrent.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_typed.h"

namespace tandem::cpu {

namespace {

RecurrentPlan prepare_lstm(const Signature& s) { return recurrent_plan(s); }

RecurrentPlan prepare_lstm_grad(const Signature& s) {
  RecurrentPlan p = recurrent_plan(s);
  // Gradients of the gates, states before each step, output gradients carried, a row of
  // zeros.
  p.workspace_bytes =
      static_cast<size_t>(p.rows() * 5 * p.units + p.batch * p.units + p.units) *
      dtype_size(s.in(0).dtype);
  return p;
}

template <class T>
void step_gemm(bool alone, const GemmShape& s, const T* a, int64_t lda, const T* b,
               int64_t ldb, T* c, int64_t ldc) {
  if (alone) {
    gemm(s, T(1), a, lda, b, ldb, T(1), c, ldc);
  } else {
    team_gemm(s, T(1), a, lda, b, ldb, T(1), c, ldc);
  }
}

template <class T>
void launch_lstm(const RecurrentPlan& p, const LaunchArgs& a) {
  const GateLoops<T>& loops = best::gate_loops<T>();
  const int64_t u = p.units, width = 4 * u;
  const T *x = a.in<T>(0), *kernel = a.in<T>(1), *recurrent = a.in<T>(2),
          *bias = a.in<T>(3);
  const bool* mask = a.in<bool>(6);
  T *sequence = a.out<T>(0), *h = a.out<T>(1), *c = a.out<T>(2);
  T *gates = a.out<T>(3), *cells = a.out<T>(4);
  copy_or_zero(a.in<T>(4), h, p.batch * u);
  copy_or_zero(a.in<T>(5), c, p.batch * u);
  if (bias) {
    parallel_for(p.rows(), std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = b; i < e; ++i)
                     std::copy_n(bias, width, gates + i * width);
                 });
  }
  team_gemm({.m = p.rows(), .n = width, .k = p.in}, T(1), x, p.in, kernel, width,
            bias ? T(1) : T(0), gates, width);
  over_batch(p, [&](int64_t begin, int64_t end, bool alone) {
    for (int64_t s = 0; s < p.time; ++s) {
      const int64_t t = p.input_time(s);
      step_gemm(alone, {.m = end - begin, .n = width, .k = u}, h + begin * u, u,
                recurrent, width, gates + p.row(begin, t) * width,
                p.batch_step() * width);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = p.row(b, t);
        const bool masked = mask && !mask[row];
        if (masked) {
          std::copy_n(c + b * u, u, cells + row * u);
        } else {
          loops.lstm(gates + row * width, c + b * u, cells + row * u, h + b * u, u);
          std::copy_n(cells + row * u, u, c + b * u);
        }
        write_output(p, b, s, h + b * u, masked, sequence);
      }
    }
  });
}

template <class T>
void launch_lstm_grad(const RecurrentPlan& p, const LaunchArgs& a) {
  const GateLoops<T>& loops = best::gate_loops<T>();
  const int64_t u = p.units, width = 4 * u, rows = p.rows();
  const T *x = a.in<T>(0), *kernel = a.in<T>(1), *recurrent = a.in<T>(2);
  const T *h0 = a.in<T>(3), *c0 = a.in<T>(4);
  const bool* mask = a.in<bool>(5);
  const T *sequence = a.in<T>(6), *gates = a.in<T>(7), *cells = a.in<T>(8);
  const T* dsequence = a.in<T>(9);
  T *dh = a.out<T>(4), *dc = a.out<T>(5);  // running gradients of the states
  T *dz = static_cast<T*>(a.workspace), *before = dz + rows * width;
  T *carried = before + rows * u, *zeros = carried + p.batch * u;
  states_before(p, h0, mask, sequence, before);
  std::copy_n(a.in<T>(10), p.batch * u, dh);
  std::copy_n(a.in<T>(11), p.batch * u, dc);
  std::fill_n(carried, p.batch * u + u, T(0));
  over_batch(p, [&](int64_t begin, int64_t end, bool alone) {
    for (int64_t s = p.time - 1; s >= 0; --s) {
      const int64_t t = p.input_time(s);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = p.row(b, t);
        T* output_grad = carried + b * u;
        loops.add(dsequence + p.row(b, s) * u, output_grad, u);
        if (mask && !mask[row]) {  // state and output both come from the step before
          std::fill_n(dz + row * width, width, T(0));
          continue;
        }
        loops.add(output_grad, dh + b * u, u);
        std::fill_n(output_grad, u, T(0));
        const T* c_before = s > 0 ? cells + p.row(b, p.input_time(s - 1)) * u
                            : c0  ? c0 + b * u
                                  : zeros;
        loops.lstm_grad(gates + row * width, c_before, cells + row * u, dh + b * u,
                        dc + b * u, dz + row * width, u);
        std::fill_n(dh + b * u, u, T(0));
      }
      step_gemm(alone, {.m = end - begin, .n = u, .k = width, .transpose_b = true},
                dz + p.row(begin, t) * width, p.batch_step() * width, recurrent, width,
                dh + begin * u, u);
    }
  });
  team_gemm({.m = rows, .n = p.in, .k = width, .transpose_b = true}, T(1), dz, width,
            kernel, width, T(0), a.out<T>(0), p.in);
  team_gemm({.m = p.in, .n = width, .k = rows, .transpose_a = true}, T(1), x, p.in, dz,
            width, T(0), a.out<T>(1), width);
  team_gemm({.m = u, .n = width, .k = rows, .transpose_a = true}, T(1), before, u, dz,
            width, T(0), a.out<T>(2), width);
  std::fill_n(a.out<T>(3), width, T(0));
  best::channel_loops<T>().sum_rows(dz, rows, width, a.out<T>(3));
}

}  // namespace

void register_nn_lstm_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_lstm, launch_lstm<float>, launch_lstm<double>>(registry,
                                                                           "Lstm");
  add_float_kernels<prepare_lstm_grad, launch_lstm_grad<float>, launch_lstm_grad<double>>(
      registry, "LstmGrad");
}

}  // namespace tandem::cpu
