#include "plan/side_lanes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/idx.h"
#include "base/recorder.h"
#include "device/runtime.h"
#include "op/host_function.h"
#include "plan/branches.h"
#include "plan/kernel_choice.h"
#include "tandem/device.h"

namespace tandem {

namespace {

// One core, roughly: enough to tell work that matters from work that does not.
constexpr double kFlopsPerUs = 5e4;
constexpr double kBytesPerUs = 1e4;
// Part of an operator that more threads do not make faster, and what starting them takes.
constexpr double kSerialPart = 0.05;
constexpr double kTeamUs = 5;
constexpr double kGrainUs = 20;
// More lanes than this leave each too few cores, unless somebody asks for them.
constexpr int kMostLanes = 4;
// A plan is not held up for longer by measurements for its branches.
constexpr int64_t kMeasuringNs = 200'000'000;

int lanes_allowed(const PlanOptions& options, int threads) {
  if (options.branches == PlanOptions::Branches::kOff) return 1;
  const int configured = config::get_inter_op_parallelism_threads();
  if (configured > 0) return configured;
  const bool always = options.branches == PlanOptions::Branches::kAlways;
  return std::clamp(threads, always ? 2 : 1, kMostLanes);
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Assignment& assignment, const Order& order,
          const PlanOptions& options, int threads)
      : graph_(graph),
        assignment_(assignment),
        order_(order),
        options_(options),
        threads_(threads),
        cpu_(Runtime::get().cpu()) {}

  SideLanes run(int max_lanes) {
    SideLanes result;
    result.nodes = order_.nodes;
    result.lane.assign(graph_.nodes().size(), 0);
    collect();
    const BranchOptions search{max_lanes, threads_,
                               options_.branches == PlanOptions::Branches::kAlways};
    const Branches found =
        find_branches(steps_, search,
                      [this](int32_t step, int threads) { return time(step, threads); });
    if (!found.lanes) return result;
    result.lanes = found.lanes;
    result.threads = found.threads;
    result.why = fmt::format("branch: {:.0f} µs beside others, {:.0f} µs in turn",
                             found.beside_us, found.alone_us);
    std::vector<int32_t> lane = found.lane;
    for (size_t k = 0; k < lane.size(); ++k) {
      const int32_t node = order_.nodes[k];
      result.lane[idx(node)] = lane[k];
      const Device* d = assignment_.devices[idx(node)];
      if (d && !d->is_host() && !is_result(node)) lane[k] = -1;
    }
    result.nodes.clear();
    for (int32_t k : group_by_lane(steps_, lane)) {
      result.nodes.push_back(order_.nodes[idx(k)]);
    }
    return result;
  }

 private:
  void collect() {
    step_of_.assign(graph_.nodes().size(), -1);
    known_.assign(graph_.nodes().size(), 0);
    before_.resize(graph_.nodes().size());
    for (size_t k = 0; k < order_.nodes.size(); ++k) {
      step_of_[idx(order_.nodes[k])] = static_cast<int32_t>(k);
    }
    for (int32_t node : order_.nodes) {
      BranchStep s;
      s.before = steps_before(node);
      const Node& n = graph_.node(node);
      if (n.has_subgraphs()) {
        s.work_us = 1e9;  // nobody knows
      } else if (assignment_.devices[idx(node)] == &cpu_) {
        s.movable = movable(n);
        const bool kernel = n.kind == Node::Kind::kOp && !host_function(*n.op);
        if (kernel) s.work_us = on_one_thread(cost(n));
      }
      steps_.push_back(std::move(s));
    }
  }

  bool is_result(int32_t node) const {
    return std::any_of(graph_.results().begin(), graph_.results().end(),
                       [node](ValueRef v) { return v.node == node; });
  }

