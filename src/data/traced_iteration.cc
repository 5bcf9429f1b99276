// Iterators as values of traced functions (ops/iterate.h).
#include "data/traced_iteration.h"

#include <memory>
#include <mutex>

#include "data/stage.h"
#include "device/runtime.h"
#include "ops/iterate.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

struct SharedIterator {
  explicit SharedIterator(const Dataset& dataset) : iterator(dataset) {}
  std::mutex mutex;
  Iterator iterator;  // guarded by mutex
};

bool next_of(const Tensor& iterator, std::vector<Tensor>& components) {
  return static_cast<const NextFunction*>(iterator.impl()->data())
      ->operator()(components);
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

Tensor iterator_tensor(NextFunction next) {
  Device& cpu = Runtime::get().cpu();
  auto* kept = new NextFunction(std::move(next));
  return make_tensor(DType::kVariant, Shape{}, cpu,
                     Buffer::foreign(cpu, kept, 0, [kept] { delete kept; }), 0);
}

}  // namespace tandem::data
