// Saved models: functions as graphs, their variables and signatures in one folder, which
// a program runs without the code that made them. Written by tf.saved_model.save of the
// Python package; docs/saved-model.md describes the files. Any thread may call functions;
// calls that write the same variables take turns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/function.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

/// One signature of a saved model. Copies share the compiled function, which keeps the
/// variables alive.
class SavedFunction {
 public:
  /// In the order of operator(); names are those of the signature.
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<std::string>& outputs() const;

  /// Results by the order of outputs(). Throws InvalidArgumentError when a tensor does
  /// not fit. On a tape the call is recorded.
  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const;
  /// The same by names.
  std::map<std::string, Tensor> call(
      const std::map<std::string, Tensor>& arguments) const;
  /// What the last call became, as Function::explain().
  std::string explain() const;

 private:
  friend class SavedModel;
  struct State;
  std::shared_ptr<const State> state_;
};

class SavedModel {
 public:
  /// Reads everything; of a model that is saved over at the same time, one save or the
  /// other. Throws NotFoundError when the folder holds no saved model, and
  /// DataLossError when its files are damaged.
  explicit SavedModel(const std::string& folder);

  /// Names of the signatures, as they were saved.
  const std::vector<std::string>& signatures() const;
  /// Throws NotFoundError that lists the names there are.
  SavedFunction signature(const std::string& name = "serving_default") const;
  /// All variables of the functions; their values may be changed.
  const std::vector<Variable>& variables() const;

 private:
  struct State;
  static std::shared_ptr<const State> load(const std::string& folder);
  std::shared_ptr<const State> state_;
};

}  // namespace tandem
