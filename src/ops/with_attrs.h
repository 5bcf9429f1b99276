// Attributes for an entry of the table that a builder made without. Any thread.
#pragma once

#include "op/op_def.h"

namespace tandem {

template <class A>
OpDef with_attrs(OpDef def) {
  def.attrs = &attrs_type<A>();
  return def;
}

}  // namespace tandem
