// References for array ops: outputs described by where each element comes from.
#pragma once

#include <functional>
#include <optional>

#include "ops/case_parts.h"
#include "tandem/ops/array.h"

namespace tandem::testing {

using Coord = std::vector<int64_t>;

/// Where an output element comes from in an input; nothing: zero, or empty for strings.
using Source = std::function<std::optional<Coord>(const Coord& out)>;
/// The output of that shape, element by element.
Ref mapped(const Ref& in, const Shape& out, const Source& source);
/// A case's reference made of it, from input 0.
Reference moved(Shape out, Source source);
/// Row-major position of a coordinate, and back.
size_t position(const Shape& shape, const Coord& at);
Coord coordinate(const Shape& shape, size_t i);

/// One dtype of each element size, and those with rules of their own.
extern const std::vector<DType> kMoved;

void add_array_diag_cases(CaseList& cases);
void add_array_join_cases(CaseList& cases);
void add_array_layout_cases(CaseList& cases);
void add_array_slice_cases(CaseList& cases);

}  // namespace tandem::testing
