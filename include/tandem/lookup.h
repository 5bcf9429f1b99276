// Tables from keys to values: int64 or string keys, scalar values of one dtype. A table
// is known by its number, which ops carry as an attribute; it lives until drop_table().
// Any thread may look up and change it.
#pragma once

#include <cstdint>

#include "tandem/attrs.h"
#include "tandem/tensor.h"

namespace tandem::lookup {

struct TableAttrs {
  int64_t table = 0;
  TANDEM_ATTRS(TableAttrs, table)
};

/// A new, empty table.
int64_t make_table(DType key, DType value);
/// Ops that still name it fail with NotFoundError.
void drop_table(int64_t table);

/// The values of keys; `fallback` (a scalar) where there is none.
Tensor find(int64_t table, const Tensor& keys, const Tensor& fallback);
/// Adds entries, and replaces those that are there.
void insert(int64_t table, const Tensor& keys, const Tensor& values);
void remove(int64_t table, const Tensor& keys);
/// int64.
Tensor size(int64_t table);

}  // namespace tandem::lookup
