// Shape and dtype inference on partly known shapes and values (design, decision 17). Runs
// for eager calls (everything known), for tracing, and in tests with unknown dimensions.
// A pure function of its context; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "op/attrs.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"
#include "tensor/tensor_impl.h"

namespace tandem {

struct OpDef;

/// What is known about a tensor.
struct TensorInfo {
  DType dtype = DType::kInvalid;
  Shape shape;
  /// Element values of a small integer tensor as far as known; has_value says whether any
  /// are.
  PartialValue value;
  bool has_value = false;
  /// The whole contents on the host when known (constants, host inputs), else null.
  const void* data = nullptr;
};

class InferContext {
 public:
  InferContext(const OpDef& op, AttrsRef attrs, std::span<const TensorInfo> inputs)
      : op_(op), attrs_(attrs), inputs_(inputs) {}

  const OpDef& op() const { return op_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const TensorInfo& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  std::span<const TensorInfo> inputs() const { return inputs_; }
  DType dtype(int i) const { return input(i).dtype; }
  const Shape& shape(int i) const { return input(i).shape; }
  template <class A>
  const A& attrs() const {
    return attrs_.as<A>();
  }
  AttrsRef attrs_ref() const { return attrs_; }

  TensorInfo& add_output(DType dtype, const Shape& shape) {
    outputs_.push_back(TensorInfo{dtype, shape, {}, false, nullptr});
    return outputs_.back();
  }
  std::vector<TensorInfo>& outputs() { return outputs_; }

  /// The dtype that type variable `name` has in this call.
  DType type(char name = 'T') const;

  // ---- Checks; each throws InvalidArgumentError that names the op and the value
  // ------------
  [[noreturn]] void fail(const std::string& message) const;
  void require(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }
  /// Inputs i and j have one dtype (TensorFlow's words when not).
  void same_dtype(int i, int j) const;
  /// dtype of input i is one of a class; `allowed` is printed.
  void dtype_in(int i, std::initializer_list<DType> allowed) const;
  void floating(int i) const;  // float16…float64
  void floating_or_complex(int i) const;
  void numeric(int i) const;
  void integer(int i) const;
  void rank(int i, int rank) const;
  void rank_at_least(int i, int rank) const;
  /// axis in [-rank, rank) → [0, rank).
  int axis(int64_t axis, int rank) const;

  /// The shape that an integer input spells out; dimensions unknown where its values are.
  Shape shape_from_value(int i) const;
  /// Shape after NumPy broadcasting; throws with TensorFlow's "Incompatible shapes: [2,3]
  /// vs. [4]".
  Shape broadcast(const Shape& a, const Shape& b) const;

 private:
  const OpDef& op_;
  AttrsRef attrs_;
  std::span<const TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
};

/// Checks dtypes against the op's type variables, then runs its inference.
void infer_call(InferContext& context);

/// Broadcast shape of two partly known shapes; false when they cannot be.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out);

}  // namespace tandem
