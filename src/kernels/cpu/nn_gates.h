// Inner loops of recurrent cells over the units of one row.
#pragma once

#include <cstdint>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

template <class T>
struct GateLoops {
  // z: pre-activations i, f, g, o → the gates, in place.
  void (*lstm)(T* z, const T* c_before, T* c, T* h, int64_t units);
  // gates → gradients of the pre-activations; dc: gradient of the cell, after → before.
  void (*lstm_grad)(const T* gates, const T* c_before, const T* c, const T* dh, T* dc,
                    T* dz, int64_t units);
  // x and r: input and recurrent pre-activations z, r, h → gates z, r, candidate,
  // recurrent part; h is the state, before → after.
  void (*gru)(const T* x, const T* r, T* gates, T* h, int64_t units);
  // Gradients of both pre-activations, and of the state through the update gate: dh,
  // after → before.
  void (*gru_grad)(const T* gates, const T* h_before, T* dh, T* dx, T* dr, int64_t units);
  void (*add)(const T* x, T* y, int64_t n);  // y += x
};

TANDEM_ISA_TABLE(GateLoops<float>, gate_loops_f32)
TANDEM_ISA_TABLE(GateLoops<double>, gate_loops_f64)

namespace best {
template <class T>
const GateLoops<T>& gate_loops();
template <>
inline const GateLoops<float>& gate_loops<float>() {
  return gate_loops_f32();
}
template <>
inline const GateLoops<double>& gate_loops<double>() {
  return gate_loops_f64();
}
}  // namespace best

}  // namespace tandem::cpu
