// Building an Executable from a plan: kernels, address table, segments, constants.
#include <algorithm>
#include <map>
#include <set>

#include "device/cpu/host_lanes.h"
#include "device/runtime.h"
#include "graph/states.h"
#include "op/kernel_fit.h"
#include "op/uncaptured.h"
#include "plan/assignment.h"
#include "run/executable_frame.h"
#include "tandem/device.h"
#include "tensor/transfer.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {
// What must be added to a device's addresses where its kernels run.
int64_t address_shift(Device& device) {
  if (device.is_host()) return 0;
  int64_t shift = 0;
  device.compute()
      .submit([&shift](const StreamContext& c) { shift = c.address_offset; })
      .host_wait();
  return shift;
}

void step_signature(const Graph& graph, const Node& node, Device& device, int threads,
                    NodeSignature& s) {
  node_signature(graph, node, &device, s);
  s.signature.threads = threads;
  s.signature.deterministic = config::op_determinism_enabled();
}

Ref<Prepared> prepare_step(const Graph& graph, const Node& node, const Kernel& kernel,
                           Device& device, int threads) {
  NodeSignature s;
  step_signature(graph, node, device, threads, s);
  return kernel.prepare(s.signature);
}
}  // namespace

class ExecutableBuilder {
 public:
  explicit ExecutableBuilder(Executable& e) : e_(e), g_(e.graph_), plan_(e.plan_) {}

  void run() {
    for (const PlanSpace& s : plan_.spaces) {
      e_.spaces_.push_back(&Runtime::get().named(s.device));
      shifts_.push_back(address_shift(*e_.spaces_.back()));
    }
    for (const PlanLane& l : plan_.lanes) {
      e_.lanes_.push_back(&Runtime::get().named(l.device));
    }
    find_side_streams();
    e_.constants_.resize(g_.nodes().size());
    e_.parameter_patches_.resize(g_.parameters().size());
    e_.result_patches_.resize(g_.results().size());
    e_.variables_ = e_.planned_->variables;
    add_children();
    e_.variable_patches_.resize(e_.variables_.size());
    for (size_t k = 0; k < plan_.steps.size(); ++k) add_step(k);
    for (ValueRef v : g_.results()) {
      if (!v.defined()) continue;
      const Place& p = plan_.places[idx(v.node)][idx(v.output)];
      if (p.storage == Place::Storage::kConstant) constant(p.index, -1);
    }
    make_segments();
    find_results();
    find_written();
    find_variable_bytes();
    e_.variable_patches_.resize(e_.variables_.size());
    join_locks();
    e_.find_arena_groups();
    find_last_uses();
    e_.single_.resize(e_.steps_.size());
    if (!e_.variables_.empty()) e_.variable_ = &variable_of(e_.variables_[0]);
    e_.team_ = Runtime::get().cpu().team();
    const auto all = Runtime::get().devices();
    e_.host_alone_ =
        std::all_of(all.begin(), all.end(), [](const Device* d) { return d->is_host(); });
    e_.only_host_ = !e_.has_async_ && e_.side_ends_.empty() &&
                    (e_.segments_.empty() || e_.segments_.size() == 1);
    for (Executable::Step& s : e_.steps_) {
      if (s.kind != Executable::Step::Kind::kLoop || s.conditional) continue;
      Executable& body = *e_.children_[idx(s.child) + 1];
      if (body.only_host_) body.find_fixed_results();
      s.loop = static_cast<int32_t>(e_.loop_forms_.size());
      e_.loop_forms_.push_back(e_.loop_form(s));
    }
  }

 private:
  void find_side_streams() {
    e_.side_streams_.assign(plan_.lanes.size(), nullptr);
    for (size_t l = 0; l < plan_.lanes.size(); ++l) {
      if (!plan_.lanes[l].side()) continue;
      int number = 0, lanes = 0, threads = 1;
      for (size_t other = 0; other < plan_.lanes.size(); ++other) {
        if (!plan_.lanes[other].side() || e_.lanes_[other] != e_.lanes_[l]) continue;
        ++lanes;
        if (other <= l) ++number;
      }
      for (const PlanStep& s : plan_.steps) {
        if (idx(s.lane) == l) threads = std::max(threads, s.threads);
      }
      e_.side_streams_[l] = &HostLanes::of(*e_.lanes_[l]).lane(number, lanes, threads);
    }
  }

