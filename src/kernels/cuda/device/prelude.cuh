// What every program starts with: storage types, how they widen to the type that is
// computed in, and reports of bad contents. Compiled by NVRTC without any header.
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct alignas(16) bytes16 {
  u64 low, high;
};

inline bool operator==(bytes16 a, bytes16 b) {
  return a.low == b.low && a.high == b.high;
}

template <class R>
struct alignas(2 * sizeof(R)) cplx {
  R re, im;
  cplx() = default;
  constexpr cplx(R r) : re(r), im(0) {}
  constexpr cplx(R r, R i) : re(r), im(i) {}
  template <class S>
  explicit constexpr cplx(cplx<S> z) : re((R)z.re), im((R)z.im) {}
};
typedef cplx<float> c64;
typedef cplx<double> c128;

template <class A, class B>
struct same_type {
  static constexpr bool value = false;
};
template <class A>
struct same_type<A, A> {
  static constexpr bool value = true;
};
template <class T>
struct is_cplx {
  static constexpr bool value = false;
};
template <class R>
struct is_cplx<cplx<R>> {
  static constexpr bool value = true;
};
template <class T>
struct is_float {
  static constexpr bool value = same_type<T, float>::value || same_type<T, double>::value;
};
template <class T>
struct is_signed_int {
  static constexpr bool value = same_type<T, i8>::value || same_type<T, i16>::value ||
                                same_type<T, i32>::value || same_type<T, i64>::value;
};
template <class T>
struct is_int {
  static constexpr bool value = is_signed_int<T>::value || same_type<T, u8>::value ||
                                same_type<T, u16>::value || same_type<T, u32>::value ||
                                same_type<T, u64>::value;
};
template <int bytes>
struct uint_of;
template <>
struct uint_of<1> {
  typedef u8 type;
};
template <>
struct uint_of<2> {
  typedef u16 type;
};
template <>
struct uint_of<4> {
  typedef u32 type;
};
template <>
struct uint_of<8> {
  typedef u64 type;
};

constexpr double kInfinity = __builtin_bit_cast(double, 0x7ff0000000000000ull);
constexpr double kNotANumber = __builtin_bit_cast(double, 0x7ff8000000000000ull);

// ---- Widening and narrowing
// ------------------------------------------------------------
template <class T>
struct compute_of {
  typedef T type;
};
template <>
struct compute_of<f16> {
  typedef float type;
};
template <>
struct compute_of<bf16> {
  typedef float type;
};

template <class T>
inline T get(T x) {
  return x;
}
inline float get(f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
inline float get(bf16 x) { return __uint_as_float((u32)x.bits << 16); }

template <class T>
struct putter {
  template <class C>
  static T put(C x) {
    return (T)x;
  }
};
template <>
struct putter<f16> {
  static f16 put(float x) {
    f16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
  }
};
template <>
struct putter<bf16> {
  static bf16 put(float x) {
    const u32 u = __float_as_uint(x);
    bf16 r;
    r.bits = (u & 0x7fffffffu) > 0x7f800000u
                 ? (u16)((u >> 16) | 0x40u)
                 : (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    return r;
  }
};
template <class T, class C>
inline T put(C x) {
  return putter<T>::put(x);
}
/// A result as it would be read back from memory.
template <class T, class C>
inline typename compute_of<T>::type rounded(C x) {
  return get(put<T>(x));
}

template <class T, int n>
struct alignas(sizeof(T) * n) vec {
  T v[n];
};

// ---- Reports of bad contents
// -----------------------------------------------------------
struct Report {
  i32 code, site;
  i64 value, position, extra;
};
struct ReportFlags {
  Report report;
  Report* host;
};
/// The first report wins; the host's copy becomes valid when its code is written.
inline void report_bad(ReportFlags* flags, i32 code, i32 site, i64 value, i64 position,
                       i64 extra) {
  if (atomicCAS(&flags->report.code, 0, code) != 0) return;
  volatile Report* host = flags->host;
  host->site = site;
  host->value = value;
  host->position = position;
  host->extra = extra;
  __threadfence_system();
  host->code = code;
  __threadfence_system();
}
/// Kernels that write variables do nothing once something has failed.
inline bool failed(const ReportFlags* flags) {
  return *(const volatile i32*)&flags->report.code != 0;
}

/// The same for a kernel that writes a variable only in some launches: 0 where not.
inline bool stopped(u64 guard) { return guard && failed((const ReportFlags*)guard); }

/// Waits only: for kernels that shall not let the next one start early.
inline void wait_for_turn() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// The first statement of every kernel: see device/cuda/launch.h.
inline void take_turn() {
  wait_for_turn();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

inline i64 global_thread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
inline i64 global_threads() { return (i64)gridDim.x * blockDim.x; }
