// Tables of inner loops that exist once per instruction set, and the choice between them.
// TANDEM_ISA_TABLE(Table, name) declares `const Table& name()` for each set that is
// compiled, defined in a file of ISA_SOURCES inside namespace tandem::cpu::TANDEM_ISA,
// and `best::name()` for this machine.
#pragma once

namespace tandem::cpu {

inline bool machine_has_v4() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace tandem::cpu

#if TANDEM_HAVE_V4
#define TANDEM_DECLARE_V4(Table, name) \
  namespace v4 {                       \
  const Table& name();                 \
  }
#define TANDEM_TRY_V4(Table, name) \
  if (machine_has_v4()) return v4::name();
#else
#define TANDEM_DECLARE_V4(Table, name)
#define TANDEM_TRY_V4(Table, name)
#endif

#if TANDEM_HAVE_V3
#define TANDEM_BASE_ISA v3
#else
#define TANDEM_BASE_ISA generic
#endif

#define TANDEM_ISA_TABLE(Table, name) \
  namespace TANDEM_BASE_ISA {         \
  const Table& name();                \
  }                                   \
  TANDEM_DECLARE_V4(Table, name)      \
  namespace best {                    \
  inline const Table& name() {        \
    TANDEM_TRY_V4(Table, name)        \
    return TANDEM_BASE_ISA::name();   \
  }                                   \
  }
