// Loops that the host decides, in an Executable. What can be known of a loop when it is
// built (LoopForm) is found then; a turn decides, runs the body's plan from one set of
// buffers into the other, or in the same memory where the body can (a sum that grows),
// and passes lists on without a second handle to them, so that the next turn changes them
// where they are.
#include <algorithm>
#include <cstring>

#include "base/interrupt.h"
#include "base/recorder.h"
#include "run/executable_frame.h"
#include "tensor/live_memory.h"

namespace tandem {

namespace {
bool reads(const Graph& graph, ValueRef v) {
  const auto is = [v](ValueRef w) { return w == v; };
  const auto& results = graph.results();
  return std::any_of(results.begin(), results.end(), is) ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) {
           return std::any_of(n.inputs.begin(), n.inputs.end(), is);
         });
}
}  // namespace

Executable::LoopForm Executable::loop_form(const Step& step) const {
  const Node& n = graph_.node(step.node);
  const Executable& test = *children_[idx(step.child)];
  const Executable& body = *children_[idx(step.child) + 1];
  LoopForm form;
  const auto result_place = [&](int32_t i) -> const Place& {
    return body.place(body.graph_.results()[idx(i)]);
  };
  for (int32_t i = 0; i < static_cast<int32_t>(n.inputs.size()); ++i) {
    if (graph_.info(n.inputs[idx(i)]).dtype != DType::kVariant) continue;
    if (reads(test.graph_, {test.graph_.parameters()[idx(i)], 0})) {
      form.tested.push_back(i);
    }
    if (i >= n.carried) {
      form.invariants.push_back(i);
      continue;
    }
    const Place& p = result_place(i);
    bool only = p.storage != Place::Storage::kConstant;
    for (int32_t k = 0; k < n.carried; ++k) {
      only &=
          k == i || n.outputs[idx(k)].dtype != DType::kVariant || !(result_place(k) == p);
    }
    form.lists.push_back({i, only});
  }
  // A comparison of two numbers that never change within a turn needs no plan.
  if (test.only_host_ && test.steps_.size() == 1 &&
      is_comparison(test.steps_[0].scalar) &&
      test.graph_.results()[0] == ValueRef{test.steps_[0].node, 0}) {
    const Step& compare = test.steps_[0];
    const Node& node = test.graph_.node(compare.node);
    form.compare = compare.scalar;
    for (size_t k = 0; k < 2; ++k) {
      const Place& p = test.place(node.inputs[k]);
      form.compared[k] = {-1, test.table_[compare.in + k]};
      if (p.storage == Place::Storage::kParameter && p.offset == 0) {
        form.compared[k].parameter = p.index;
      } else if (p.storage != Place::Storage::kConstant) {
        form.compare = ScalarOp::kNone;
      }
    }
  }
  return form;
}

void Executable::make_loop_state(Frame& f, const Step& step) {
  auto& state = f.loops[idx(step.child) + 1];
  const Node& n = graph_.node(step.node);
  state = std::make_unique<Frame::LoopState>();
  state->fresh.resize(idx(n.carried));
  const Executable& body = *children_[idx(step.child) + 1];
  for (int side = 0; side < 2; ++side) {
    for (int32_t i = 0; i < n.carried; ++i) {
      const ValueInfo& info = n.outputs[idx(i)];
      const bool memory = !info.state && info.dtype != DType::kVariant;
      if (side == 1 && memory && body.stays(idx(i))) {
        state->buffers[1].push_back(state->buffers[0][idx(i)]);
        state->addresses[1].push_back(state->addresses[0][idx(i)]);
        continue;
      }
      Device* d = memory ? device_of({step.node, i}) : nullptr;
      state->buffers[side].push_back(
          memory
              ? allocate_for(note("loop state of", info), *d,
                             static_cast<size_t>(checked_bytes(info.dtype, info.shape)),
                             nullptr)  // copies may be the first to write it
              : nullptr);
      state->addresses[side].push_back(
          memory ? f.leases.address(state->buffers[side].back()) : nullptr);
    }
  }
}