  void add_children() {
    for (const auto& list : e_.planned_->subplans) {
      first_child_.push_back(static_cast<int32_t>(e_.children_.size()));
      for (const auto& sub : list) {
        e_.children_.push_back(std::make_unique<Executable>(sub, e_.launches_));
        auto& numbers = e_.child_variables_.emplace_back();
        for (const Tensor& handle : e_.children_.back()->variables_) {
          numbers.push_back(variable(handle));
        }
      }
    }
  }
  size_t variable(const Tensor& handle) {
    for (size_t i = 0; i < e_.variables_.size(); ++i) {
      if (e_.variables_[i].impl()->variable == handle.impl()->variable) return i;
    }
    e_.variables_.push_back(handle);
    return e_.variables_.size() - 1;
  }

  // The slot of a value's address as a step on `device` uses it; `kernel`: moved to where
  // the device's kernels reach it.
  size_t slot(ValueRef v, bool kernel) {
    const size_t at = e_.table_.size();
    e_.table_.push_back(nullptr);
    if (!v.defined()) return at;
    const Place& p = plan_.places[idx(v.node)][idx(v.output)];
    const int64_t shift = kernel && p.space >= 0 ? shifts_[idx(p.space)] : 0;
    switch (p.storage) {
      case Place::Storage::kArena:
        e_.arena_patches_.push_back({at, p.offset + shift});
        e_.arena_spaces_.push_back(p.space);
        break;
      case Place::Storage::kParameter:
      case Place::Storage::kResult: {
        const bool result = p.storage == Place::Storage::kResult;
        if (kernel && !e_.spaces_[idx(p.space)]->is_host()) {
          operands_.push_back(
              {{result, idx(p.index)}, e_.steps_.size(), at, p.offset + shift});
          break;
        }
        auto& patches = result ? e_.result_patches_ : e_.parameter_patches_;
        patches[idx(p.index)].push_back({at, p.offset + shift});
        break;
      }
      case Place::Storage::kVariable:
        add_variable_patch(idx(p.index), at, p.offset, kernel);
        break;
      case Place::Storage::kConstant:
      case Place::Storage::kHandle:
      case Place::Storage::kNone:
        break;
    }
    return at;
  }
  void add_variable_patch(size_t number, size_t at, int64_t offset, bool kernel) {
    e_.variable_patches_.resize(e_.variables_.size());
    Device& d = *variable_of(e_.variables_[number]).device;
    e_.variable_patches_[number].push_back({at, offset + (kernel ? shift_of(d) : 0)});
  }
  int64_t shift_of(Device& d) {
    for (size_t i = 0; i < e_.spaces_.size(); ++i) {
      if (e_.spaces_[i] == &d) return shifts_[i];
    }
    return address_shift(d);
  }

  // A constant on the device of a space (-1: the host), made once.
  const Tensor& constant(int32_t node, int32_t space) {
    auto& list = e_.constants_[idx(node)];
    list.resize(e_.spaces_.size() + 1);
    Tensor& t = list[static_cast<size_t>(space + 1)];
    if (!t.defined()) {
      Device& d = space < 0 ? Runtime::get().cpu() : *e_.spaces_[idx(space)];
      t = copy_to_device(g_.node(node).constant.to_host(), d);
      t.impl()->buffer->ready().host_wait();
    }
    return t;
  }
  void set_constant(size_t at, ValueRef v, Device& device, bool kernel) {
    const Place& p = plan_.places[idx(v.node)][idx(v.output)];
    int32_t space = -1;
    for (size_t i = 0; i < e_.spaces_.size(); ++i) {
      if (e_.spaces_[i] == &device) space = static_cast<int32_t>(i);
    }
    if (space < 0 && !device.is_host()) {
      throw DataLossError("plan: no space for constants on " + device.full_name());
    }
    const Tensor& t = constant(p.index, device.is_host() ? -1 : space);
    LeaseSet leases;  // constants stay where they are: nobody relocates them
    e_.table_[at] = static_cast<std::byte*>(t.impl()->address(leases)) + p.offset +
                    (kernel ? shift_of(device) : 0);
  }

