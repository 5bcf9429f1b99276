// Stored graphs and plans from what a fuzzer gives: the header, which is JSON, a zero
// byte and the binary part. Sizes and checksum are put before them.
#pragma once

#include <cstring>
#include <vector>

#include "base/hash.h"
#include "fuzz/readers/support.h"
#include "graph/serialize.h"
#include "graph/stored_graph.h"
#include "tandem/ops/array.h"
#include "tandem/variable.h"

namespace tandem::fuzz {

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string stored(std::string begin, std::string_view input) {
  const std::string_view header = input.substr(0, input.find('\0'));
  std::string_view binary = input.substr(header.size());
  if (!binary.empty()) binary.remove_prefix(1);
  put(begin, uint64_t{header.size()});
  put(begin, uint64_t{binary.size()});
  put(begin, hash_bytes(binary, hash_bytes(header)));
  return begin.append(header).append(binary);
}

/// A variable as the file wants it, if it is small.
inline Tensor variable(const StoredVariable& wanted) {
  const Shape shape = wanted.shape.is_known() ? wanted.shape : Shape{1};
  if (shape.num_elements() > 1 << 16) throw ResourceExhaustedError("a large variable");
  static std::vector<Variable> kept;
  if (kept.size() > 64) kept.clear();
  kept.emplace_back(zeros(shape, wanted.dtype));
  return kept.back().handle();
}

}  // namespace tandem::fuzz
