// Tensor-core products and copies into shared memory, each instruction in a function of
// its own: compute capability 8.0 and newer. A product is 16 rows by 8 columns over 32
// bytes of the inner dimension: 8 float32 (rounded to TF32) or 16 halfs.
inline u32 as_tf32(float x) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
/// 2 to the power of x; 0 for -infinity.
inline float power_of_two(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
inline float log_of_two(float x) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/// Lane 4 g + t holds words t and t + 4 of rows g and g + 8 of A (a0: g, t; a1: g + 8, t;
/// a2: g, t + 4; a3: g + 8, t + 4) and those of column g of B; it adds up rows g and
/// g + 8, columns 2 t and 2 t + 1.
template <class T>
struct Cores;
template <>
struct Cores<float> {
  static void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
template <>
struct Cores<f16> {
  static void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static u32 pack(float low, float high) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
  }
};
template <>
struct Cores<bf16> {
  static void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static u32 pack(float low, float high) {
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
  }
};

inline u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
/// Four matrices of 8 rows of 16 bytes: lane l gives row l % 8 of matrix l / 8 and gets
/// word l % 4 of row l / 4 of each.
inline void load_matrices(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The same of halfs, transposed: elements 2 (l % 4) and the next one of column l / 4.
inline void load_transposed(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// 16 bytes into shared memory, zeros where there is nothing to copy. Both addresses are
/// multiples of 16.
inline void copy_chunk(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
/// What was copied since the last call is one group.
inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `left` groups of this thread are under way.
template <int left>
inline void wait_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

inline unsigned char* shared_space() {
  extern __shared__ __align__(16) unsigned char dynamic_space[];
  return dynamic_space;
}
