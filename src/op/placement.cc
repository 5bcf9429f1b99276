#include "op/placement.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/thread_state.h"
#include "device/runtime.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {

// One per DeviceScope on this thread; the innermost is t_scope.
struct DeviceScope::State {
  DeviceSpec spec;          // merged over the outer scopes
  Device* exact = nullptr;  // the device the spec names, when it exists
  State* outer = nullptr;
  uint64_t key = 0;
};

namespace {

constexpr const char* kLocalJob = "localhost";

// The innermost scope's state is held as void* because State is private to DeviceScope.
struct ScopeView {
  const DeviceSpec* spec = nullptr;
  Device* exact = nullptr;
};
thread_local ScopeView t_view;
thread_local void* t_device_scope = nullptr;

// The key is where calls look for it.
void show(ScopeView view, uint64_t key) {
  t_view = view;
  t_thread.scope_key = key;
}

bool is_local(const DeviceSpec& s) {
  return (!s.job || *s.job == kLocalJob) && s.replica.value_or(0) == 0 &&
         s.task.value_or(0) == 0;
}

// Scopes merge over the first device's name, so `GPU` means GPU:0.
DeviceSpec full_request(const DeviceSpec& s) {
  DeviceSpec r = s;
  r.job = s.job.value_or(kLocalJob);
  r.replica = s.replica.value_or(0);
  r.task = s.task.value_or(0);
  if (!r.type) r.type = "CPU";
  r.index = s.index.value_or(0);
  return r;
}

// Strings live in host memory, whatever kernels a platform has.
bool has_strings(const Signature& s) {
  const auto is_string = [](const TensorInfo& t) { return t.dtype == DType::kString; };
  return std::any_of(s.inputs.begin(), s.inputs.end(), is_string) ||
         std::any_of(s.outputs.begin(), s.outputs.end(), is_string);
}

// A signature may name a view op, which needs no kernel anywhere.
bool runs_on(const Signature& s, Device& d) {
  if (!d.is_host() && has_strings(s)) return false;
  return (s.op->view && s.op->view(s)) ||
         KernelRegistry::get().choose(s, d.platform()) != nullptr;
}

std::string supported_types(const Signature& s) {
  std::string types;
  for (Device* d : Runtime::get().by_priority()) {
    if (types.find(d->type()) != std::string::npos) continue;
    if (!runs_on(s, *d)) continue;
    types += (types.empty() ? "" : ", ") + d->type();
  }
  return types;
}

[[noreturn]] void throw_unsatisfied(const DeviceSpec& spec, const Signature& s) {
  throw InvalidArgumentError(fmt::format(
      "Could not satisfy device specification '{}'. enable_soft_placement=0. Supported "
      "device "
      "types [{}]. All available devices [{}]. [Op:{}] Name an available device, or turn "
      "soft "
      "placement on.",
      full_request(spec).str(), supported_types(s), device_list(), s.op->name));
}

[[noreturn]] void throw_no_kernel(const Signature& s) {
  std::string inputs;
  for (const TensorInfo& t : s.inputs) {
    inputs += fmt::format("{}{}{}", inputs.empty() ? "" : ", ", dtype_name(t.dtype),
                          t.shape.debug_str());
  }
  std::string kernels;
  for (Device* d : Runtime::get().by_priority()) {
    for (const Kernel* k : KernelRegistry::get().find(*s.op, d->platform())) {
      kernels += "\n  " + k->id;
    }
  }
  throw NotFoundError(
      fmt::format("Could not find device for node: {{{{node {0}}}}} = {0}[{1}]({2})\nAll "
                  "kernels registered "
                  "for op {0}:{3}",
                  s.op->name, s.attrs.data ? s.attrs.type->print(s.attrs.data) : "",
                  inputs, kernels.empty() ? "\n  <no registered kernels>" : kernels));
}

Placement first_by_priority(const Signature& s, const char* reason) {
  auto devices = Runtime::get().by_priority();
  for (Device* d : devices) {
    if (runs_on(s, *d)) return {d, d == devices[0] ? reason : "only kernel"};
  }
  throw_no_kernel(s);
}

}  // namespace

DeviceScope::DeviceScope(std::string_view device) : state_(nullptr) {
  Runtime::get().initialize();
  const DeviceSpec inner = DeviceSpec::parse(device);
  auto state = std::make_unique<State>();
  auto* outer = static_cast<State*>(t_device_scope);
  state->spec = outer ? outer->spec.merged(inner) : inner;
  if (state->spec.type && is_local(state->spec)) {
    state->exact = Runtime::get().find(*state->spec.type, state->spec.index.value_or(0));
  }
  state->outer = outer;
  state->key = state->spec.empty() ? 0 : hash_bytes(state->spec.str()) | 1;
  state_ = state.release();
  t_device_scope = state_;
  show({&state_->spec, state_->exact}, state_->key);
}

DeviceScope::DeviceScope(std::nullopt_t) : state_(new State) {
  Runtime::get().initialize();
  state_->outer = static_cast<State*>(t_device_scope);
  t_device_scope = state_;
  show({&state_->spec, nullptr}, 0);
}

DeviceScope::~DeviceScope() {
  // Scopes on the stack nest; those on the heap may go in any order.
  auto* top = static_cast<State*>(t_device_scope);
  if (top == state_) {
    State* outer = state_->outer;
    t_device_scope = outer;
    if (outer) {
      show({&outer->spec, outer->exact}, outer->key);
    } else {
      show({}, 0);
    }
  } else {
    for (State* s = top; s; s = s->outer) {
      if (s->outer != state_) continue;
      s->outer = state_->outer;
      break;
    }
  }
  delete state_;
}

const DeviceSpec* current_device_spec() { return t_view.spec; }
Device* scoped_device() { return t_view.exact; }
uint64_t scope_key() { return t_thread.scope_key; }

Placement place_eager(const Signature& s) {
  Runtime::get().initialize();
  const DeviceSpec* spec = t_view.spec;
  if (!spec || spec->empty()) return first_by_priority(s, "priority");
  if (!is_local(*spec)) {
    throw InvalidArgumentError(
        fmt::format("{} unknown device. [Op:{}] Available devices: [{}].",
                    full_request(*spec).str(), s.op->name, device_list()));
  }
  if (!spec->type) return first_by_priority(s, "priority");
  if (t_view.exact && runs_on(s, *t_view.exact)) return {t_view.exact, "scope"};
  if (!config::get_soft_device_placement()) throw_unsatisfied(*spec, s);
  return {first_by_priority(s, "soft placement").device, "soft placement"};
}

Device& constant_device(DType dtype) {
  Runtime& runtime = Runtime::get();
  runtime.initialize();
  if (dtype == DType::kString) return runtime.cpu();
  if (t_view.exact) return *t_view.exact;
  if (t_view.spec && t_view.spec->type) {
    if (!is_local(*t_view.spec)) {
      throw InvalidArgumentError(
          fmt::format("{} unknown device. Available devices: [{}].",
                      full_request(*t_view.spec).str(), device_list()));
    }
    if (!config::get_soft_device_placement()) {
      throw InvalidArgumentError(fmt::format(
          "Could not satisfy device specification '{}'. enable_soft_placement=0. All "
          "available "
          "devices [{}]. Name an available device, or turn soft placement on.",
          full_request(*t_view.spec).str(), device_list()));
    }
  } else if (t_view.spec && !is_local(*t_view.spec)) {
    throw InvalidArgumentError(fmt::format("{} unknown device. Available devices: [{}].",
                                           full_request(*t_view.spec).str(),
                                           device_list()));
  }
  return *runtime.by_priority()[0];
}

}  // namespace tandem
