// The instructions that the library is compiled for, and whether this processor has them.
//
// Compiled for every x86-64 processor. Libraries ask when they are loaded, before any
// code of theirs that is compiled for newer ones; any thread may ask.
#pragma once

#include <cstddef>

namespace tandem::processor {

/// Writes the names of missing instruction sets, separated by commas, into `names`; empty
/// where none is missing.
void list_missing(char* names, size_t size) noexcept;

/// The sentence a user gets, after the list of what is missing.
inline constexpr char kNeeds[] =
    "Tandem needs a processor with AVX2 and FMA (x86-64-v3: Intel since Haswell, 2013; "
    "AMD since Zen, "
    "2017). This processor, or the emulator, lacks: ";

}  // namespace tandem::processor
