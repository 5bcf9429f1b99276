// Kernels in two phases (design, decision 21): prepare(signature) → immutable Prepared,
// then launch(prepared, pointers). Neither allocates device memory, synchronises, or
// chooses a device or stream. Several kernels may serve one op on one platform; the first
// whose supports() holds is the default, others are measured candidates. The registry is
// filled at start-up and by plugins; any thread may read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "op/op_def.h"
#include "tandem/ref.h"

namespace tandem {

/// Base of what prepare() makes: library descriptors, sizes, chosen inner loops.
struct Prepared : RefCounted {
  virtual ~Prepared() = default;
  size_t workspace_bytes = 0;
};
inline void destroy_object(Prepared* p) { delete p; }

struct LaunchArgs {
  void* const* inputs;  // null for host, shape_only and absent inputs
  void* const*
      outputs;  // for resource inputs the variable's memory is in `inputs`, writable
  void* workspace = nullptr;
  const StreamContext* stream = nullptr;  // null on the CPU
  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  /// A variable's memory.
  template <class T>
  T* inout(int i) const {
    return static_cast<T*>(inputs[i]);
  }
  template <class T>
  T* out(int i = 0) const {
    return static_cast<T*>(outputs[i]);
  }
};

/// Given to kernels of dynamic ops: memory for output i once its shape is known.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  virtual void* allocate(int output, const Shape& shape) = 0;
};

struct Kernel {
  std::string id;  // stable: "cpu.matmul.onednn"
  std::string op;
  Platform platform = kHostPlatform;
  /// Allowed dtypes of type variable T (output 0's when no input has it); 0: any.
  DTypeMask dtypes = 0;
  /// Null: always.
  bool (*supports)(const Signature&) = nullptr;
  Ref<Prepared> (*prepare)(const Signature&) = nullptr;
  void (*launch)(const Prepared&, const LaunchArgs&) = nullptr;
  /// Dynamic ops only, instead of launch.
  void (*launch_dynamic)(const Prepared&, const LaunchArgs&, OutputAllocator&) = nullptr;
  /// A library inside brings its own parallel loop: the caller must hold the team's
  /// token, and Signature::threads is part of what was prepared.
  bool library_threads = false;
  int index = -1;  // dense, given by the registry
};

class KernelRegistry {
 public:
  static KernelRegistry& get();
  /// At start-up or from a plugin's register function; throws InternalError on a second
  /// id.
  void add(Kernel kernel);
  /// Many at once: one publication (plugins).
  void add_all(std::vector<Kernel> kernels);
  /// Kernels of an op on a platform, preferred first.
  std::span<const Kernel* const> find(const OpDef& op, Platform platform) const;
  /// The default kernel for a signature, or null.
  const Kernel* choose(const Signature& signature, Platform platform) const;
  bool has(const OpDef& op, Platform platform) const {
    return !find(op, platform).empty();
  }
  std::vector<const Kernel*> all() const;

 private:
  KernelRegistry();
  struct State;
  State* state_;
};

/// Set by the kernels layer: fills the registry with the host's kernels.
void set_kernel_registrar(void (*registrar)(KernelRegistry&));
/// Signature of the symbol `tandem_register_kernels` that a plugin exports.
using RegisterKernelsEntry = void (*)(KernelRegistry&);

/// Prepared state of any struct P: `PreparedOf<P>` holds it by value.
template <class P>
struct PreparedOf : Prepared {
  P value;
  explicit PreparedOf(P v) : value(std::move(v)) {}
};

namespace detail {
template <class F>
struct PreparedArg;
template <class P>
struct PreparedArg<void (*)(const P&, const LaunchArgs&)> {
  using type = P;
};
template <class P>
struct PreparedArg<void (*)(const P&, const LaunchArgs&, OutputAllocator&)> {
  using type = P;
};
}  // namespace detail

/// A kernel from two plain functions: `P prepare(const Signature&)` and
/// `void launch(const P&, const LaunchArgs&)`. A P with a `workspace_bytes` member asks
/// for that much scratch memory.
template <auto kPrepare, auto kLaunch>
Kernel make_kernel(std::string op, std::string id, DTypeMask dtypes = 0,
                   bool (*supports)(const Signature&) = nullptr) {
  using P = typename detail::PreparedArg<decltype(kLaunch)>::type;
  Kernel k;
  k.op = std::move(op);
  k.id = std::move(id);
  k.dtypes = dtypes;
  k.supports = supports;
  k.prepare = [](const Signature& s) -> Ref<Prepared> {
    auto* p = new PreparedOf<P>(kPrepare(s));
    if constexpr (requires { p->value.workspace_bytes; }) {
      p->workspace_bytes = p->value.workspace_bytes;
    }
    return Ref<Prepared>(p);
  };
  if constexpr (std::is_same_v<decltype(kLaunch),
                               void (*)(const P&, const LaunchArgs&)>) {
    k.launch = [](const Prepared& p, const LaunchArgs& a) {
      kLaunch(static_cast<const PreparedOf<P>&>(p).value, a);
    };
  } else {
    k.launch_dynamic = [](const Prepared& p, const LaunchArgs& a, OutputAllocator& o) {
      kLaunch(static_cast<const PreparedOf<P>&>(p).value, a, o);
    };
  }
  return k;
}

}  // namespace tandem
