#include "kernels/cpu/nn_onednn.h"

#ifndef TANDEM_NO_OPENMP
#include <omp.h>
#endif

#include "tandem/error.h"

namespace tandem::cpu::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine* e = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *e;
}

dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

dnnl::memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return dnnl::memory::data_type::f16;
    case DType::kBFloat16:
      return dnnl::memory::data_type::bf16;
    default:
      return dnnl::memory::data_type::f32;
  }
}

const dnnl::primitive_attr& user_scratchpad() {
  static const dnnl::primitive_attr* attr = [] {
    auto* a = new dnnl::primitive_attr;
    a->set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return a;
  }();
  return *attr;
}

bool End::complete() const {
  return activation.empty() || activation == "Relu" || activation == "LeakyRelu";
}

// The library's relu makes 0 of NaN, which would hide that a step diverged; with a slope
// it does not. x · clip(3e38 · x, 0, 1) is relu and keeps NaN. Of other numbers only -inf
// differs (NaN), and those below 1e-38.
dnnl::primitive_attr End::attr() const {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (activation.empty() || !complete()) return attr;
  dnnl::post_ops ops;
  if (activation == "LeakyRelu" && alpha != 0) {
    ops.append_eltwise(dnnl::algorithm::eltwise_relu, static_cast<float>(alpha), 0);
  } else {
    constexpr float kSteep = 3e38f;
    ops.append_eltwise(dnnl::algorithm::eltwise_hardswish, kSteep, 0);
  }
  attr.set_post_ops(ops);
  return attr;
}

#ifdef TANDEM_NO_OPENMP
LibraryThreads::LibraryThreads(int) : previous_(0) {}
LibraryThreads::~LibraryThreads() = default;
#else
LibraryThreads::LibraryThreads(int threads) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
LibraryThreads::~LibraryThreads() { omp_set_num_threads(previous_); }
#endif

Slot make_slot(int arg, int index, bool output, const dnnl::memory::desc& user,
               const dnnl::memory::desc& inner, WorkspaceLayout& layout) {
  Slot slot{.arg = arg, .index = index, .output = output, .user = user, .inner = inner};
  if (user == inner) return slot;
  const auto& from = output ? inner : user;
  const auto& to = output ? user : inner;
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, user_scratchpad());
  slot.reorder = dnnl::reorder(pd);
  slot.scratch = pd.scratchpad_desc();
  slot.inner_at = layout.take(inner.get_size());
  slot.scratch_at = layout.take(slot.scratch.get_size());
  return slot;
}

namespace {

void run_reorder(const Slot& slot, const dnnl::memory& user, const dnnl::memory& inner,
                 std::byte* workspace) {
  const dnnl::memory scratch(slot.scratch, engine(), workspace + slot.scratch_at);
  slot.reorder.execute(stream(), {{DNNL_ARG_FROM, slot.output ? inner : user},
                                  {DNNL_ARG_TO, slot.output ? user : inner},
                                  {DNNL_ARG_SCRATCHPAD, scratch}});
}

void* address(const Slot& slot, const LaunchArgs& args) {
  const auto i = static_cast<size_t>(slot.index);
  return slot.output ? args.outputs[i] : args.inputs[i];
}

}  // namespace

void execute(const Call& call, const LaunchArgs& args) {
  auto* workspace = static_cast<std::byte*>(args.workspace);
  const LibraryThreads threads(call.threads);
  try {
    std::unordered_map<int, dnnl::memory> memories;
    for (const Slot& slot : call.slots) {
      void* user = address(slot, args);
      if (!slot.reorders()) {
        memories.emplace(slot.arg, dnnl::memory(slot.user, engine(), user));
        continue;
      }
      const dnnl::memory inner(slot.inner, engine(), workspace + slot.inner_at);
      memories.emplace(slot.arg, inner);
      if (!slot.output) {
        run_reorder(slot, dnnl::memory(slot.user, engine(), user), inner, workspace);
      }
    }
    memories.emplace(DNNL_ARG_SCRATCHPAD,
                     dnnl::memory(call.scratch, engine(), workspace + call.scratch_at));
    call.primitive.execute(stream(), memories);
    for (const Slot& slot : call.slots) {
      if (!slot.output || !slot.reorders()) continue;
      run_reorder(slot, dnnl::memory(slot.user, engine(), address(slot, args)),
                  memories.at(slot.arg), workspace);
    }
    stream().wait();
  } catch (const dnnl::error& e) {
    throw InternalError(fmt::format("oneDNN: {}", e.message));
  }
}

}  // namespace tandem::cpu::onednn