bool Executable::goes_on(Frame& f, const Step& step, const LoopForm& form,
                         std::span<void* const> now) {
  bool answer = false;
  if (form.compare != ScalarOp::kNone && !recorder::enabled()) {
    const void* given[2];
    for (size_t k = 0; k < 2; ++k) {
      const LoopForm::Compared& c = form.compared[k];
      given[k] = c.parameter >= 0 ? now[idx(c.parameter)] : c.constant;
    }
    run_scalar(form.compare, given[0], given[1], &answer);
    return answer;
  }
  Frame& test = *f.children[idx(step.child)];
  const Frame& inner = *f.children[idx(step.child) + 1];
  for (int32_t i : form.tested) {
    test.parameter_handles[idx(i)] = inner.parameter_handles[idx(i)];
  }
  void* to = &answer;
  run_child(f, idx(step.child), now, {&to, 1});
  for (int32_t i : form.tested) test.parameter_handles[idx(i)] = Tensor();
  return answer;
}

// Lists that the body passes on unchanged are still its parameters, and may change places
// or be carried twice: all are taken before any is given.
void Executable::pass_lists(Frame& inner, const LoopForm& form,
                            std::vector<Tensor>& fresh) const {
  for (const LoopForm::List& l : form.lists) {
    const ValueRef v = graph_.results()[idx(l.index)];
    fresh[idx(l.index)] = l.only ? std::move(handle(inner, place(v))) : list(inner, v);
  }
  for (Tensor& t : inner.handles) t = Tensor();
  for (const LoopForm::List& l : form.lists) {
    inner.parameter_handles[idx(l.index)] = std::move(fresh[idx(l.index)]);
  }
}

void Executable::run_loop(Frame& f, const Step& step) {
  const Node& n = graph_.node(step.node);
  const LoopForm& form = loop_forms_[idx(step.loop)];
  const size_t body = idx(step.child) + 1;
  const Executable& e = *children_[body];
  Frame& inner = *f.children[body];
  // A turn of few steps asks once.
  constexpr size_t kFewSteps = 8;
  inner.polls = e.steps_.size() > kFewSteps;
  const size_t carried = idx(n.carried);
  if (!f.loops[body]) make_loop_state(f, step);
  Frame::LoopState& state = *f.loops[body];
  SmallVec<void*, 16> now;
  for (size_t i = 0; i < n.inputs.size(); ++i) now.push_back(f.table[step.in + i]);
  const auto take = [&](int32_t i) {
    const Place& p = place(n.inputs[idx(i)]);
    return p.storage == Place::Storage::kConstant ? graph_.node(p.index).constant
           : last_use_[step.in + idx(i)]          ? std::move(handle(f, p))
                                                  : handle(f, p);
  };
  for (const LoopForm::List& l : form.lists) {
    inner.parameter_handles[idx(l.index)] = take(l.index);
  }
  std::vector<Tensor> invariants;  // lists that every turn reads
  for (int32_t i : form.invariants) invariants.push_back(take(i));
  for (int64_t turn = 0; n.max_iterations < 0 || turn < n.max_iterations; ++turn) {
    poll_interrupt();
    // A turn may use its lists up.
    for (size_t k = 0; k < invariants.size(); ++k) {
      inner.parameter_handles[idx(form.invariants[k])] = invariants[k];
    }
    if (!goes_on(f, step, form, {now.data(), now.size()})) break;
    const auto& next = state.addresses[turn % 2];
    // What changes where it is begins as a copy of what the loop was given.
    for (size_t i = 0; turn == 0 && i < carried; ++i) {
      if (!next[i] || !e.stays(i)) continue;
      const Place& p = place({step.node, static_cast<int32_t>(i)});
      if (p.bytes) std::memcpy(next[i], now[i], static_cast<size_t>(p.bytes));
      now[i] = next[i];
    }
    run_child(f, body, {now.data(), now.size()}, next);
    for (size_t i = 0; i < carried; ++i) {
      if (next[i]) now[i] = next[i];
    }
    e.pass_lists(inner, form, state.fresh);
  }
  for (size_t i = 0; i < carried; ++i) {
    const ValueRef out{step.node, static_cast<int32_t>(i)};
    if (n.outputs[i].state) continue;
    if (n.outputs[i].dtype == DType::kVariant) {
      handle(f, place(out)) = std::move(inner.parameter_handles[i]);
      continue;
    }
    void* to = f.table[step.out + i];
    const auto bytes = static_cast<size_t>(place(out).bytes);
    if (!to || !bytes || to == now[i]) continue;
    Device& d = *device_of(out);
    if (d.is_host()) {
      std::memcpy(to, now[i], bytes);
    } else {
      const TimePoint done = d.copy(d.compute(), to, now[i], bytes);
      if (&d != step.stream_device) done.host_wait();
    }
  }
  for (Tensor& t : inner.parameter_handles) t = Tensor();
  end_control(f, step);
}

}  // namespace tandem
