#include "run/call_plan.h"

#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "device/runtime.h"
#include "op/kernel_builds.h"
#include "op/output_memory.h"
#include "run/call_inputs.h"
#include "tandem/device.h"
#include "tandem/precision.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

constexpr size_t kMaxHostBytesInKey = 512;

const Shape& resource_shape(const VariableImpl& v, const InputDef& def) {
  return def.replaces || !v.value.defined() ? v.shape : v.value.shape();
}

// Appends what the plan may depend on; false when the call cannot be cached.
bool build_key(const CallInputs& call, bool single_thread, KeyWords& key) {
  const uint64_t flags =
      static_cast<uint64_t>(single_thread) |
      static_cast<uint64_t>(config::get_soft_device_placement()) << 1 |
      static_cast<uint64_t>(config::op_determinism_enabled()) << 2 |
      static_cast<uint64_t>(config::tensor_float_32_execution_enabled()) << 3;
  key.push_back(static_cast<uint64_t>(call.op->id) | call.tensors.size() << 20 |
                flags << 60);
  key.push_back(call.resource_device
                    ? ~static_cast<uint64_t>(call.resource_device->ordinal())
                    : scope_key());
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const InputDef& def = call.op->input_def(static_cast<int>(i));
    if (!call.tensors[i]) {
      key.push_back(0);
      continue;
    }
    const TensorImpl& t = *call.tensors[i];
    if (def.resource) {
      const VariableImpl& v = *t.variable;
      const Shape& shape = resource_shape(v, def);
      key.push_back(static_cast<uint64_t>(v.dtype) |
                    static_cast<uint64_t>(shape.rank()) << 8 | uint64_t{1} << 40);
      for (int64_t d : shape) key.push_back(static_cast<uint64_t>(d));
      continue;
    }
    const bool has_value = static_cast<bool>(t.host_value);
    key.push_back(static_cast<uint64_t>(t.dtype) |
                  static_cast<uint64_t>(t.shape.rank()) << 8 |
                  static_cast<uint64_t>(has_value) << 41);
    for (int64_t d : t.shape) key.push_back(static_cast<uint64_t>(d));
    if (def.host) {
      const size_t bytes = t.bytes();
      if (bytes > kMaxHostBytesInKey || t.dtype == DType::kString) return false;
      const char* p = static_cast<const char*>(t.data());
      for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, p + at, std::min<size_t>(8, bytes - at));
        key.push_back(word);
      }
    } else if (has_value) {
      for (int64_t v : *t.host_value) key.push_back(static_cast<uint64_t>(v));
    }
  }
  if (call.attrs.data) call.attrs.type->append_key(call.attrs.data, key);
  return true;
}

TensorInfo describe(const TensorImpl* impl, const InputDef& def) {
  TensorInfo info;
  if (!impl) return info;
  const TensorImpl& t = *impl;
  if (def.resource) {
    const VariableImpl& v = *t.variable;
    info.dtype = v.dtype;
    info.shape = resource_shape(v, def);
    return info;
  }
  info.dtype = t.dtype;
  info.shape = t.shape;
  if (def.host) {
    info.data = t.data();
    if (is_integer(t.dtype) && t.shape.rank() <= 1 &&
        t.shape.num_elements() <= kMaxHostValues) {
      info.value = read_ints(t.dtype, t.data(), t.shape.num_elements());
      info.has_value = true;
    }
  } else if (t.host_value) {
    info.value = *t.host_value;
    info.has_value = true;
  }
  return info;
}

bool fully_known(const PartialValue& v) {
  for (int64_t x : v) {
    if (x == kUnknownValue) return false;
  }
  return true;
}

