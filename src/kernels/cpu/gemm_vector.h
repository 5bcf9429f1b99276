// A vector of floats in the width of the instruction set that the file is compiled for,
// with partial loads and stores. Only for files compiled per ISA.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tandem::cpu::TANDEM_ISA {

#if defined(__AVX512F__)

struct Vector {
  using Mask = __mmask16;
  static constexpr int kLanes = 16, kRegisters = 32;
  __m512 v;

  static Mask first(int64_t n) { return static_cast<Mask>((1u << n) - 1u); }
  static Vector zero() { return {_mm512_setzero_ps()}; }
  static Vector all(float x) { return {_mm512_set1_ps(x)}; }
  static Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vector load(const float* p, Mask m) { return {_mm512_maskz_loadu_ps(m, p)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store(float* p, Mask m) const { _mm512_mask_storeu_ps(p, m, v); }
  void add_product(Vector a, Vector b) { v = _mm512_fmadd_ps(a.v, b.v, v); }
  Vector operator+(Vector o) const { return {_mm512_add_ps(v, o.v)}; }
  Vector operator*(Vector o) const { return {_mm512_mul_ps(v, o.v)}; }
  /// The lanes of x where this is positive (or not a number, with kNan), else those of y.
  template <bool kNan>
  Vector positive_else(Vector x, Vector y) const {
    const Mask m =
        _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), kNan ? _CMP_NLE_UQ : _CMP_GT_OQ);
    return {_mm512_mask_blend_ps(m, y.v, x.v)};
  }
  /// The lesser of both; this where either is not a number.
  Vector at_most(Vector top) const {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(top.v, v, _CMP_LT_OQ), v, top.v)};
  }
};

#elif defined(__AVX2__)

struct Vector {
  using Mask = __m256i;
  static constexpr int kLanes = 8, kRegisters = 16;
  __m256 v;

  static Mask first(int64_t n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  }
  static Vector zero() { return {_mm256_setzero_ps()}; }
  static Vector all(float x) { return {_mm256_set1_ps(x)}; }
  static Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Vector load(const float* p, Mask m) { return {_mm256_maskload_ps(p, m)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  void store(float* p, Mask m) const { _mm256_maskstore_ps(p, m, v); }
  void add_product(Vector a, Vector b) { v = _mm256_fmadd_ps(a.v, b.v, v); }
  Vector operator+(Vector o) const { return {_mm256_add_ps(v, o.v)}; }
  Vector operator*(Vector o) const { return {_mm256_mul_ps(v, o.v)}; }
  template <bool kNan>
  Vector positive_else(Vector x, Vector y) const {
    const __m256 m =
        _mm256_cmp_ps(v, _mm256_setzero_ps(), kNan ? _CMP_NLE_UQ : _CMP_GT_OQ);
    return {_mm256_blendv_ps(y.v, x.v, m)};
  }
  Vector at_most(Vector top) const { return {_mm256_min_ps(top.v, v)}; }
};

#else

struct Vector {
  using Mask = int64_t;
  static constexpr int kLanes = 4, kRegisters = 32;
  using Raw = float __attribute__((vector_size(16)));
  Raw v;

  static Mask first(int64_t n) { return n; }
  static Vector zero() { return {Raw{}}; }
  static Vector all(float x) { return {Raw{x, x, x, x}}; }
  static Vector load(const float* p) { return load(p, kLanes); }
  static Vector load(const float* p, Mask n) {
    Vector r = zero();
    std::memcpy(&r.v, p, static_cast<size_t>(n) * sizeof(float));
    return r;
  }
  void store(float* p) const { store(p, kLanes); }
  void store(float* p, Mask n) const {
    std::memcpy(p, &v, static_cast<size_t>(n) * sizeof(float));
  }
  void add_product(Vector a, Vector b) { v += a.v * b.v; }
  Vector operator+(Vector o) const { return {v + o.v}; }
  Vector operator*(Vector o) const { return {v * o.v}; }
  template <bool kNan>
  Vector positive_else(Vector x, Vector y) const {
    Vector r = y;
    for (int i = 0; i < kLanes; ++i) {
      if (v[i] > 0 || (kNan && v[i] != v[i])) r.v[i] = x.v[i];
    }
    return r;
  }
  Vector at_most(Vector top) const {
    Vector r = *this;
    for (int i = 0; i < kLanes; ++i) r.v[i] = top.v[i] < v[i] ? top.v[i] : v[i];
    return r;
  }
};

#endif

}  // namespace tandem::cpu::TANDEM_ISA
