// Whether NVRTC takes a kernel's text: it needs no GPU.
// The error and the name of the text are told where it does not.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "kernels/cuda/compiler.h"

namespace tandem::cuda {

/// Unknown to the compiler, which then makes PTX for 90.
inline constexpr int kPtxOnly = 99;

inline void expect_compiles(const std::string& name, const std::string& text,
                            int arch = kPtxOnly) {
  try {
    EXPECT_GT(compile(name, text, arch).code.size(), 0u) << name;
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace tandem::cuda
