// What the ISA sources of reductions export, once per instruction set, and the choice
// between them.
#pragma once

#include "kernels/cpu/reduce_loops.h"

#define TANDEM_REDUCE_ISA(isa)                                    \
  namespace tandem::cpu::isa {                                    \
  const ReduceLoops* sum_loops(Reducer reducer, DType dtype);     \
  const ReduceLoops* extreme_loops(Reducer reducer, DType dtype); \
  const ReduceLoops* block_loops(Reducer reducer, DType dtype);   \
  }

#if TANDEM_HAVE_V3
TANDEM_REDUCE_ISA(v3)
#endif
#if TANDEM_HAVE_V4
TANDEM_REDUCE_ISA(v4)
#endif
#if TANDEM_HAVE_GENERIC
TANDEM_REDUCE_ISA(generic)
#endif
#undef TANDEM_REDUCE_ISA
