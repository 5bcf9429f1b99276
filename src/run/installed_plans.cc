#include "run/installed_plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// Two plans for the same call take and give the same and touch the same variables.
bool exchangeable(const PlannedGraph& a, const PlannedGraph& b) {
  const Graph &x = *a.graph, &y = *b.graph;
  const auto same = [](const ValueInfo& v, const ValueInfo& w) {
    return v.state == w.state && v.dtype == w.dtype && v.shape == w.shape;
  };
  if (x.parameters().size() != y.parameters().size()) return false;
  if (x.results().size() != y.results().size()) return false;
  for (size_t i = 0; i < x.parameters().size(); ++i) {
    if (!same(x.node(x.parameters()[i]).outputs[0], y.node(y.parameters()[i]).outputs[0]))
      return false;
  }
  for (size_t i = 0; i < x.results().size(); ++i) {
    const ValueRef v = x.results()[i], w = y.results()[i];
    if (v.defined() != w.defined()) return false;
    if (v.defined() && !same(x.info(v), y.info(w))) return false;
  }
  // Of sub-graphs too: their variables are states that the outer graph holds.
  const auto holds = [](const Graph& g, const Node& variable) {
    return std::any_of(g.nodes().begin(), g.nodes().end(), [&](const Node& n) {
      return n.kind == Node::Kind::kVariable &&
             n.constant.impl()->variable == variable.constant.impl()->variable;
    });
  };
  return std::all_of(y.nodes().begin(), y.nodes().end(), [&](const Node& n) {
    return n.kind != Node::Kind::kVariable || holds(x, n);
  });
}

}  // namespace

InstalledPlans::InstalledPlans(Graph source, std::vector<Device*> devices,
                               const PlanOptions& options)
    : source_(std::move(source)),
      devices_(std::move(devices)),
      deterministic_(options.deterministic) {
  all_.push_back(std::make_unique<Executable>(plan(options)));
  current_.store(all_.back().get(), std::memory_order_release);
}

std::shared_ptr<const PlannedGraph> InstalledPlans::plan(
    const PlanOptions& options) const {
  PlanOptions asked = options;
  asked.deterministic |= deterministic_;
  return make_plan(source_, devices_, asked);
}

size_t InstalledPlans::install(std::shared_ptr<const PlannedGraph> plan) {
  const std::string name = plan->graph->name();
  {
    const std::lock_guard lock(mutex_);
    if (!exchangeable(all_[0]->planned(), *plan)) {
      throw InvalidArgumentError(fmt::format(
          "{}: this plan, of {}, does not fit: its parameters, results or variables are "
          "others. Install plans that were made for the same function and arguments.",
          source_.name(), name));
    }
  }
  auto made = std::make_unique<Executable>(std::move(plan));
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(made));
  return all_.size() - 1;
}

void InstalledPlans::use(size_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= all_.size()) {
    throw OutOfRangeError(fmt::format("{}: there is no plan {}; {} are installed.",
                                      source_.name(), number, all_.size()));
  }
  current_.store(all_[number].get(), std::memory_order_release);
}

size_t InstalledPlans::size() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace tandem
