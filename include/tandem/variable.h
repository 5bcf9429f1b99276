// Variable: a named place whose value can be replaced. Reading gives a snapshot that
// later writes do not change. Any thread may read and write; each write is atomic.
#pragma once

#include <string>

#include "tandem/tensor.h"

namespace tandem {

struct VariableImpl;

/// Options of a variable; the shape, when given, may leave dimensions open.
struct VariableOptions {
  std::string name = "Variable";
  bool trainable = true;
  Shape shape = Shape::unknown();
};

class Variable {
 public:
  Variable() = default;
  /// Lives on the device of the current scope, or where `initial` is when there is none.
  explicit Variable(const Tensor& initial, VariableOptions options = {});
  /// A variable without a value: graphs are made with it, and each session gives it one.
  static Variable declare(DType dtype, VariableOptions options);
  /// The variable behind a resource tensor.
  static Variable from_handle(Tensor resource_handle);

  bool defined() const { return handle_.defined(); }
  DType dtype() const;
  /// The declared shape: the initial value's unless options left dimensions open.
  const Shape& shape() const;
  const std::string& device() const;
  const std::string& name() const;
  bool trainable() const;

  /// A snapshot of the value; the gradient tape sees it.
  Tensor read() const;
  operator Tensor() const { return read(); }

  void assign(const Tensor& value);
  void assign_add(const Tensor& delta);
  void assign_sub(const Tensor& delta);

  /// Sparse updates of rows: indices [n…], updates [n…, row…]. Duplicate indices
  /// accumulate.
  void scatter_update(const Tensor& indices, const Tensor& updates);
  void scatter_add(const Tensor& indices, const Tensor& updates);
  void scatter_sub(const Tensor& indices, const Tensor& updates);
  void scatter_mul(const Tensor& indices, const Tensor& updates);
  void scatter_div(const Tensor& indices, const Tensor& updates);
  void scatter_min(const Tensor& indices, const Tensor& updates);
  void scatter_max(const Tensor& indices, const Tensor& updates);
  /// Rows of the value without reading all of it.
  Tensor gather(const Tensor& indices) const;

  /// "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=…>"
  std::string repr() const;

  /// The resource tensor that ops take; its identity is the variable's.
  const Tensor& handle() const { return handle_; }

 private:
  Tensor handle_;
};

}  // namespace tandem
