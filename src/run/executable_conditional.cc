// Control flow that a device decides (device/conditional_work.h): the steps of its
// sub-graphs are part of the recorded run of steps around it, so all their addresses are
// fixed when it is recorded. A loop carries its values in the memory of its results.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "device/capture_session.h"
#include "device/conditional_work.h"
#include "plan/inplace.h"
#include "run/executable_frame.h"

namespace tandem {

namespace {

constexpr size_t kTurnsOffset = 8;  // of the number of turns, behind the predicate
constexpr size_t kControlBytes = 16;

// For a native device outside of a recording (TANDEM_SYNC=1): the host looks.
void look(Device& device, void* to, const void* from, size_t bytes) {
  device.copy(device.compute(), to, from, bytes).host_wait();
}

}  // namespace

// A result may be written to its parameter's memory when no step reads the parameter
// afterwards, and the one that writes it reads every element before.
void Executable::find_fixed_results() {
  replaces_parameter_.assign(graph_.results().size(), 0);
  for (size_t i = 0; i < replaces_parameter_.size(); ++i) {
    const auto number = static_cast<int32_t>(i);
    const auto reads = [&](const Node& n, size_t k) {
      if (!n.inputs[k].defined() || graph_.info(n.inputs[k]).state) return false;
      const Place& p = place(n.inputs[k]);
      return p.storage == Place::Storage::kParameter && p.index == number;
    };
    bool written = false, allowed = true;
    for (const Step& step : steps_) {
      const Node& n = graph_.node(step.node);
      int32_t output = -1;
      for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
        const Place& p = place({step.node, o});
        if (p.storage == Place::Storage::kResult && p.index == number) output = o;
      }
      for (size_t k = 0; k < n.inputs.size(); ++k) {
        if (!reads(n, k) || (!written && output < 0)) continue;
        // A copy of a value to its own place is none.
        const bool itself = n.kind == Node::Kind::kCopy && output >= 0;
        allowed &= output >= 0 &&
                   (itself || InPlace(graph_, n, step.device).may_share(k, output));
      }
      written |= output >= 0;
    }
    replaces_parameter_[i] = written && allowed;
  }
}

void Executable::bind_conditionals(Frame& f, const Segment& segment) {
  for (size_t k = segment.begin; k < segment.end; ++k) {
    if (steps_[k].conditional) bind_conditional(f, steps_[k]);
  }
}

void Executable::bind_inside(Frame& f, size_t child, std::span<void* const> parameters,
                             std::span<void* const> results) {
  Executable& e = *children_[child];
  Frame& inner = *f.children[child];
  e.bind(inner, {parameters, results, variables_of(f, child)});
  for (const Segment& s : e.segments_) e.bind_conditionals(inner, s);
}

void Executable::bind_conditional(Frame& f, const Step& step) {
  const Node& n = graph_.node(step.node);
  void** const in = f.table.data() + step.in;
  void** const out = f.table.data() + step.out;
  if (step.kind == Step::Kind::kBranch) {
    for (size_t g = 0; g < n.subgraphs.size(); ++g) {
      bind_inside(f, idx(step.child) + g, {in + 1, n.inputs.size() - 1},
                  {out, n.outputs.size()});
    }
    return;
  }
  const size_t condition = idx(step.child), body = condition + 1;
  auto& loop = f.conditionals[body];
  if (!loop) {
    loop = std::make_unique<Frame::ConditionalLoop>();
    loop->control = Buffer::allocate(*step.device, kControlBytes);
    loop->address = static_cast<std::byte*>(f.leases.address(loop->control));
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const auto bytes =
          static_cast<size_t>(place({step.node, static_cast<int32_t>(i)}).bytes);
      const bool own =
          !n.outputs[i].state && bytes && !children_[body]->replaces_parameter_[i];
      loop->buffers.push_back(own ? Buffer::allocate(*step.device, bytes) : nullptr);
      loop->results.push_back(own ? f.leases.address(loop->buffers[i]) : nullptr);
    }
  }
  SmallVec<void*, 16> parameters, results;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    parameters.push_back(i < n.outputs.size() ? out[i] : in[i]);
  }
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    results.push_back(loop->buffers[i] ? loop->results[i] : out[i]);
  }
  void* const go_on = loop->address;
  const std::span<void* const> given{parameters.data(), parameters.size()};
  bind_inside(f, condition, given, {&go_on, 1});
  bind_inside(f, body, given, {results.data(), results.size()});
}

// As part of the step under way.
void Executable::copy_inside(const Step& step, const StreamContext& context, void* to,
                             const void* from, size_t bytes) const {
  if (CaptureSession* session = CaptureSession::current()) {
    session->copy(to, from, bytes);
  } else if (step.device->platform() == kHostPlatform) {
    std::memcpy(static_cast<std::byte*>(to) + context.address_offset,
                static_cast<const std::byte*>(from) + context.address_offset, bytes);
  } else {
    step.device->copy(step.device->compute(), to, from, bytes);
  }
}

void Executable::run_inside(Frame& f, const StreamContext& context) {
  try {
    for (const Segment& s : segments_) run_on_stream(f, s, context);
  } catch (...) {
    f.take_error();  // it is the call's
    throw;
  }
}

void Executable::run_conditional(Frame& f, const Step& step,
                                 const StreamContext& context) {
  const Node& n = graph_.node(step.node);
  const auto read = [&](void* to, const void* from, size_t bytes) {
    look(*step.device, to, from, bytes);
  };
  std::optional<LookingWork> looking;
  if (!ConditionalWork::current()) looking.emplace(context, read);
  ConditionalWork& work = *ConditionalWork::current();
  const auto run = [&](size_t child, const StreamContext& c) {
    children_[child]->run_inside(*f.children[child], c);
  };
  if (step.kind == Step::Kind::kBranch) {
    const size_t bytes = dtype_size(graph_.info(n.inputs[0]).dtype);
    work.choose(
        {f.table[step.in], bytes}, n.subgraphs.size(),
        [&](size_t branch, const StreamContext& c) { run(idx(step.child) + branch, c); });
    return;
  }
  const auto bytes_of = [&](size_t i) {
    return n.outputs[i].state
               ? size_t{0}
               : static_cast<size_t>(place({step.node, static_cast<int32_t>(i)}).bytes);
  };
  void* const* const in = f.table.data() + step.in;
  void* const* const out = f.table.data() + step.out;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (bytes_of(i) && in[i] != out[i]) {
      copy_inside(step, context, out[i], in[i], bytes_of(i));
    }
  }
  const size_t condition = idx(step.child), body = condition + 1;
  const Frame::ConditionalLoop& loop = *f.conditionals[body];
  work.repeat(
      {loop.address, loop.address + kTurnsOffset, n.max_iterations},
      [&](const StreamContext& c) { run(condition, c); },
      [&](const StreamContext& c) {
        run(body, c);
        // What could not be written in place becomes the next turn's when all is done.
        CaptureSession* const session = CaptureSession::current();
        std::vector<int32_t> steps(session ? children_[body]->steps_.size() : 0);
        std::iota(steps.begin(), steps.end(), 0);
        for (size_t i = 0; i < n.outputs.size(); ++i) {
          if (!loop.buffers[i]) continue;
          if (session) session->begin(steps, label_of(step), {});
          copy_inside(step, c, out[i], loop.results[i], bytes_of(i));
          if (session) session->end();
        }
      });
}

}  // namespace tandem
