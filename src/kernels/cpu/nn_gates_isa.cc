#include "kernels/cpu/nn_gates.h"
#include "kernels/cpu/nn_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + vexp(-x));
}

template <class T>
void lstm(T* z, const T* c_before, T* c, T* h, int64_t units) {
  T *zi = z, *zf = z + units, *zg = z + 2 * units, *zo = z + 3 * units;
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T i = sigmoid(zi[j]), f = sigmoid(zf[j]), g = vtanh(zg[j]), o = sigmoid(zo[j]);
    const T cell = f * c_before[j] + i * g;
    zi[j] = i;
    zf[j] = f;
    zg[j] = g;
    zo[j] = o;
    c[j] = cell;
    h[j] = o * vtanh(cell);
  }
}

template <class T>
void lstm_grad(const T* gates, const T* c_before, const T* c, const T* dh, T* dc, T* dz,
               int64_t units) {
  const T *gi = gates, *gf = gates + units, *gg = gates + 2 * units,
          *go = gates + 3 * units;
  T *di = dz, *df = dz + units, *dg = dz + 2 * units, *d_o = dz + 3 * units;
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T t = vtanh(c[j]);
    const T i = gi[j], f = gf[j], g = gg[j], o = go[j];
    const T dcell = dc[j] + dh[j] * o * (T(1) - t * t);
    d_o[j] = dh[j] * t * o * (T(1) - o);
    di[j] = dcell * g * i * (T(1) - i);
    df[j] = dcell * c_before[j] * f * (T(1) - f);
    dg[j] = dcell * i * (T(1) - g * g);
    dc[j] = dcell * f;
  }
}

template <class T>
void gru(const T* x, const T* r, T* gates, T* h, int64_t units) {
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T update = sigmoid(x[j] + r[j]);
    const T reset = sigmoid(x[units + j] + r[units + j]);
    const T inner = r[2 * units + j];
    const T candidate = vtanh(x[2 * units + j] + reset * inner);
    gates[j] = update;
    gates[units + j] = reset;
    gates[2 * units + j] = candidate;
    gates[3 * units + j] = inner;
    h[j] = update * h[j] + (T(1) - update) * candidate;
  }
}

template <class T>
void gru_grad(const T* gates, const T* h_before, T* dh, T* dx, T* dr, int64_t units) {
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T update = gates[j], reset = gates[units + j];
    const T candidate = gates[2 * units + j], inner = gates[3 * units + j];
    const T dcandidate = dh[j] * (T(1) - update) * (T(1) - candidate * candidate);
    const T dupdate = dh[j] * (h_before[j] - candidate) * update * (T(1) - update);
    const T dreset = dcandidate * inner * reset * (T(1) - reset);
    dx[j] = dupdate;
    dx[units + j] = dreset;
    dx[2 * units + j] = dcandidate;
    dr[j] = dupdate;
    dr[units + j] = dreset;
    dr[2 * units + j] = dcandidate * reset;
    dh[j] *= update;
  }
}

template <class T>
void add(const T* x, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

template <class T>
constexpr GateLoops<T> kGateLoops = {lstm<T>, lstm_grad<T>, gru<T>, gru_grad<T>, add<T>};

}  // namespace

const GateLoops<float>& gate_loops_f32() { return kGateLoops<float>; }
const GateLoops<double>& gate_loops_f64() { return kGateLoops<double>; }

}  // namespace tandem::cpu::TANDEM_ISA
