#include "data/element_function.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "graph/lift_draws.h"
#include "op/emitter.h"
#include "run/compiled_function.h"
#include "run/tape.h"
#include "tandem/device.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {
// As an op of the pipeline, whatever the thread is at.
struct Outside {
  const DeviceScope cpu{"/device:CPU:0"};
  const EmitterScope eager{nullptr};
  const HideListeners unseen;
};

// Substituting reaches every function of a pipeline: here those that draw are noted.
thread_local std::vector<const void*> t_random;
}  // namespace

std::vector<const void*> random_sources(const Stage& stage) {
  t_random.clear();
  stage.substitute([](const Tensor& t) { return t; });
  std::sort(t_random.begin(), t_random.end());
  return std::exchange(t_random, {});
}
bool draws_random_numbers(const Stage& stage) { return !random_sources(stage).empty(); }

FunctionPtr UserFunction::substitute(const Substitution&) const {
  if (random()) t_random.push_back(source());
  return shared_from_this();
}

Element UserFunction::operator()(std::span<const Tensor> arguments,
                                 PassDraws& pass) const {
  const Outside outside;
  return call(arguments, take(arguments, pass));
}
Draws UserFunction::begin(std::span<const Tensor> arguments, PassDraws& pass) const {
  const Outside outside;
  return take(arguments, pass);
}
Element UserFunction::operator()(std::span<const Tensor> arguments,
                                 const Draws& draws) const {
  const Outside outside;
  return call(arguments, draws);
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
  Callable(ElementFunction function, bool ordered)
      : function_(std::move(function)), ordered_(ordered) {}
  bool ordered() const override { return ordered_; }
  bool random() const override { return ordered_; }

 private:
  Element call(std::span<const Tensor> arguments, const Draws&) const override {
    return function_(arguments);
  }
  const ElementFunction function_;
  const bool ordered_;
};

// The function that runs, and how it draws. Shared by those with other captures.
struct Drawing {
  Drawing(std::shared_ptr<CompiledFunction> f, bool draws) : random(draws) {
    const Graph& graph = f->function().graph();
    lifted = lift_draws(graph);
    function =
        lifted ? std::make_shared<CompiledFunction>(lifted->graph, GraphFunctionOptions{})
               : std::move(f);
    ordered = depends_on_order(function->function().graph());
    if (!lifted) return;
    for (const Tensor& t : lifted->sequences) starts.push_back(sequence_start(t));
    if (lifted->blocks) {
      blocks = std::make_shared<CompiledFunction>(lifted->blocks, GraphFunctionOptions{});
    }
  }
  std::shared_ptr<CompiledFunction> function;
  std::unique_ptr<LiftedDraws> lifted;       // null: what it draws, it draws inside
  std::vector<SequenceStart> starts;         // by draw
  std::shared_ptr<CompiledFunction> blocks;  // null: their numbers are known
  bool ordered = false;
  const bool random;
};

class Traced final : public UserFunction {
 public:
  Traced(std::shared_ptr<const Drawing> drawing, std::vector<Tensor> captures,
         std::vector<TracedResult> results, std::string what)
      : drawing_(std::move(drawing)),
        captures_(std::move(captures)),
        results_(std::move(results)),
        what_(std::move(what)) {}

  FunctionPtr substitute(const Substitution& s) const override {
    if (captures_.empty()) return UserFunction::substitute(s);
    if (random()) t_random.push_back(source());
    std::vector<Tensor> captures;
    for (const Tensor& t : captures_) captures.push_back(s(t));
    return std::make_shared<Traced>(drawing_, std::move(captures), results_, what_);
  }
  bool ordered() const override { return drawing_->ordered; }
  bool random() const override { return drawing_->random; }
  const void* source() const override { return drawing_.get(); }
  void give_back(const Draws& first, const Draws& last, PassDraws& pass) const override {
    for (size_t i = 0; i < first.size(); ++i) {
      pass.give_back(drawing_->lifted->sequences[i], first[i], last[i]);
    }
  }

 private:
  Element call(std::span<const Tensor> arguments, const Draws& draws) const override {
    Element values;
    try {
      values = run(arguments, draws);
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

  Element run(std::span<const Tensor> arguments, const Draws& draws) const {
    GraphFunction& function = drawing_->function->function();
    if (captures_.empty() && draws.empty()) return function.run(arguments);
    std::vector<Tensor> all = with_captures(arguments);
    for (const Draw& d : draws) {
      all.push_back(d.taken.key);
      all.push_back(d.taken.counter);
    }
    return function.run(all);
  }
  std::vector<Tensor> with_captures(std::span<const Tensor> arguments) const {
    std::vector<Tensor> all(arguments.begin(), arguments.end());
    all.insert(all.end(), captures_.begin(), captures_.end());
    return all;
  }

  Draws take(std::span<const Tensor> arguments, PassDraws& pass) const override {
    if (!drawing_->lifted) return {};
    const LiftedDraws& lifted = *drawing_->lifted;
    std::vector<Tensor> blocks;
    if (drawing_->blocks) {
      blocks = drawing_->blocks->function().run(with_captures(arguments));
    }
    Draws draws;
    for (size_t i = 0; i < lifted.sequences.size(); ++i) {
      draws.push_back(
          pass.take(lifted.sequences[i], drawing_->starts[i],
                    drawing_->blocks ? blocks[i].item<int64_t>() : lifted.known[i]));
    }
    return draws;
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

  const std::shared_ptr<const Drawing> drawing_;
  const std::vector<Tensor> captures_;
  const std::vector<TracedResult> results_;
  const std::string what_;
};

}  // namespace

FunctionPtr make_callable(ElementFunction function, bool ordered) {
  return std::make_shared<Callable>(std::move(function), ordered);
}

FunctionPtr make_traced_function(std::shared_ptr<CompiledFunction> function,
                                 std::vector<Tensor> captures,
                                 std::vector<TracedResult> results, std::string what,
                                 bool random) {
  for (const TracedResult& r : results) {
    if (!random && r.dataset) random = draws_random_numbers(*r.dataset);
  }
  return std::make_shared<Traced>(
      std::make_shared<const Drawing>(std::move(function), random), std::move(captures),
      std::move(results), std::move(what));
}

}  // namespace tandem::data
