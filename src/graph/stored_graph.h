// The stored form that graph/serialize.cc writes and graph/deserialize.cc reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace tandem::stored {

inline constexpr std::string_view kMagic = "TDMGRAPH";
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kPrefix = 8 + 4 + 8 + 8 + 8;
/// Sub-graphs in sub-graphs; more is no program.
inline constexpr int kMaxDepth = 64;

/// By Node::Kind.
inline constexpr std::array<std::string_view, 9> kKinds = {
    "parameter", "constant", "variable", "op", "copy", "if", "case", "while", "call"};

}  // namespace tandem::stored
