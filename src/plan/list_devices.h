// Lists of tensors and devices: a list itself is a handle of the host, its elements are
// where they were made, and stay there. A plan knows that device by following lists from
// what is put into them; where it is wrong an element is copied when it is used. Pure;
// any thread.
#pragma once

#include "device/device.h"
#include "op/op_def.h"

namespace tandem {

/// Whether an op works on lists alone: a host function whose elements may be anywhere.
bool is_list_op(const OpDef& op);

/// The input that becomes elements of the list; -1: none.
int element_input(const OpDef& op);

/// The output that is made of elements; -1: none.
int element_output(const OpDef& op);

}  // namespace tandem
