// Gradients of eager computations: GradientTape (reverse mode), ForwardAccumulator
// (forward mode), IndexedSlices, and functions with gradients of their own. Tapes are
// recorded by the thread that made them.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

/// Rows `indices` of a tensor of shape `dense_shape` have the given values, all others
/// are zero; equal indices add up. Gradients of gather and embedding lookup are of this
/// form.
struct IndexedSlices {
  Tensor values;
  Tensor indices;
  Tensor dense_shape;
};

/// What a tape returns for one source: nothing, a tensor, or slices.
class Gradient {
 public:
  Gradient() = default;
  Gradient(Tensor dense) : dense_(std::move(dense)) {}
  Gradient(IndexedSlices slices)
      : slices_(std::make_shared<IndexedSlices>(std::move(slices))) {}

  /// False when the target does not depend on the source.
  bool defined() const { return dense_.defined() || slices_; }
  bool is_slices() const { return slices_ != nullptr; }
  const IndexedSlices& slices() const { return *slices_; }
  /// The gradient as one tensor; slices are added up into it. Undefined when `defined()`
  /// is false.
  Tensor dense() const;
  operator Tensor() const { return dense(); }

 private:
  Tensor dense_;
  std::shared_ptr<IndexedSlices> slices_;
};

/// A tensor or a variable: what gradients are taken with respect to.
class Source {
 public:
  Source(const Tensor& tensor) : tensor_(tensor) {}
  Source(const Variable& variable) : tensor_(variable.handle()) {}
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

enum class Unconnected { kNone, kZero };

struct TapeOptions {
  bool persistent = false;
  bool watch_accessed_variables = true;
};

struct GradientOptions {
  Unconnected unconnected = Unconnected::kNone;
  /// Gradients of something with respect to the targets; ones when empty.
  std::vector<Tensor> output_gradients = {};
};

class Tape;  // internal record

class GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;
  ~GradientTape();

  void watch(const Source& source);
  std::vector<Variable> watched_variables() const;
  /// Forgets what was recorded.
  void reset();
  /// Ops are not recorded while `body` runs.
  void stop_recording(const std::function<void()>& body);
  /// Stops recording for good, as leaving the `with` block does in Python.
  void stop();

  /// Throws RuntimeStateError when a tape that is not persistent is asked twice.
  std::vector<Gradient> gradient(std::span<const Tensor> targets,
                                 std::span<const Source> sources,
                                 const GradientOptions& options = {});
  template <size_t N>
  std::array<Gradient, N> gradient(const Tensor& target, const Source (&sources)[N],
                                   const GradientOptions& options = {}) {
    auto list = gradient(std::span<const Tensor>(&target, 1),
                         std::span<const Source>(sources, N), options);
    std::array<Gradient, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = std::move(list[i]);
    return result;
  }
  /// One variable or tensor.
  template <class S>
    requires(std::same_as<S, Variable> || std::same_as<S, Tensor>)
  Gradient gradient(const Tensor& target, const S& source,
                    const GradientOptions& options = {}) {
    const Source one(source);
    return gradient(std::span<const Tensor>(&target, 1), std::span<const Source>(&one, 1),
                    options)[0];
  }
  /// A vector of variables or of tensors.
  template <class T>
    requires std::is_convertible_v<const T&, Source>
  std::vector<Gradient> gradient(const Tensor& target, const std::vector<T>& sources,
                                 const GradientOptions& options = {}) {
    const std::vector<Source> list(sources.begin(), sources.end());
    return gradient(std::span<const Tensor>(&target, 1), std::span<const Source>(list),
                    options);
  }
  /// d target / d source with shape target.shape + source.shape.
  Tensor jacobian(const Tensor& target, const Source& source,
                  Unconnected unconnected = Unconnected::kNone);
  /// Per-example jacobians: [b, n…] and [b, m…] give [b, n…, m…].
  Tensor batch_jacobian(const Tensor& target, const Source& source,
                        Unconnected unconnected = Unconnected::kNone);

 private:
  std::shared_ptr<Tape> tape_;
};

/// Forward mode: directional derivatives along `tangents`, computed as ops run.
class ForwardAccumulator {
 public:
  ForwardAccumulator(const std::vector<Source>& primals,
                     const std::vector<Tensor>& tangents);
  ForwardAccumulator(const ForwardAccumulator&) = delete;
  ForwardAccumulator& operator=(const ForwardAccumulator&) = delete;
  ~ForwardAccumulator();
  /// The tangent of a tensor computed in this accumulator's lifetime; undefined (or
  /// zeros) when it does not depend on the primals.
  Tensor jvp(const Tensor& target, Unconnected unconnected = Unconnected::kNone) const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// Same values, no gradient.
Tensor stop_gradient(const Tensor& x);

/// Upstream gradients in, gradients of the inputs out.
using BackwardFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Computes outputs and returns how to go back; gradients take that way alone.
using CustomForwardFn =
    std::function<std::pair<std::vector<Tensor>, BackwardFn>(const std::vector<Tensor>&)>;
/// Runs `forward` with a gradient of the caller's own.
std::vector<Tensor> custom_gradient(const CustomForwardFn& forward,
                                    const std::vector<Tensor>& inputs);
/// Runs `f` and, in the backward pass, runs it again instead of keeping its
/// intermediates.
std::vector<Tensor> recompute_grad(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs);

}  // namespace tandem
