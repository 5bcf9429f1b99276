#include "data/element_function.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "run/compiled_function.h"
#include "run/tape.h"
#include "tandem/device.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

Element UserFunction::operator()(std::span<const Tensor> arguments) const {
  const DeviceScope cpu("/device:CPU:0");
  const EmitterScope eager(nullptr);
  const HideListeners unseen;
  return call(arguments);
}

bool truth_of(const Element& result, const char* what) {
  if (result.size() != 1 || result[0].dtype() != DType::kBool || result[0].rank() != 0) {
    throw InvalidArgumentError(fmt::format(
        "{}: the predicate must return one scalar of dtype bool, it returned {}.", what,
        result.empty() ? std::string("nothing") : result[0].repr()));
  }
  return result[0].item<bool>();
}

namespace {

class Callable final : public UserFunction {
 public:
  explicit Callable(ElementFunction function) : function_(std::move(function)) {}

 private:
  Element call(std::span<const Tensor> arguments) const override {
    return function_(arguments);
  }
  const ElementFunction function_;
};

class Traced final : public UserFunction {
 public:
  Traced(std::shared_ptr<CompiledFunction> function, std::vector<Tensor> captures,
         std::vector<TracedResult> results, std::string what)
      : function_(std::move(function)),
        captures_(std::move(captures)),
        results_(std::move(results)),
        what_(std::move(what)) {}

  FunctionPtr substitute(const Substitution& s) const override {
    if (captures_.empty()) return shared_from_this();
    std::vector<Tensor> captures;
    for (const Tensor& t : captures_) captures.push_back(s(t));
    return std::make_shared<Traced>(function_, std::move(captures), results_, what_);
  }

 private:
  Element call(std::span<const Tensor> arguments) const override {
    Element values;
    try {
      values = run(arguments);
    } catch (const Error& e) {
      throw_error(e.code(),
                  fmt::format("Error in user-defined function {}: {}", what_, e.what()));
    }
    Element result;
    result.reserve(results_.size());
    for (const TracedResult& r : results_) {
      result.push_back(r.dataset ? dataset(r, values) : values[r.index]);
    }
    return result;
  }

  Element run(std::span<const Tensor> arguments) const {
    if (captures_.empty()) return function_->function().run(arguments);
    std::vector<Tensor> all(arguments.begin(), arguments.end());
    all.insert(all.end(), captures_.begin(), captures_.end());
    return function_->function().run(all);
  }

  static Tensor dataset(const TracedResult& r, const Element& values) {
    const StagePtr stage = r.dataset->substitute([&](const Tensor& t) {
      for (const auto& [symbolic, index] : r.tensors) {
        if (symbolic.impl()->symbolic == t.impl()->symbolic) return values[index];
      }
      return t;
    });
    return dataset_tensor(Dataset(stage));
  }

  const std::shared_ptr<CompiledFunction> function_;
  const std::vector<Tensor> captures_;
  const std::vector<TracedResult> results_;
  const std::string what_;
};

}  // namespace

FunctionPtr make_callable(ElementFunction function) {
  return std::make_shared<Callable>(std::move(function));
}

FunctionPtr make_traced_function(std::shared_ptr<CompiledFunction> function,
                                 std::vector<Tensor> captures,
                                 std::vector<TracedResult> results, std::string what) {
  return std::make_shared<Traced>(std::move(function), std::move(captures),
                                  std::move(results), std::move(what));
}

}  // namespace tandem::data
