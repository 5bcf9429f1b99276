// The elements of an array as NumPy 2.4 prints them, one word each, before they are laid
// out in lines. Pure functions on host memory, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/dtype.h"

namespace tandem {

/// One word for each of the elements at these indices. Numbers are padded to a common
/// width, which depends on the others that are shown.
std::vector<std::string> element_words(DType dtype, const void* data,
                                       std::span<const int64_t> shown);

/// str() of a NumPy scalar, or repr() of the Python value that it converts to.
enum class ScalarStyle { kNumpyStr, kPythonRepr };
std::string scalar_text(DType dtype, const void* data, ScalarStyle style);

/// Python's bytes literal: b'a\n', with double quotes where the bytes have only single
/// ones.
std::string bytes_literal(std::string_view bytes);

}  // namespace tandem
