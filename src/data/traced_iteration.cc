// Iterators as values of traced functions (ops/iterate.h).
#include "data/traced_iteration.h"

#include <memory>
#include <mutex>

#include "data/stage.h"
#include "ops/iterate.h"
#include "tensor/variant.h"

namespace tandem::data {

namespace {

struct SharedIterator {
  explicit SharedIterator(const Dataset& dataset) : iterator(dataset) {}
  std::mutex mutex;
  Iterator iterator;  // guarded by mutex
};

bool next_of(const Tensor& iterator, std::vector<Tensor>& components) {
  if (const auto* next = variant_value<NextFunction>(iterator))
    return (*next)(components);
  throw InvalidArgumentError("Expected an iterator, got another kind of value.");
}

// `values` are in the order of symbolic_tensors().
Tensor make_iterator(const Tensor& dataset, std::span<const Tensor> values) {
  StagePtr stage = dataset_of(dataset).stage();
  if (!values.empty()) {
    const std::vector<Tensor> symbolic = symbolic_tensors(*stage);
    stage = stage->substitute([&](const Tensor& t) {
      for (size_t i = 0; i < symbolic.size() && i < values.size(); ++i) {
        if (symbolic[i].impl()->symbolic == t.impl()->symbolic) return values[i];
      }
      return t;
    });
  }
  auto shared = std::make_shared<SharedIterator>(Dataset(stage));
  return iterator_tensor([shared](Element& element) {
    const std::lock_guard lock(shared->mutex);
    return shared->iterator.next(element);
  });
}

[[maybe_unused]] const bool g_installed =
    (set_iteration_functions({make_iterator, next_of}), true);

}  // namespace

Tensor iterator_tensor(NextFunction next) { return make_variant(std::move(next)); }

}  // namespace tandem::data
