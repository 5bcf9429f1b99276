// Tandem's worker of `make bench-step`: one training step with Adam of each model.
// common/worker.h has the protocol; a case also answers with the losses of its first
// steps and with what the step became.
#include <cmath>

#include "common/worker.h"
#include "models.h"
#include "tandem/function.h"
#include "tandem/train.h"

namespace {

namespace td = tandem;
using bench::Case;
using bench::step::ModelCase;
using td::Tensor;

/// Small enough that thousands of steps on one batch stay near the first weights: a model
/// that has learnt its batch computes with denormal numbers.
constexpr double kTimingRate = 1e-6;
/// Adam's; small, since PyTorch adds it in another place than Keras.
constexpr double kEpsilon = 1e-9;
constexpr int kCheckSteps = 5;

Tensor first_value(const td::Variable& v, size_t index) {
  const td::Shape& s = v.shape();
  const double inputs = static_cast<double>(s.num_elements() / s.dim(-1));
  const auto limit = static_cast<float>(std::sqrt(3 / inputs));
  return td::constant(bench::random_values(10 + index, s.num_elements(), -limit, limit),
                      s);
}

struct Training {
  bench::step::Model model;
  td::optimizers::Adam adam;
  Tensor x, y;

  explicit Training(const ModelCase& c)
      : model(c.make()), adam({.learning_rate = c.check_rate, .epsilon = kEpsilon}) {
    for (size_t i = 0; i < model.variables.size(); ++i) {
      td::Variable& v = model.variables[i];
      if (v.shape().rank() >= 2) v.assign(first_value(v, i));
    }
    const int64_t n = c.input.num_elements();
    x = c.tokens ? td::constant(bench::random_indices(1, n, c.tokens), c.input)
                 : td::constant(bench::random_values(1, n), c.input);
    y = td::constant(bench::random_indices(2, c.input[0], bench::step::kClasses));
  }

  Tensor step(const Tensor& inputs, const Tensor& labels) {
    td::GradientTape tape;
    const Tensor loss = td::losses::sparse_categorical_crossentropy(
        labels, model.logits(inputs), {.from_logits = true});
    adam.apply(tape.gradient(loss, model.variables), model.variables);
    return loss;
  }
};

/// Steps that are recorded, one after the other: what one of them takes and what its
/// kernels take of that, by the same clock. The difference is an upper bound of what the
/// library adds, since recording itself is in it. The median of a few batches of steps.
template <class Step>
std::string kernel_times(const Step& step) {
  struct Batch {
    double step_ns = 0, kernel_ns = 0;
    int64_t kernels = 0;
    double overhead() const { return step_ns - kernel_ns; }
  };
  constexpr size_t kMost = 7;
  constexpr int64_t kSteps = 10;
  constexpr double kBudgetNs = 200e6;
  std::vector<Batch> batches;
  for (double spent = 0; batches.size() < kMost && spent < kBudgetNs;) {
    td::start_recording();
    const double took = bench::time_ns(
        [&](int64_t n) {
          for (int64_t i = 0; i < n; ++i) step().wait();
        },
        kSteps);
    Batch batch{.step_ns = took / kSteps};
    for (const td::RecordedEvent& e : td::stop_recording()) {
      if (e.kind != "op") continue;
      batch.kernel_ns += (e.end - e.begin) * 1e9 / kSteps;
      ++batch.kernels;
    }
    batch.kernels /= kSteps;
    batches.push_back(batch);
    spent += took;
  }
  const auto middle = batches.begin() + static_cast<int64_t>(batches.size() / 2);
  std::nth_element(
      batches.begin(), middle, batches.end(),
      [](const Batch& a, const Batch& b) { return a.overhead() < b.overhead(); });
  std::ostringstream out;
  out << "{\"step_ns\": " << middle->step_ns << ", \"ns\": " << middle->kernel_ns
      << ", \"count\": " << middle->kernels << '}';
  return out.str();
}

Case make_case(const ModelCase& c) {
  auto training = std::make_shared<Training>(c);
  auto step = td::function([t = training.get()](Tensor inputs, Tensor labels) {
    return t->step(inputs, labels);
  });
  std::vector<double> losses;
  for (int i = 0; i < kCheckSteps; ++i) {
    losses.push_back(step(training->x, training->y).template item<float>());
  }
  training->adam.set_learning_rate(kTimingRate);
  Case result;
  result.body = [training, step](int64_t n) {
    Tensor loss;
    for (int64_t i = 0; i < n; ++i) loss = step(training->x, training->y);
    loss.wait();
  };
  result.more = [training, step, losses] {
    return ", \"losses\": " + bench::json_list(losses) +
           ", \"explain\": " + bench::json_string(step.explain()) + ", \"kernels\": " +
           kernel_times([&] { return step(training->x, training->y); });
  };
  return result;
}

/// A chain of a thousand ops, none of which can be joined with the next: what planning
/// takes is in its explanation.
Case plan_1000() {
  auto chain = td::function([](Tensor x) {
    for (int i = 0; i < 1000; ++i) x = td::reverse(x, {.axis = {i % 2}});
    return x;
  });
  const Tensor x = td::constant(bench::random_values(1, 16), {4, 4});
  Case result;
  result.body = [chain, x](int64_t n) {
    for (int64_t i = 0; i < n; ++i) chain(x).wait();
  };
  result.more = [chain] {
    return ", \"explain\": " + bench::json_string(chain.explain());
  };
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Worker w{.name = "tandem", .library = "Tandem " TANDEM_VERSION " (C++)"};
  w.threads = bench::threads_argument(argc, argv);
  td::config::set_intra_op_parallelism_threads(w.threads);
  for (const ModelCase& c : bench::step::model_cases()) {
    w.cases.emplace_back(c.name, [&c] { return make_case(c); });
  }
  w.cases.emplace_back("plan_1000", plan_1000);
  return bench::serve(w);
}
