#include "data/stage.h"

#include <set>

#include "base/recorder.h"
#include "data/dataset_tensor.h"
#include "tensor/variant.h"

namespace tandem::data {

bool Cursor::next(Element& element) {
  context_.cancellation->check();
  poll_interrupt();
  if (ended_) return false;
  if (recorder::enabled()) return next_recorded(element);
  return !(ended_ = !advance(element));
}

int64_t Cursor::pass_over(int64_t) {
  Element element;
  return next(element) ? 1 : 0;
}

bool Cursor::next_recorded(Element& element) {
  const int64_t begin = recorder::now_ns();
  ended_ = !advance(element);
  recorder::record(recorder::Kind::kMark, name_, "data", begin, recorder::now_ns(), 0,
                   context_.path.get().text());
  return !ended_;
}

int64_t Size::get() const {
  if (known()) return value_;
  throw InternalError(
      "A dataset that was made while a function was traced is iterated over before the "
      "function ran. Iterate over it inside the function, or return it.");
}

Size Size::substitute(const Substitution& s) const {
  if (known()) return *this;
  const Tensor value = s(symbolic_);
  if (value.impl()->symbolic) return Size(value);
  const Ints ints = host_ints(value, "a count of a dataset");
  if (ints.size() != 1) {
    throw InvalidArgumentError("A count of a dataset must be a scalar, its shape is " +
                               value.shape().str() + ".");
  }
  return ints[0];
}

Tensor substituted(const Tensor& tensor, const Substitution& s) {
  if (tensor.impl()->symbolic) return s(tensor);
  const auto* stage = variant_value<StagePtr>(tensor);
  // Others stay what they are: a cache is one by its identity.
  if (!stage || symbolic_tensors(**stage).empty()) return tensor;
  return make_variant((*stage)->substitute(s));
}

std::vector<Tensor> symbolic_tensors(const Stage& stage) {
  std::vector<Tensor> found;
  std::set<const SymbolicValue*> seen;
  stage.substitute([&](const Tensor& t) {
    if (t.impl()->symbolic && seen.insert(t.impl()->symbolic.get()).second) {
      found.push_back(t);
    }
    return t;
  });
  return found;
}

namespace {

// A dataset that is itself a value of a trace: a parameter, until a value takes its
// place.
class TracedStage final : public Stage {
 public:
  TracedStage(Tensor tensor, std::vector<Component> components)
      : Stage("Dataset", std::move(components)), tensor_(std::move(tensor)) {}

  std::unique_ptr<Cursor> make_cursor(const Context&) const override {
    throw InternalError(
        "A dataset that is a value of a traced function is iterated over outside it.");
  }
  StagePtr substitute(const Substitution& s) const override {
    const Tensor value = s(tensor_);
    return value.impl()->symbolic ? shared_from_this() : dataset_of(value).stage();
  }

 private:
  const Tensor tensor_;
};

}  // namespace

StagePtr make_traced(const Tensor& tensor, std::vector<Component> components) {
  return std::make_shared<TracedStage>(tensor, std::move(components));
}

Tensor dataset_tensor(const Dataset& dataset) {
  return make_variant(StagePtr(dataset.stage()));
}

Dataset dataset_of(const Tensor& tensor) {
  if (const auto* stage = variant_value<StagePtr>(tensor)) return Dataset(*stage);
  throw InvalidArgumentError(fmt::format(
      "Expected a dataset, got a tensor of dtype {}{}.",
      tensor.defined() ? dtype_name(tensor.dtype()) : "<undefined>",
      tensor.defined() && tensor.dtype() == DType::kVariant ? " that holds something else"
                                                            : ""));
}

}  // namespace tandem::data
