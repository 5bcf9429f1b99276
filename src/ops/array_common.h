// What the array op definitions share: known values of small integer tensors, host lists,
// views.
#pragma once

#include <optional>
#include <span>

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/tensor.h"

namespace tandem {

/// Gives an output its (partly) known values; ignored where a tensor cannot carry any.
void set_value(TensorInfo& out, PartialValue value);
/// All values of an integer input in row-major order, or nothing when one is not known.
std::optional<Ints> known_ints(const TensorInfo& info);
/// The values of an integer vector as far as known: all unknown when only the length is.
/// Nothing when not even that is known.
std::optional<PartialValue> partial_ints(const TensorInfo& info);

/// All inputs of a call in a row.
inline std::span<const TensorInfo> inputs_of(const InferContext& c) {
  return {&c.input(0), static_cast<size_t>(c.num_inputs())};
}

/// Output 0 is input 0 in dtype, shape and value.
void infer_same(InferContext& c);
/// Output 0 is input 0 byte for byte.
std::optional<int64_t> view_whole(const Signature& s);
/// The gradient of a change of shape: back to the shape of input 0.
void grad_reshape_back(GradContext& c);

/// A list of numbers as an int64 vector on the host, for inputs that are read there.
Tensor host_vector(std::span<const int64_t> values);
inline Tensor host_vector(const Ints& values) {
  return host_vector(std::span<const int64_t>(values.data(), values.size()));
}

/// Row-major steps in elements.
Ints row_major(const Shape& shape);

// The parts of the family, one per file.
void register_array_block_ops(OpTable& table);
void register_array_broadcast_ops(OpTable& table);
void register_array_diag_ops(OpTable& table);
void register_array_join_ops(OpTable& table);
void register_array_make_ops(OpTable& table);
void register_array_pad_ops(OpTable& table);
void register_array_reshape_ops(OpTable& table);
void register_array_reverse_ops(OpTable& table);
void register_array_set_ops(OpTable& table);
void register_array_shape_ops(OpTable& table);
void register_array_slice_ops(OpTable& table);
void register_array_transpose_ops(OpTable& table);

}  // namespace tandem
