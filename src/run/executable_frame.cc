// Frames of an Executable: making them, handing them to calls, and binding addresses of
// arguments, results and variables.
#include "run/executable_frame.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/runtime.h"
#include "device/wait_until_passed.h"
#include "tensor/live_memory.h"
#include "tensor/transfer.h"
#include "tensor/variable_arena.h"

namespace tandem {

namespace {
void* plus(void* p, int64_t offset) { return static_cast<std::byte*>(p) + offset; }
}  // namespace

std::unique_ptr<Executable::Frame> Executable::make_frame() {
  auto f = std::make_unique<Frame>();
  f->table = table_;
  f->arena_addresses.assign(spaces_.size(), nullptr);
  for (const Step& s : steps_) {
    f->args.push_back(
        {f->table.data() + s.in, f->table.data() + s.out, nullptr, nullptr});
  }
  const size_t p = parameter_patches_.size(), r = result_patches_.size();
  f->bound.assign(2 * (p + r) + variables_.size(), nullptr);
  const std::span<void*> bound = f->bound;
  f->parameters = bound.first(p);
  f->results = bound.subspan(p, r);
  f->wanted = bound.subspan(p + r, p + r);
  f->variables = bound.subspan(2 * (p + r));
  f->handles.resize(static_cast<size_t>(plan_.num_handles));
  f->lists = !f->handles.empty();
  f->parameter_handles.resize(parameter_patches_.size());
  f->result_handles.resize(result_patches_.size());
  f->result_tensors.resize(result_patches_.size());
  f->given.resize(result_patches_.size());
  f->done.resize(segments_.size());
  f->captured.resize(segments_.size());
  f->rebound.resize(segments_.size());
  for (const Segment& s : segments_) f->told.emplace_back(s.operands.size(), nullptr);
  f->lane_end.resize(plan_.lanes.size() + 1);
  f->before.resize(variables_.size());
  for (const auto& child : children_) {
    f->children.push_back(child->make_frame());
    f->loops.emplace_back();
    f->conditionals.emplace_back();
  }
  return f;
}

Executable::Frame& Executable::acquire_another() {
  const std::lock_guard lock(frames_mutex_);
  if (!idle_.empty()) {
    Frame* f = idle_.back();
    idle_.pop_back();
    return *f;
  }
  frames_.push_back(make_frame());
  return *frames_.back();
}

void Executable::keep_idle(Frame& frame) {
  const std::lock_guard lock(frames_mutex_);
  idle_.push_back(&frame);
}

void Executable::retire() {
  retired_.store(true);
  trim();
}

void Executable::trim() {
  std::vector<Frame*> unused;
  if (Frame* f = spare_.exchange(nullptr)) unused.push_back(f);
  const std::lock_guard lock(frames_mutex_);
  unused.insert(unused.end(), idle_.begin(), idle_.end());
  idle_.clear();
  for (Frame* f : unused) wait_quietly(*f);
  std::erase_if(frames_, [&](const std::unique_ptr<Frame>& f) {
    return std::find(unused.begin(), unused.end(), f.get()) != unused.end();
  });
}

int64_t Executable::launches(const std::string& device) const {
  if (launches_ == Launches::kOneByOne) return 0;
  int64_t count = 0;
  for (const Segment& s : segments_) {
    if (!s.host && !s.copy && !s.side && plan_.lanes[idx(s.lane)].device == device)
      ++count;
  }
  return count;
}

void Executable::wait_for_lanes(Frame& frame) {
  for (TimePoint& t : frame.lane_end) t.host_wait();
  for (size_t i = 0; i < frame.children.size(); ++i) {
    children_[i]->wait_for_lanes(*frame.children[i]);
  }
}

void Executable::wait_quietly(const Frame& frame) const {
  for (const TimePoint& t : frame.lane_end) wait_until_passed(t);
  for (size_t i = 0; i < frame.children.size(); ++i) {
    children_[i]->wait_quietly(*frame.children[i]);
  }
}

std::vector<TimePoint> Executable::open_work() const {
  std::vector<TimePoint> ends;
  const std::lock_guard lock(frames_mutex_);
  for (const auto& f : frames_) collect_ends(*f, ends);
  return ends;
}

void Executable::rebind(Frame& f, const std::vector<Patch>& patches, void*& bound,
                        void* now) {
  bound = now;
  for (const Patch& p : patches) f.table[p.slot] = plus(now, p.offset);
}

void Executable::bind(Frame& f, const Values& values) {
  bool moved = false;
  const auto apply = [&f, &moved](const std::vector<std::vector<Patch>>& patches,
                                  std::span<void* const> given, std::span<void*> bound) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == bound[i]) continue;
      moved = true;
      rebind(f, patches[i], bound[i], given[i]);
    }
  };
  apply(parameter_patches_, values.parameters, f.parameters);
  apply(result_patches_, values.results, f.results);
  apply(variable_patches_, values.variables, f.variables);
  if (!inside_ || !moved) return;
  // Part of a conditional node: what it is given stays where it is.
  for (const Segment& s : segments_) {
    SmallVec<void*, 16> addresses;
    for (const Segment::Operand& o : s.operands) {
      addresses.push_back(o.result ? f.results[o.number] : f.parameters[o.number]);
    }
    set_operands(f, s, {addresses.data(), addresses.size()});
  }
}

// `lock`: null when somebody further out holds it.
void Executable::bind_variables(Frame& f, const VariableLock* lock) {
  if (!arena_groups_.empty()) gather_variables();
  f.followed = false;
  LeaseSet leases;
  bool moved = false, settled = true;
  for (size_t i = 0; i < variables_.size(); ++i) {
    VariableImpl& v = *variables_[i].impl()->variable;
    const bool home = v.arena && VariableArena::at_home(v);
    if (written_[i] && !(v.arena && !home && VariableArena::bring_home(v))) {
      const TensorImpl& t = *v.value.impl();
      if (v.value.header().use_count() != 1 || t.buffer.use_count() != 1 ||
          (t.buffer->is_foreign() && !home)) {
        t.buffer->stop_following();  // what others hold is not written any more
        v.value = duplicate(t, *v.device);
        note_variable(v);
      }
      settled &= !v.arena || VariableArena::at_home(v);
    }
    const TensorImpl& t = *v.value.impl();
    if (t.bytes() < variable_bytes_[i]) [[unlikely]] {
      throw FailedPreconditionError(
          fmt::format("{}: a variable has {} bytes where the plan needs {}. Make a plan "
                      "for the shape "
                      "that it has now.",
                      *name_, t.bytes(), variable_bytes_[i]));
    }
    if (v.device->is_host()) {
      t.buffer->host_wait();
    } else {
      v.device->compute().wait(t.buffer->ready());
      if (written_[i]) t.buffer->await_uses(v.device->compute());
    }
    void* now = t.address(leases);
    if (now == f.variables[i]) continue;
    // Work of the last call may still be using the old addresses.
    if (!moved && has_async_ && !f.fresh) wait_for_lanes(f);
    if (!moved) forget_captured(f);
    moved = true;
    f.variables[i] = now;
    for (const Patch& p : variable_patches_[i]) f.table[p.slot] = plus(now, p.offset);
  }
  f.bound_lock = settled ? lock : nullptr;
  f.bound_holds = lock ? lock->holds.load(std::memory_order_relaxed) : 0;
}

}  // namespace tandem
