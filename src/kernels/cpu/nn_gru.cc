// GRU (reset after): float32, float64 (float16 and bfloat16 through float32).
#include "kernels/cpu/nn_channels.h"
#include "kernels/cpu/nn_gates.h"
#include "kernels/cpu/nn_gemm.h"
#include "kernels/cpu/nn_recurrent.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_typed.h"

namespace tandem::cpu {

namespace {

RecurrentPlan prepare_gru(const Signature& s) {
  RecurrentPlan p = recurrent_plan(s);
  // Input part of all steps, recurrent part of one.
  p.workspace_bytes =
      static_cast<size_t>((p.rows() + p.batch) * 3 * p.units) * dtype_size(s.in(0).dtype);
  return p;
}

RecurrentPlan prepare_gru_grad(const Signature& s) {
  RecurrentPlan p = recurrent_plan(s);
  // Gradients of both parts, states before each step, output gradients carried.
  p.workspace_bytes = static_cast<size_t>(p.rows() * 7 * p.units + p.batch * p.units) *
                      dtype_size(s.in(0).dtype);
  return p;
}

template <class T>
void product(bool alone, const GemmShape& s, const T* a, int64_t lda, const T* b,
             int64_t ldb, T beta, T* c, int64_t ldc) {
  if (alone) {
    gemm(s, T(1), a, lda, b, ldb, beta, c, ldc);
  } else {
    team_gemm(s, T(1), a, lda, b, ldb, beta, c, ldc);
  }
}

template <class T>
void launch_gru(const RecurrentPlan& p, const LaunchArgs& a) {
  const GateLoops<T>& loops = best::gate_loops<T>();
  const int64_t u = p.units, width = 3 * u;
  const T *x = a.in<T>(0), *kernel = a.in<T>(1), *recurrent = a.in<T>(2),
          *bias = a.in<T>(3);
  const bool* mask = a.in<bool>(5);
  T *sequence = a.out<T>(0), *h = a.out<T>(1), *gates = a.out<T>(2);
  T *inputs = static_cast<T*>(a.workspace), *inner = inputs + p.rows() * width;
  copy_or_zero(a.in<T>(4), h, p.batch * u);
  if (bias) {
    parallel_for(p.rows(), std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = b; i < e; ++i) {
                     std::copy_n(bias, width, inputs + i * width);
                   }
                 });
  }
  team_gemm({.m = p.rows(), .n = width, .k = p.in}, T(1), x, p.in, kernel, width,
            bias ? T(1) : T(0), inputs, width);
  over_batch(p, [&](int64_t begin, int64_t end, bool alone) {
    for (int64_t s = 0; s < p.time; ++s) {
      const int64_t t = p.input_time(s);
      for (int64_t b = begin; b < end && bias; ++b) {
        std::copy_n(bias + width, width, inner + b * width);
      }
      product(alone, {.m = end - begin, .n = width, .k = u}, h + begin * u, u, recurrent,
              width, bias ? T(1) : T(0), inner + begin * width, width);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = p.row(b, t);
        const bool masked = mask && !mask[row];
        if (masked) {
          std::fill_n(gates + row * 4 * u, 4 * u, T(0));
        } else {
          loops.gru(inputs + row * width, inner + b * width, gates + row * 4 * u,
                    h + b * u, u);
        }
        write_output(p, b, s, h + b * u, masked, sequence);
      }
    }
  });
}

template <class T>
void launch_gru_grad(const RecurrentPlan& p, const LaunchArgs& a) {
  const GateLoops<T>& loops = best::gate_loops<T>();
  const int64_t u = p.units, width = 3 * u, rows = p.rows();
  const T *x = a.in<T>(0), *kernel = a.in<T>(1), *recurrent = a.in<T>(2);
  const bool* mask = a.in<bool>(4);
  const T *sequence = a.in<T>(5), *gates = a.in<T>(6), *dsequence = a.in<T>(7);
  T* dh = a.out<T>(4);  // running gradient of the state
  T *dx = static_cast<T*>(a.workspace), *dr = dx + rows * width;
  T *before = dr + rows * width, *carried = before + rows * u;
  states_before(p, a.in<T>(3), mask, sequence, before);
  std::copy_n(a.in<T>(8), p.batch * u, dh);
  std::fill_n(carried, p.batch * u, T(0));
  over_batch(p, [&](int64_t begin, int64_t end, bool alone) {
    for (int64_t s = p.time - 1; s >= 0; --s) {
      const int64_t t = p.input_time(s);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = p.row(b, t);
        T* output_grad = carried + b * u;
        loops.add(dsequence + p.row(b, s) * u, output_grad, u);
        if (mask && !mask[row]) {
          std::fill_n(dx + row * width, width, T(0));
          std::fill_n(dr + row * width, width, T(0));
          continue;
        }
        loops.add(output_grad, dh + b * u, u);
        std::fill_n(output_grad, u, T(0));
        loops.gru_grad(gates + row * 4 * u, before + row * u, dh + b * u,
                       dx + row * width, dr + row * width, u);
      }
      product(alone, {.m = end - begin, .n = u, .k = width, .transpose_b = true},
              dr + p.row(begin, t) * width, p.batch_step() * width, recurrent, width,
              T(1), dh + begin * u, u);
    }
  });
  team_gemm({.m = rows, .n = p.in, .k = width, .transpose_b = true}, T(1), dx, width,
            kernel, width, T(0), a.out<T>(0), p.in);
  team_gemm({.m = p.in, .n = width, .k = rows, .transpose_a = true}, T(1), x, p.in, dx,
            width, T(0), a.out<T>(1), width);
  team_gemm({.m = u, .n = width, .k = rows, .transpose_a = true}, T(1), before, u, dr,
            width, T(0), a.out<T>(2), width);
  std::fill_n(a.out<T>(3), 2 * width, T(0));
  best::channel_loops<T>().sum_rows(dx, rows, width, a.out<T>(3));
  best::channel_loops<T>().sum_rows(dr, rows, width, a.out<T>(3) + width);
}

}  // namespace

void register_nn_gru_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_gru, launch_gru<float>, launch_gru<double>>(registry, "Gru");
  add_float_kernels<prepare_gru_grad, launch_gru_grad<float>, launch_gru_grad<double>>(
      registry, "GruGrad");
}

}  // namespace tandem::cpu