  const std::vector<int32_t>& steps_before(int32_t node) {
    auto& memo = before_[idx(node)];
    if (known_[idx(node)]) return memo;
    known_[idx(node)] = 1;
    for (int32_t p : order_.before[idx(node)]) {
      if (step_of_[idx(p)] >= 0) {
        memo.push_back(step_of_[idx(p)]);
      } else {
        const auto inherited = steps_before(p);
        memo.insert(memo.end(), inherited.begin(), inherited.end());
      }
    }
    std::sort(memo.begin(), memo.end());
    memo.erase(std::unique(memo.begin(), memo.end()), memo.end());
    return memo;
  }

  // Kernels over memory alone. What a library splits among its threads may give other
  // bits with another number of them.
  bool movable(const Node& n) const {
    if (n.kind != Node::Kind::kOp || n.op->dynamic || host_function(*n.op)) return false;
    if (n.op->effects & ~kMayFail) return false;
    for (ValueRef v : n.inputs) {
      if (v.defined() && graph_.info(v).state) return false;
    }
    if (!options_.deterministic) return true;
    const auto kernels = KernelRegistry::get().find(*n.op, cpu_.platform());
    return std::none_of(kernels.begin(), kernels.end(),
                        [](const Kernel* k) { return k->library_threads; });
  }

  void sign(const Node& n, int threads) {
    node_signature(graph_, n, &cpu_, signature_);
    signature_.signature.threads = threads;
    signature_.signature.deterministic = options_.deterministic;
  }
  Cost cost(const Node& n) {
    sign(n, 1);
    return cost_of(signature_.signature);
  }
  static double on_one_thread(const Cost& c) {
    return std::max(c.flops / kFlopsPerUs, c.bytes / kBytesPerUs);
  }

  // Without a measurement: what fills the memory's bandwidth gains from every core, other
  // work from as many as have something to do.
  static double model(const Cost& c, int threads) {
    const double one = on_one_thread(c);
    if (c.bytes / kBytesPerUs >= one) return one / threads;
    const double parts = std::clamp(one / kGrainUs, 1.0, static_cast<double>(threads));
    return one * (kSerialPart + (1 - kSerialPart) / parts) + (parts > 1 ? kTeamUs : 0);
  }

  double time(int32_t step, int threads) {
    const auto [at, fresh] = times_.try_emplace({step, threads}, 0);
    if (!fresh) return at->second;
    const Node& n = graph_.node(order_.nodes[idx(step)]);
    const Cost c = cost(n);
    const std::optional<double> whole = measured(n, threads_);
    if (!whole) return at->second = model(c, threads);
    if (threads >= threads_) return at->second = *whole;
    double us =
        measured(n, threads).value_or(*whole * model(c, threads) / model(c, threads_));
    // Lanes share the memory: who uses its bandwidth up gains nothing beside others.
    if (c.bytes / *whole > 0.8 * kBytesPerUs) {
      us = std::max(us, *whole * threads_ / threads);
    }
    return at->second = us;
  }

  std::optional<double> measured(const Node& n, int threads) {
    const bool measure = options_.measure_kernels && measuring_ns_ < kMeasuringNs;
    const int64_t begin = recorder::now_ns();
    sign(n, threads);
    const auto us = kernel_us(signature_.signature, cpu_, measure);
    measuring_ns_ += recorder::now_ns() - begin;
    return us;
  }

  const Graph& graph_;
  const Assignment& assignment_;
  const Order& order_;
  const PlanOptions& options_;
  const int threads_;
  Device& cpu_;
  std::vector<BranchStep> steps_;
  std::vector<int32_t> step_of_;  // by node, -1
  std::vector<char> known_;
  std::vector<std::vector<int32_t>> before_;  // by node
  std::map<std::pair<int32_t, int>, double> times_;
  NodeSignature signature_;
  int64_t measuring_ns_ = 0;
};

}  // namespace

SideLanes choose_side_lanes(const Graph& graph, const Assignment& assignment,
                            const Order& order, const PlanOptions& options, int threads) {
  const int allowed = lanes_allowed(options, threads);
  if (allowed < 2) {
    SideLanes none;
    none.nodes = order.nodes;
    none.lane.assign(graph.nodes().size(), 0);
    return none;
  }
  return Chooser(graph, assignment, order, options, threads).run(allowed);
}

}  // namespace tandem