  void add_step(size_t k) {
    const PlanStep& planned = plan_.steps[k];
    const Node& n = g_.node(planned.node);
    Executable::Step s;
    s.index = static_cast<int32_t>(k);
    s.node = planned.node;
    s.threads = planned.threads;
    s.device = &Runtime::get().named(plan_.devices[idx(planned.node)]);
    s.other_cpu = s.device->is_host() && s.device != &Runtime::get().cpu();
    s.workspace = Executable::Step::kNoSlot;
    s.name = n.op ? n.op->name.c_str() : n.kind == Node::Kind::kCopy ? "Copy" : "Control";
    if (s.device->platform() != kHostPlatform) s.detail = node_detail(n);
    const bool kernel = !planned.kernel.empty();
    if (kernel) {
      s.kind = Executable::Step::Kind::kKernel;
      prepare(k, n, s);
      s.launch = s.kernel->launch;
      s.team_kernel = s.device == &Runtime::get().cpu();
      s.simple = s.team_kernel && !(s.kernel->library_threads && s.threads > 1);
      s.scalar = scalar_op(g_, n);
    } else if (n.kind == Node::Kind::kCopy) {
      s.kind = Executable::Step::Kind::kCopy;
    } else if (n.kind == Node::Kind::kOp) {
      s.kind = Executable::Step::Kind::kList;
      e_.find_list_form(s);
    } else {
      s.kind = n.kind == Node::Kind::kWhile ? Executable::Step::Kind::kLoop
                                            : Executable::Step::Kind::kBranch;
      s.child = first_child_[idx(planned.node)];
      s.conditional = !s.device->is_host();
      s.name = n.kind == Node::Kind::kWhile ? "While" : "Cond";
      if (s.conditional) {
        for (size_t g = 0; g < n.subgraphs.size(); ++g) {
          Executable& inside = *e_.children_[idx(s.child) + g];
          inside.inside_ = true;
          if (s.device->platform() != kHostPlatform && inside.segments_.size() > 1) {
            throw InternalError("plan: " + n.name + " cannot be recorded as one");
          }
          if (n.kind == Node::Kind::kWhile && g == 1) inside.find_fixed_results();
        }
      } else {
        e_.host_control_ = true;
      }
    }
    s.in = e_.table_.size();
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueRef v = n.inputs[i];
      const InputDef* def = n.op ? &n.op->input_def(static_cast<int>(i)) : nullptr;
      if (!v.defined() || (def && kernel && (def->host || def->shape_only))) {
        slot({}, false);
      } else if (g_.info(v).state) {
        const size_t at = slot({}, false);
        if (kernel || s.conditional) {
          add_variable_patch(variable(variable_handle(g_, v)), at, 0, kernel);
        }
      } else {
        const size_t at = slot(v, kernel);
        if (plan_.places[idx(v.node)][idx(v.output)].storage ==
            Place::Storage::kConstant) {
          set_constant(at, v, reader_of_constant(s, n, i), kernel);
        }
      }
    }
    s.out = e_.table_.size();
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      s.guarded |=
          plan_.places[idx(planned.node)][idx(o)].storage == Place::Storage::kVariable;
      slot(n.outputs[idx(o)].state ? ValueRef{} : ValueRef{planned.node, o}, kernel);
    }
    const int64_t scratch =
        s.prepared ? static_cast<int64_t>(s.prepared->workspace_bytes) : 0;
    if (planned.workspace >= 0 || scratch > 0) {
      s.workspace = e_.table_.size();
      e_.table_.push_back(nullptr);
      const int32_t space = space_of(*s.device);
      const int64_t room = plan_.spaces[idx(space)].bytes;
      // Of a plan that was stored, by another version of a kernel say.
      if (planned.workspace < 0 || scratch > room - planned.workspace) {
        throw DataLossError("plan: the workspace of " + n.name +
                            " lies outside of its memory; plan the function again.");
      }
      e_.arena_patches_.push_back({s.workspace, planned.workspace + shifts_[idx(space)]});
      e_.arena_spaces_.push_back(space);
    }
    e_.steps_.push_back(std::move(s));
  }

  bool within_device(const Executable::Step& s) const {
    const PlanStep& planned = plan_.steps[idx(s.index)];
    return plan_.lanes[idx(planned.lane)].kind == PlanLane::Kind::kCompute;
  }

  // Where a step reads a constant. Sub-graphs read it on the host, but what a loop
  // carries is where the loop's result is, from the first turn on, and a view of a
  // constant is where the view was placed.
  Device& reader_of_constant(const Executable::Step& s, const Node& n, size_t input) {
    if (s.conditional) return *s.device;
    if (n.kind == Node::Kind::kWhile && input < idx(n.carried)) {
      Device* carried = e_.device_of({s.node, static_cast<int32_t>(input)});
      if (carried) return *carried;
    }
    const std::string& viewed = plan_.devices[idx(n.inputs[input].node)];
    if (n.has_subgraphs() && !viewed.empty()) return Runtime::get().named(viewed);
    const bool crosses = n.kind == Node::Kind::kCopy && !within_device(s);
    const bool host =
        crosses || n.has_subgraphs() || s.kind == Executable::Step::Kind::kList;
    return host ? Runtime::get().cpu() : *s.device;
  }

  // "block_3/MatMul float32[8,1024,768]": which of many nodes with the same op it is.
  static std::string node_detail(const Node& n) {
    std::string text = n.name;
    for (const ValueInfo& out : n.outputs) {
      if (out.state) continue;
      text += fmt::format(" {}{}", dtype_name(out.dtype), out.shape.str());
    }
    return text;
  }

  int32_t space_of(Device& d) const {
    for (size_t i = 0; i < e_.spaces_.size(); ++i) {
      if (e_.spaces_[i] == &d) return static_cast<int32_t>(i);
    }
    throw DataLossError("plan: no space for " + d.full_name());
  }

  void prepare(size_t k, const Node& n, Executable::Step& s) {
    const auto& made = e_.planned_->prepared;
    if (k < made.size() && made[k].kernel) {
      s.kernel = made[k].kernel;
      s.prepared = made[k].prepared;
      return;
    }
    for (const Kernel* candidate :
         KernelRegistry::get().find(*n.op, s.device->platform())) {
      if (candidate->id == plan_.steps[k].kernel) s.kernel = candidate;
    }
    if (plan_.steps[k].kernel == kernel_of_nothing().id) s.kernel = &kernel_of_nothing();
    if (s.kernel && !fits(n, *s.kernel, s)) {
      throw DataLossError("plan: kernel " + plan_.steps[k].kernel +
                          " does not fit node " + n.name);
    }
    if (!s.kernel) {
      throw NotFoundError("plan: there is no kernel " + plan_.steps[k].kernel +
                          " in this build; plan the function again.");
    }
    s.prepared = prepare_step(g_, n, *s.kernel, *s.device, s.threads);
  }

  bool fits(const Node& n, const Kernel& kernel, const Executable::Step& step) const {
    NodeSignature s;
    step_signature(g_, n, *step.device, step.threads, s);
    if (&kernel == &kernel_of_nothing()) return computes_nothing(s.signature);
    return kernel.launch && kernel_fits(kernel, s.signature);
  }

  // Copies inside a native device are recorded with the kernels around them: arguments
  // and results are then part of one launch.
  bool captured_copy(const Executable::Step& s) const {
    return within_device(s) && s.device->platform() != kHostPlatform;
  }

  void make_segments() {
    std::vector<size_t> segment_of(e_.steps_.size());
    for (size_t k = 0; k < e_.steps_.size(); ++k) {
      const PlanStep& planned = plan_.steps[k];
      const bool copy = e_.steps_[k].kind == Executable::Step::Kind::kCopy &&
                        !captured_copy(e_.steps_[k]);
      const bool side = e_.side_streams_[idx(planned.lane)] != nullptr;
      const bool host =
          plan_.lanes[idx(planned.lane)].kind == PlanLane::Kind::kHost && !side;
      const Kernel* const kernel = e_.steps_[k].kernel;
      const bool apart = !host && !side && kernel && is_uncaptured(*kernel);
      // What was given out before the run of steps began can be waited for at its
      // beginning: one launch is worth more than a start a little earlier.
      const auto early = [&](int32_t w) { return idx(w) < e_.segments_.back().begin; };
      const bool joins =
          !e_.segments_.empty() && e_.segments_.back().lane == planned.lane &&
          std::all_of(planned.waits.begin(), planned.waits.end(), early) &&
          (host || side ? planned.waits.empty() : !copy && !e_.segments_.back().copy) &&
          !apart && !e_.segments_.back().apart;
      if (joins) {
        for (int32_t w : planned.waits) {
          e_.segments_.back().waits.push_back(segment_of[idx(w)]);
        }
      }
      if (!joins) {
        Executable::Segment s;
        s.lane = planned.lane;
        s.begin = k;
        s.host = host;
        s.copy = copy && !host;
        s.side = side;
        s.apart = apart;
        for (const Executable::Segment& before : e_.segments_) {
          if (before.lane == s.lane) s.first = false;
        }
        for (int32_t w : planned.waits) s.waits.push_back(segment_of[idx(w)]);
        std::sort(s.waits.begin(), s.waits.end());
        s.waits.erase(std::unique(s.waits.begin(), s.waits.end()), s.waits.end());
        e_.segments_.push_back(std::move(s));
        e_.has_async_ |= !host && !side;
      }
      e_.segments_.back().end = k + 1;
      e_.segments_.back().conditional |= e_.steps_[k].conditional;
      segment_of[k] = e_.segments_.size() - 1;
    }
    for (size_t l = 0; l < e_.side_streams_.size(); ++l) {
      if (!e_.side_streams_[l]) continue;
      for (size_t s = e_.segments_.size(); s-- > 0;) {
        if (idx(e_.segments_[s].lane) != l) continue;
        e_.side_ends_.push_back(s);
        break;
      }
    }
    for (const auto& child : e_.children_) e_.has_async_ |= child->has_async_;
    for (Executable::Segment& s : e_.segments_) find_copied(s);
    find_stream_devices();
    place_operands(segment_of);
  }

  void find_copied(Executable::Segment& segment) {
    for (size_t k = segment.begin; k < segment.end; ++k) {
      const Executable::Step& step = e_.steps_[k];
      if (step.kind != Executable::Step::Kind::kCopy) continue;
      const ValueRef from = g_.node(step.node).inputs[0];
      const Place& p = plan_.places[idx(from.node)][idx(from.output)];
      if (p.storage == Place::Storage::kParameter) {
        segment.copied.push_back({idx(p.index), step.device});
      } else if (p.storage == Place::Storage::kVariable && segment.copy) {
        e_.copied_variables_.push_back(idx(p.index));
      }
    }
  }

  void find_results() {
    for (ValueRef v : g_.results()) {
      Executable::Result r;
      if (v.defined()) {
        const Place& p = plan_.places[idx(v.node)][idx(v.output)];
        r.storage = p.storage;
        r.index = p.index;
        r.device = p.space >= 0 ? e_.spaces_[idx(p.space)] : nullptr;
        r.info = &g_.info(v);
        r.made_by = maker_on_a_device(v, p);
        r.any_stream = r.device && !r.device->is_host() && !made_by_compute(v, p);
        e_.hands_through_ |= p.storage != Place::Storage::kResult;
      }
      e_.results_.push_back(r);
    }
  }
  // The segment that makes a value, unless a thread of the host does; then -1.
  int32_t maker_on_a_device(ValueRef v, const Place& p) const {
    int32_t maker = -1;
    for (size_t s = 0; s < e_.segments_.size(); ++s) {
      const Executable::Segment& segment = e_.segments_[s];
      if (segment.host || segment.side) continue;
      for (size_t k = segment.begin; k < segment.end; ++k) {
        if (makes(e_.steps_[k], v, p)) maker = static_cast<int32_t>(s);
      }
    }
    return maker;
  }

  // Whether all that writes a result's memory is work of a device's compute stream.
  bool made_by_compute(ValueRef v, const Place& p) const {
    return std::all_of(
        e_.segments_.begin(), e_.segments_.end(), [&](const Executable::Segment& s) {
          const bool compute = !s.host && !s.side && !s.copy;
          const auto first = e_.steps_.begin() + static_cast<std::ptrdiff_t>(s.begin);
          return compute ||
                 std::none_of(first,
                              e_.steps_.begin() + static_cast<std::ptrdiff_t>(s.end),
                              [&](const Executable::Step& k) { return makes(k, v, p); });
        });
  }

  // A step that makes a result: also one whose output is the result's memory.
  bool makes(const Executable::Step& s, ValueRef v, const Place& p) const {
    if (s.node == v.node) return true;
    const auto& places = plan_.places[idx(s.node)];
    return p.storage == Place::Storage::kResult &&
           std::any_of(places.begin(), places.end(), [&](const Place& own) {
             return own.storage == p.storage && own.index == p.index;
           });
  }

  // Gives the places of operands to the segments of their steps.
  void place_operands(const std::vector<size_t>& segment_of) {
    for (const OperandPlace& o : operands_) {
      Executable::Segment& segment = e_.segments_[segment_of[o.step]];
      auto& all = segment.operands;
      const auto known = std::find_if(
          all.begin(), all.end(), [&](const Executable::Segment::Operand& a) {
            return a.result == o.operand.result && a.number == o.operand.number;
          });
      segment.operand_slots.push_back(
          {o.slot, static_cast<size_t>(known - all.begin()), o.offset});
      if (known == all.end()) all.push_back(o.operand);
      if (o.operand.result) continue;
      e_.bound_parameters_.resize(g_.parameters().size(), 0);
      e_.bound_parameters_[o.operand.number] = 1;
    }
  }

  // Where a plan's device work is, if all of it is on the streams of one native device.
  void find_stream_devices() {
    std::vector<Device*> all;
    for (const Executable::Segment& s : e_.segments_) {
      if (!s.host) all.push_back(s.side ? nullptr : e_.lanes_[idx(s.lane)]);
    }
    const auto add_children_of = [this](std::vector<Device*>& to, size_t from, size_t n) {
      for (size_t c = from; c < from + n; ++c) {
        const Executable& child = *e_.children_[c];
        if (child.has_async_ && !child.inside_) to.push_back(child.stream_device_);
      }
    };
    for (Executable::Step& s : e_.steps_) {
      if (s.child < 0) continue;
      std::vector<Device*> own;
      add_children_of(own, idx(s.child), g_.node(s.node).subgraphs.size());
      s.stream_device = only_native(own);
    }
    add_children_of(all, 0, e_.children_.size());
    e_.stream_device_ = only_native(all);
  }
  static Device* only_native(const std::vector<Device*>& devices) {
    Device* const first = devices.empty() ? nullptr : devices[0];
    if (!first || first->platform() == kHostPlatform) return nullptr;
    const bool one = std::all_of(devices.begin(), devices.end(),
                                 [&](Device* d) { return d == first; });
    return one ? first : nullptr;
  }

  // Variables of unknown shape have a size when they are bound.
  void find_variable_bytes() {
    e_.variable_bytes_.assign(e_.variables_.size(), 0);
    const auto need = [&](const Tensor& handle, size_t bytes) {
      for (size_t i = 0; i < e_.variables_.size(); ++i) {
        if (e_.variables_[i].impl()->variable != handle.impl()->variable) continue;
        e_.variable_bytes_[i] = std::max(e_.variable_bytes_[i], bytes);
      }
    };
    for (int32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      for (size_t o = 0; o < n.outputs.size(); ++o) {
        const ValueInfo& info = n.outputs[o];
        const Place& p = plan_.places[idx(i)][o];
        if (info.state && info.shape.is_known()) {
          need(variable_handle(g_, {i, static_cast<int32_t>(o)}),
               static_cast<size_t>(checked_bytes(info.dtype, info.shape)));
        } else if (p.storage == Place::Storage::kVariable) {
          need(e_.variables_[idx(p.index)], static_cast<size_t>(p.offset + p.bytes));
        }
      }
    }
    for (const auto& child : e_.children_) {
      for (size_t i = 0; i < child->variables_.size(); ++i) {
        need(child->variables_[i], child->variable_bytes_[i]);
      }
    }
  }

  void find_written() {
    const auto writes = [](const Executable::Step& s) { return s.guarded; };
    e_.first_write_ = static_cast<size_t>(
        std::find_if(e_.steps_.begin(), e_.steps_.end(), writes) - e_.steps_.begin());
    e_.written_.assign(e_.variables_.size(), 0);
    const auto mark = [&](const Tensor& handle) {
      const size_t i = variable(handle);  // may be new: no step touches it
      if (i == e_.written_.size()) e_.written_.push_back(0);
      e_.written_[i] = 1;
    };
    for (int32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      if (n.kind == Node::Kind::kVariable || n.kind == Node::Kind::kParameter) continue;
      for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
        if (n.outputs[idx(o)].state) {
          mark(variable_handle(g_, {i, o}));
        }
      }
    }
    for (const auto& child : e_.children_) {
      for (size_t i = 0; i < child->variables_.size(); ++i) {
        if (child->written_[i]) mark(child->variables_[i]);
      }
    }
    e_.writes_ = std::any_of(e_.written_.begin(), e_.written_.end(),
                             [](char w) { return w != 0; });
  }

  // A call takes one lock, whoever made the plan.
  void join_locks() {
    std::vector<VariableImpl*> variables;
    for (const Tensor& handle : e_.variables_) variables.push_back(&variable_of(handle));
    join_variable_locks(variables);
  }

  // Of steps that follow one another on a lane the last one that reads a value is the
  // last to use it.
  void find_last_uses() {
    e_.last_use_.assign(e_.table_.size(), 0);
    struct Uses {
      size_t count = 0;
      size_t last = 0;  // slot
      int32_t lane = -1;
      bool ordered = true;
    };
    std::map<std::pair<int32_t, int32_t>, Uses> uses;
    for (const Executable::Step& s : e_.steps_) {
      const Node& n = g_.node(s.node);
      const int32_t lane = plan_.steps[idx(s.index)].lane;
      std::set<std::pair<int32_t, int32_t>> here;
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (!n.inputs[i].defined()) continue;
        const std::pair key{n.inputs[i].node, n.inputs[i].output};
        Uses& u = uses[key];
        u.ordered &= (u.lane < 0 || u.lane == lane) && here.insert(key).second;
        u.lane = lane;
        u.last = s.in + i;
        ++u.count;
      }
    }
    for (ValueRef v : g_.results()) uses[{v.node, v.output}].ordered = false;
    for (const auto& [value, u] : uses) {
      if (u.ordered && u.count) e_.last_use_[u.last] = 1;
    }
  }

  Executable& e_;
  const Graph& g_;
  const Plan& plan_;
  /// A place in the table that a kernel of a device finds an argument or result in.
  struct OperandPlace {
    Executable::Segment::Operand operand;
    size_t step, slot;
    int64_t offset;
  };
  std::vector<OperandPlace> operands_;
  std::vector<int64_t> shifts_;       // by space
  std::vector<int32_t> first_child_;  // by node
};

Executable::Executable(std::shared_ptr<const PlannedGraph> planned, Launches launches,
                       std::shared_ptr<ArenaPool> pool)
    : planned_(std::move(planned)),
      graph_(*planned_->graph),
      plan_(planned_->plan),
      launches_(launches),
      name_(std::make_shared<const std::string>(graph_.name())),
      pool_(std::move(pool)) {
  const CollectBuilds collected;
  ExecutableBuilder(*this).run();
  builds_ = planned_->builds;
  builds_.add(collected.builds());
  find_needs();
}

Executable::~Executable() {
  leave_pool();
  for (const auto& frame : frames_) wait_quietly(*frame);
}

const Prepared& Executable::for_one_thread(size_t step) {
  const std::lock_guard lock(single_mutex_);
  Ref<Prepared>& p = single_[step];
  if (!p) {
    const Step& s = steps_[step];
    p = prepare_step(graph_, graph_.node(s.node), *s.kernel, *s.device, 1);
  }
  return *p;
}

}  // namespace tandem
