#include "op/kernel.h"

#include <atomic>
#include <map>
#include <mutex>

#include <dlfcn.h>

#include "device/plugin.h"
#include "op/kernel_fit.h"
#include "tandem/error.h"

namespace tandem {

namespace {
void (*g_kernel_registrar)(KernelRegistry&) = nullptr;
}

void set_kernel_registrar(void (*registrar)(KernelRegistry&)) {
  g_kernel_registrar = registrar;
}

// Readers go through an immutable table; plugins that add kernels later publish a new one
// and the old one stays for whoever is reading it.
struct KernelRegistry::State {
  using Lists = std::vector<std::vector<const Kernel*>>;  // op id * kPlatforms + platform
  static constexpr size_t kPlatforms = 8;
  std::mutex mutex;
  std::vector<const Kernel*> all;
  std::map<std::string, const Kernel*> by_id;
  std::unique_ptr<Lists> building;  // until the first publication
  std::atomic<const Lists*> lists{nullptr};

  void insert(Lists& into, Kernel kernel) {
    const OpDef& op = OpTable::get().at(kernel.op);
    if (kernel.platform >= kPlatforms) throw InternalError("too many kernel platforms");
    kernel.index = static_cast<int>(all.size());
    auto* kept = new Kernel(std::move(kernel));
    if (!by_id.emplace(kept->id, kept).second) {
      throw InternalError("kernel '" + kept->id + "' is registered twice");
    }
    all.push_back(kept);
    into[static_cast<size_t>(op.id) * kPlatforms + kept->platform].push_back(kept);
  }
};

KernelRegistry::KernelRegistry() : state_(new State) {
  state_->building =
      std::make_unique<State::Lists>(OpTable::get().all().size() * State::kPlatforms);
}

KernelRegistry& KernelRegistry::get() {
  static KernelRegistry* registry = [] {
    auto* r = new KernelRegistry;
    if (g_kernel_registrar) g_kernel_registrar(*r);
    for (const Plugin& plugin : load_plugins().plugins) {
      if (void* symbol = dlsym(plugin.library, "tandem_register_kernels")) {
        reinterpret_cast<RegisterKernelsEntry>(symbol)(*r);
      }
    }
    r->state_->lists.store(r->state_->building.release(), std::memory_order_release);
    return r;
  }();
  return *registry;
}

void KernelRegistry::add(Kernel kernel) {
  std::lock_guard lock(state_->mutex);
  if (state_->building) {
    state_->insert(*state_->building, std::move(kernel));
    return;
  }
  auto next = std::make_unique<State::Lists>(*state_->lists.load());
  state_->insert(*next, std::move(kernel));
  state_->lists.store(next.release(), std::memory_order_release);
}

void KernelRegistry::add_all(std::vector<Kernel> kernels) {
  std::lock_guard lock(state_->mutex);
  auto next = std::make_unique<State::Lists>(state_->building ? *state_->building
                                                              : *state_->lists.load());
  for (Kernel& k : kernels) state_->insert(*next, std::move(k));
  if (state_->building) {
    state_->building = std::move(next);
  } else {
    state_->lists.store(next.release(), std::memory_order_release);
  }
}

std::span<const Kernel* const> KernelRegistry::find(const OpDef& op,
                                                    Platform platform) const {
  const auto* lists = state_->lists.load(std::memory_order_acquire);
  if (!lists) return {};
  return (*lists)[static_cast<size_t>(op.id) * State::kPlatforms + platform];
}

namespace {
bool takes_dtype(const Kernel& kernel, const Signature& s) {
  if (!kernel.dtypes) return true;
  DType t = DType::kInvalid;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (s.op->input_def(static_cast<int>(i)).type == 'T') {
      t = s.inputs[i].dtype;
      break;
    }
  }
  if (t == DType::kInvalid && !s.outputs.empty()) t = s.outputs[0].dtype;
  return kernel.dtypes & mask(t);
}
}  // namespace

bool kernel_fits(const Kernel& kernel, const Signature& s) {
  return takes_dtype(kernel, s) && (!kernel.supports || kernel.supports(s));
}

bool computes_nothing(const Signature& s) {
  const OpDef& op = *s.op;
  if (op.dynamic || (op.effects & ~kMayFail) || s.outputs.empty()) return false;
  for (const TensorInfo& out : s.outputs) {
    if (!out.shape.is_known() || out.shape.num_elements() != 0 ||
        out.dtype == DType::kVariant) {
      return false;
    }
  }
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const InputDef& def = op.input_def(static_cast<int>(i));
    if (def.resource) return false;
    const TensorInfo& in = s.inputs[i];
    if (!(op.effects & kMayFail) || in.dtype == DType::kInvalid || def.shape_only) {
      continue;
    }
    if (!in.shape.is_known() || in.shape.num_elements() != 0) return false;
  }
  return true;
}

const Kernel& kernel_of_nothing() {
  static const Kernel* const nothing = [] {
    auto* k = new Kernel;
    k->id = "nothing";
    k->prepare = [](const Signature&) { return Ref<Prepared>(new Prepared); };
    k->launch = [](const Prepared&, const LaunchArgs&) {};
    return k;
  }();
  return *nothing;
}

const Kernel* KernelRegistry::choose(const Signature& s, Platform platform) const {
  const bool nothing = computes_nothing(s);
  for (const Kernel* k : find(*s.op, platform)) {
    if (nothing && takes_dtype(*k, s)) return &kernel_of_nothing();
    if (!nothing && kernel_fits(*k, s)) return k;
  }
  return nullptr;
}

std::vector<const Kernel*> KernelRegistry::all() const {
  std::lock_guard lock(state_->mutex);
  return state_->all;
}

}  // namespace tandem