Ref<CallPlan> make_plan(const CallInputs& call, bool single_thread) try {
  const OpDef& op = *call.op;
  std::vector<TensorInfo> inputs;
  inputs.reserve(call.tensors.size());
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    inputs.push_back(describe(call.tensors[i], op.input_def(static_cast<int>(i))));
  }
  InferContext context(op, call.attrs, inputs);
  infer_call(context);

  auto plan = make_ref<CallPlan>();
  plan->op = &op;
  plan->attrs = Attrs(call.attrs);
  Signature s;
  s.op = &op;
  s.attrs = plan->attrs.ref();
  s.inputs = inputs;
  s.outputs = context.outputs();
  s.deterministic = config::op_determinism_enabled();
  for (const TensorInfo& out : s.outputs) {
    if (!op.dynamic && !out.shape.is_known()) {
      // A size that is given as -1, or as the least integer, stands for none.
      throw InvalidArgumentError(op.name + ": the sizes that are given leave the shape " +
                                 out.shape.debug_str() +
                                 " of its output open. Dimensions must be >= 0.");
    }
    // Before kernels compute with the sizes.
    if (out.shape.is_known()) checked_bytes(out.dtype, out.shape);
  }
  if (call.resource_device) {
    plan->device = call.resource_device;
    plan->reason = "resource";
  } else {
    const Placement p = place_eager(s);
    plan->device = p.device;
    plan->reason = p.reason;
  }
  s.device = plan->device;
  Team* team = plan->device->team();
  s.threads = team && !single_thread ? team->threads() : 1;
  if (op.view) plan->view_offset = op.view(s);
  if (!plan->view_offset) {
    plan->kernel = KernelRegistry::get().choose(s, plan->device->platform());
    if (!plan->kernel) {
      throw NotFoundError("Could not find kernel for " + op.name + " on " +
                          plan->device->full_name());
    }
    check_output_memory(s);
    const CollectBuilds collected;
    plan->prepared = plan->kernel->prepare(s);
    collected.builds().get();  // what fails to compile fails here, at the call
  }
  for (const TensorInfo& in : inputs) plan->inputs.push_back({in.dtype, in.shape});
  for (TensorInfo& out : context.outputs()) {
    CallPlan::Output o;
    o.dtype = out.dtype;
    o.shape = out.shape;
    o.bytes = out.shape.is_known()
                  ? static_cast<size_t>(checked_bytes(out.dtype, out.shape))
                  : 0;
    if (!plan->device->is_host() && out.has_value && fully_known(out.value)) {
      o.host_value = std::make_unique<PartialValue>(std::move(out.value));
    }
    plan->outputs.push_back(std::move(o));
  }
  return plan;
} catch (const std::bad_alloc&) {
  throw_no_host_memory(*call.op);
} catch (const std::length_error&) {
  throw_no_host_memory(*call.op);
}

// First level: direct-mapped, per thread, no lock. Second level: shared, for plans that
// are expensive to make (library primitives) and threads that come and go.
constexpr size_t kThreadSlots = 1024;
struct ThreadCache {
  Ref<CallPlan> slots[kThreadSlots];
};

// What a plan takes, about, in KiB: an OpenMP library's primitive has code of its own.
size_t weight_of(const CallPlan& plan) {
  constexpr size_t kPlain = 1, kLibrary = 32;
  return plan.kernel && plan.kernel->library_threads ? kLibrary : kPlain;
}

// Bounded by weight: programs whose shapes change endlessly lose the plans that were not
// looked up here for longest; threads keep what they use themselves. Of two generations
// the older one is dropped when the younger is full.
class SharedCache {
 public:
  Ref<CallPlan> find(const KeyWords& key, uint64_t hash) {
    std::unique_lock lock(mutex_);
    for (Plans* plans : {&young_, &old_}) {
      const auto it = plans->find(hash);
      if (it == plans->end() || !(it->second->key == key)) continue;
      Ref<CallPlan> found = it->second;
      if (plans == &old_) {
        old_.erase(it);
        add(found, lock);
      }
      return found;
    }
    return nullptr;
  }
  void insert(const Ref<CallPlan>& plan) {
    std::unique_lock lock(mutex_);
    add(plan, lock);
  }

 private:
  using Plans = std::unordered_map<uint64_t, Ref<CallPlan>>;

  void add(const Ref<CallPlan>& plan, std::unique_lock<std::mutex>& lock) {
    Plans dropped;  // its plans end without the lock
    if (weight_ >= kMostWeight) {
      dropped = std::exchange(old_, std::exchange(young_, {}));
      weight_ = 0;
    }
    if (young_.insert_or_assign(plan->hash, plan).second) weight_ += weight_of(*plan);
    lock.unlock();
  }

  static constexpr size_t kMostWeight = 4096;  // of one generation
  std::mutex mutex_;
  Plans young_, old_;
  size_t weight_ = 0;  // of the younger
};

SharedCache& shared_cache() {
  static auto* cache = new SharedCache;
  return *cache;
}

}  // namespace

Ref<CallPlan> find_plan(const CallInputs& call, bool single_thread) {
  KeyWords key;
  if (!build_key(call, single_thread, key)) return make_plan(call, single_thread);
  const uint64_t hash = hash_words(key.data(), key.size());
  static thread_local auto t_cache = std::make_unique<ThreadCache>();
  Ref<CallPlan>& slot = t_cache->slots[hash % kThreadSlots];
  if (slot && slot->hash == hash && slot->key == key) return slot;
  if (Ref<CallPlan> found = shared_cache().find(key, hash)) return slot = found;
  Runtime::get().initialize();
  Ref<CallPlan> plan = make_plan(call, single_thread);
  plan->hash = hash;
  plan->key = std::move(key);
  shared_cache().insert(plan);
  return slot = plan;
}

}  // namespace tandem
