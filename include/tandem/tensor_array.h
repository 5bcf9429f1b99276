// TensorArray: a list of tensors of one dtype that is written element by element, as in
// tf.TensorArray. A plain value: every change gives a new array, so that it can be a
// variable of a loop (flow() and from_flow()) and gradients go through it. Eagerly and in
// traced functions.
#pragma once

#include <vector>

#include "tandem/tensor.h"

namespace tandem {

struct TensorArrayOptions {
  DType dtype = DType::kFloat32;
  int64_t size = 0;
  /// Writing beyond the end makes the array longer.
  bool dynamic_size = false;
  /// A shape that all elements have; dimensions may be unknown.
  Shape element_shape = Shape::unknown();
};

class TensorArray {
 public:
  explicit TensorArray(const TensorArrayOptions& options);
  /// The same with a size that is a tensor (an int32 scalar).
  TensorArray(const Tensor& size, const TensorArrayOptions& options);

  DType dtype() const { return options_.dtype; }
  bool dynamic_size() const { return options_.dynamic_size; }
  const Shape& element_shape() const { return options_.element_shape; }
  /// Number of elements, an int32 scalar.
  Tensor size() const;

  [[nodiscard]] TensorArray write(const Tensor& index, const Tensor& value) const;
  /// The element; zeros where none was written and the shape is known.
  Tensor read(const Tensor& index) const;
  /// All elements as the rows of one tensor.
  Tensor stack() const;
  /// An array of the rows of a tensor.
  [[nodiscard]] TensorArray unstack(const Tensor& value) const;
  /// The elements at some indices as the rows of one tensor.
  Tensor gather(const Tensor& indices) const;
  [[nodiscard]] TensorArray scatter(const Tensor& indices, const Tensor& value) const;
  /// All elements joined along their first dimension.
  Tensor concat() const;
  /// An array of parts of so many rows (int64 vector).
  [[nodiscard]] TensorArray split(const Tensor& value, const Tensor& lengths) const;

  /// The array as a value that loops can carry, and back.
  const Tensor& flow() const { return list_; }
  [[nodiscard]] TensorArray from_flow(const Tensor& flow) const;

 private:
  TensorArray(TensorArrayOptions options, Tensor list)
      : options_(std::move(options)), list_(std::move(list)) {}
  TensorArray with(Tensor list, const Shape& element) const;
  TensorArrayOptions options_;
  Tensor list_;
};

}  // namespace tandem
