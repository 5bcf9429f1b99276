#include "run/installed_plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/runtime.h"
#include "run/dropped_plans.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// Memory of what stands in is given back only when the function's own plan has its own.
constexpr int64_t kMostBytes = int64_t{512} << 20;

int64_t arena_bytes(const PlannedGraph& planned) {
  int64_t most = 0;
  for (const PlanSpace& space : planned.plan.spaces) most = std::max(most, space.bytes);
  return most;
}

// It is made for recordings; outside of one the host looks at every predicate.
bool decides_on_a_device(const PlannedGraph& planned) {
  for (int32_t i = 0; i < planned.graph->size(); ++i) {
    const std::string& device = planned.plan.devices[static_cast<size_t>(i)];
    if (planned.graph->node(i).subgraphs.empty() || device.empty()) continue;
    if (!Runtime::get().named(device).is_host()) return true;
    for (const auto& sub : planned.subplans[static_cast<size_t>(i)]) {
      if (decides_on_a_device(*sub)) return true;
    }
  }
  return false;
}

// Where a plan has a value; empty: nowhere in particular.
std::string device_of(const PlannedGraph& p, ValueRef v) {
  const Place& place =
      p.plan.places[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  return place.space < 0 ? "" : p.plan.spaces[static_cast<size_t>(place.space)].device;
}

// Two plans for the same call take and give the same in the same places, and touch the
// same variables.
bool exchangeable(const PlannedGraph& a, const PlannedGraph& b) {
  const Graph &x = *a.graph, &y = *b.graph;
  const auto same = [](const ValueInfo& v, const ValueInfo& w) {
    return v.state == w.state && v.dtype == w.dtype && v.shape == w.shape;
  };
  if (x.parameters().size() != y.parameters().size()) return false;
  if (x.results().size() != y.results().size()) return false;
  for (size_t i = 0; i < x.parameters().size(); ++i) {
    const ValueRef v{x.parameters()[i], 0}, w{y.parameters()[i], 0};
    if (!same(x.info(v), y.info(w)) || device_of(a, v) != device_of(b, w)) return false;
  }
  for (size_t i = 0; i < x.results().size(); ++i) {
    const ValueRef v = x.results()[i], w = y.results()[i];
    if (v.defined() != w.defined()) return false;
    if (!v.defined()) continue;
    if (!same(x.info(v), y.info(w)) || device_of(a, v) != device_of(b, w)) return false;
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
                               const PlanOptions& options,
                               std::shared_ptr<ArenaPool> pool, const Graph* single_ops)
    : source_(std::move(source)),
      devices_(std::move(devices)),
      options_(options),
      pool_(std::move(pool)) {
  dropped_plans::sweep();
  PlanOptions first = options;
  first.wait_for_kernels = !single_ops;
  own_ = make(first);
  if (single_ops && own_->builds.must_compile()) {
    why_ = find_stand_in(*single_ops);
    if (stand_in_) {
      current_.store(stand_in_.get(), std::memory_order_release);
      stands_in_.store(true, std::memory_order_release);
      return;
    }
  }
  install_own();
}

InstalledPlans::~InstalledPlans() {
  for (auto& plan : all_) dropped_plans::add(std::move(plan));
  dropped_plans::add(std::move(stand_in_));
}

std::shared_ptr<const PlannedGraph> InstalledPlans::make(
    const PlanOptions& options) const {
  PlanOptions asked = options;
  asked.deterministic |= options_.deterministic;
  return make_plan(source_, devices_, asked);
}

// ---- Standing in

// Makes the plan that stands in, and says why it does; else why there is none.
std::string InstalledPlans::find_stand_in(const Graph& single_ops) {
  // Compiling twice helps nobody.
  const CollectBuilds existing(CollectBuilds::Ask::kExisting);
  PlanOptions options = options_;
  options.measure_kernels = false;
  try {
    auto planned = make_plan(single_ops, devices_, options);
    if (planned->builds.must_compile()) {
      return "calls waited for the compiler: kernels of single ops are not compiled "
             "either";
    }
    if (planned->plan.over_limit > 0 || arena_bytes(*planned) > kMostBytes) {
      return "calls waited for the compiler: single ops need more memory";
    }
    if (decides_on_a_device(*planned)) {
      return "calls waited for the compiler: a device decides its control flow";
    }
    if (!exchangeable(*own_, *planned)) {
      return "calls waited for the compiler: single ops use other variables";
    }
    planned->builds.get();  // loaded: none of its launches can fail for that
    stand_in_ = std::make_unique<Executable>(std::move(planned),
                                             Executable::Launches::kOneByOne, pool_);
  } catch (const Error& error) {
    return std::string("calls waited for the compiler: ") + error.what();
  }
  return "its kernels were not compiled yet";
}

// Called at the beginning of a call; others that begin at the same time do not wait.
void InstalledPlans::take_over() {
  const std::unique_lock lock(taking_over_, std::try_to_lock);
  if (lock && stands_in_.load(std::memory_order_acquire) && own_->builds.done()) {
    install_own();
  } else {
    ++stood_in_;
  }
}

void InstalledPlans::settle() {
  if (!stands_in_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(taking_over_);
  if (!stands_in_.load(std::memory_order_acquire)) return;
  own_->builds.wait();
  install_own();
}

void InstalledPlans::install_own() {
  // Candidates are timed when all of them are there.
  std::shared_ptr<const PlannedGraph> planned = own_;
  if (planned->unmeasured) planned = make(options_);
  auto made =
      std::make_unique<Executable>(planned, Executable::Launches::kCaptured, pool_);
  {
    const std::lock_guard lock(mutex_);
    own_ = std::move(planned);
    all_.push_back(std::move(made));
    current_.store(all_.back().get(), std::memory_order_release);
  }
  if (!stands_in_.exchange(false, std::memory_order_acq_rel)) return;
  stand_in_->retire();  // calls that are under way still use it
}

std::string InstalledPlans::describe() const {
  if (why_.empty()) return {};
  if (stands_in_.load(std::memory_order_acquire)) {
    return fmt::format("single ops stand in for the fused plan: {}\n", why_);
  }
  if (!stand_in_) return why_ + "\n";
  return fmt::format("single ops stood in for the fused plan in {} calls: {}\n",
                     stood_in_.load(), why_);
}

// ---- Other plans

std::shared_ptr<const PlannedGraph> InstalledPlans::plan(const PlanOptions& options) {
  settle();
  return make(options);
}

size_t InstalledPlans::install(std::shared_ptr<const PlannedGraph> plan) {
  settle();
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
  auto made = std::make_unique<Executable>(std::move(plan),
                                           Executable::Launches::kCaptured, pool_);
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(made));
  return all_.size() - 1;
}

void InstalledPlans::use(size_t number) {
  settle();
  const std::lock_guard lock(mutex_);
  if (number >= all_.size()) {
    throw OutOfRangeError(fmt::format("{}: there is no plan {}; {} are installed.",
                                      source_.name(), number, all_.size()));
  }
  current_.store(all_[number].get(), std::memory_order_release);
}

size_t InstalledPlans::size() {
  settle();
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace tandem
