// The parts of an Executable: steps and segments, fixed when it is built, and frames, one
// per call that is under way. Internal to run/executable*.cc.
#pragma once

#include "base/idx.h"
#include "base/recorder.h"
#include "device/capture_session.h"
#include "run/arena_pool.h"
#include "run/executable.h"
#include "run/scalar_step.h"
#include "tensor/variable_lock.h"

namespace tandem {

/// A launch with everything that does not change between calls. What a repeated launch
/// reads is in the first line of cache.
struct alignas(64) Executable::Step {
  enum class Kind : uint8_t { kKernel, kCopy, kList, kBranch, kLoop };
  void (*launch)(const Prepared&, const LaunchArgs&) = nullptr;  // the kernel's
  Ref<Prepared> prepared;
  Kind kind = Kind::kKernel;
  bool team_kernel = false;  // a kernel of the calling thread's team
  bool simple = false;       // one that is prepared in one way only
  /// Not kNone: the kernel computes this, of two scalars.
  ScalarOp scalar = ScalarOp::kNone;
  int32_t index = 0;  // in the plan
  int32_t node = 0;
  int32_t threads = 1;
  const Kernel* kernel = nullptr;
  size_t in = 0;         // first input in the address table
  size_t out = 0;        // first output
  size_t workspace = 0;  // slot, or kNoSlot
  Device* device = nullptr;
  bool other_cpu = false;    // a logical CPU with a team of its own
  bool guarded = false;      // writes a variable: not once something has failed
  bool conditional = false;  // control flow that its device decides
  const char* name = "";
  std::string detail;  // name and results of the node, for native devices
  /// The user's line and, behind its end, the node's name, for the recorder: see
  /// Executable::site_of. Null: not asked for yet.
  mutable const char* site = nullptr;
  mutable const char* recorded_node = nullptr;  // likewise its node's name
  /// A list op that moves one element, which is plain memory of the host or, where it can
  /// be pushed and popped, a list itself.
  enum class List : uint8_t { kOther, kPush, kPop, kGet, kSet, kAdd };
  List list = List::kOther;
  const ValueInfo* element = nullptr;  // not for kOther
  size_t element_bytes = 0;
  Shape element_shape;
  const Place* list_from = nullptr;
  const Place* list_to = nullptr;  // not for kGet
  Tensor empty_list;               // a step that makes nothing else
  int32_t loop = -1;               // kLoop, decided by the host: its form
  int32_t child = -1;              // first of the node's sub-graphs among the children
  /// Control flow: where its sub-graphs' device work goes, when the host need not wait
  /// for it (Executable::stream_device_).
  Device* stream_device = nullptr;
  static constexpr size_t kNoSlot = ~size_t{0};
};

/// Steps in a row on one lane: run by the host, launched as one, or a single copy or
/// kernel that cannot be captured.
struct Executable::Segment {
  int32_t lane = 0;
  size_t begin = 0;
  size_t end = 0;
  bool host = true;
  bool copy = false;
  bool side = false;         // on a thread of the runtime, joined before the call returns
  bool first = true;         // of its lane
  bool apart = false;        // a step that cannot be captured
  bool conditional = false;  // has such steps
  std::vector<size_t> waits;  // segments of other lanes
  struct CopiedArgument {
    size_t number = 0;
    Device* device = nullptr;  // that copies it
  };
  std::vector<CopiedArgument> copied;  // by its own steps
  /// Arguments and results that its kernels reach where the caller has them. Their places
  /// in the table are in the hands of the lane: see run/executable_operands.cc.
  struct Operand {
    bool result = false;
    size_t number = 0;
  };
  struct OperandSlot {
    size_t slot = 0;
    size_t operand = 0;
    int64_t offset = 0;
  };
  std::vector<Operand> operands;
  std::vector<OperandSlot> operand_slots;
};

/// What is known of a loop that the host decides; operands by number.
struct Executable::LoopForm {
  struct List {
    int32_t index;
    bool only;  // no other result of the body is the same list
  };
  std::vector<List> lists;          // carried
  std::vector<int32_t> invariants;  // lists
  std::vector<int32_t> tested;      // lists that the condition reads
  /// The condition, where it is nothing but this.
  ScalarOp compare = ScalarOp::kNone;
  struct Compared {
    int32_t parameter = -1;  // -1: the constant
    const void* constant = nullptr;
  };
  Compared compared[2];
};

/// Where a result of the call comes from.
struct Executable::Result {
  Place::Storage storage = Place::Storage::kNone;  // kNone: there is no such result
  int32_t index = -1;                              // as in Place
  int32_t made_by = -1;                            // segment of a device; -1: none
  /// On a device, and written by copies or by control flow of the host, which are not in
  /// the order of its compute stream.
  bool any_stream = false;
  Device* device = nullptr;
  const ValueInfo* info = nullptr;
};

/// What comes from outside: addresses on the devices of the values, and lists.
struct Executable::Values {
  std::span<void* const> parameters;
  std::span<void* const> results;
  std::span<void* const> variables;
};

/// The memory and addresses of one call at a time.
struct Executable::Frame {
  // ---- What every call reads, side by side (see Executable).
  // When variables were bound last: valid while nobody else takes their lock.
  alignas(64) const VariableLock* bound_lock = nullptr;
  uint64_t bound_holds = 0;
  bool followed = false;  // bound variables are all on devices, and follow calls
  bool single = false;    // this call runs on one thread
  bool polls = true;      // its steps ask for interrupts
  bool fresh = true;      // addresses have never been bound
  bool lists = false;     // there are handles to be let go
  bool attached = false;  // it has memory (run/executable_memory.cc)
  std::atomic<bool> failed{false};  // on a lane: later work of the call does nothing
  std::vector<LaunchArgs> args;     // by step
  std::span<void*> parameters, results, variables;  // as bound now: parts of `bound`
  std::span<void*> wanted;             // by this call: parameters, then results; likewise
  std::vector<Tensor> result_tensors;  // of the last call

  std::vector<void*> bound;
  std::vector<std::unique_ptr<PlanArena>> arenas;  // of a whole plan: by need
  std::vector<void*> arena_tops;                   // their addresses, as placed last
  std::vector<void*> arena_addresses;              // by space
  /// Work of other plans that used the memory before this call.
  std::vector<TimePoint> earlier;
  LeaseSet leases;
  std::vector<void*> table;
  std::vector<Tensor> handles;  // lists
  std::vector<Tensor> parameter_handles, result_handles;
  std::vector<Tensor> given;      // results handed through, until the call is over
  std::vector<Tensor> arguments;  // alive until lanes are done
  std::vector<TimePoint> done;    // by segment
  std::vector<std::unique_ptr<Captured>> captured;  // by segment
  /// Copies inside captured work, with the addresses they have there now.
  struct CapturedCopy {
    size_t segment, step;
    int32_t number;
    void *to, *from;
  };
  std::vector<CapturedCopy> copies;
  /// By segment: who changes the operands of captured work (null: the table is changed),
  /// and the addresses that they have there now.
  std::vector<CapturedOperands*> rebound;
  std::vector<std::vector<void*>> told;
  /// By lane, as far as given out; the last one: of sub-graphs nobody has waited for.
  std::vector<TimePoint> lane_end;
  std::vector<TimePoint> previous_end;  // the same of the call before
  /// By variable, of those that lanes copy: what their device had to do before the call.
  std::vector<TimePoint> before;
  TimePoint entry;  // what all lanes of a sub-graph come after
  std::vector<std::unique_ptr<Frame>> children;  // by child executable
  struct LoopState {
    std::vector<Ref<Buffer>> buffers[2];
    std::vector<void*> addresses[2];
    std::vector<Tensor> fresh;  // lists that a turn has made
  };
  std::vector<std::unique_ptr<LoopState>> loops;  // by child executable
  /// Of a loop that its device decides.
  struct ConditionalLoop {
    Ref<Buffer> control;  // whether to go on, and how many turns there were
    std::byte* address = nullptr;
    std::vector<Ref<Buffer>> buffers;  // by result; null: its parameter's memory
    std::vector<void*> results;        // where the body writes them
  };
  std::vector<std::unique_ptr<ConditionalLoop>> conditionals;  // by child executable
  std::mutex error_mutex;
  std::exception_ptr error;
  void fail(std::exception_ptr e) {
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::move(e);
    failed.store(true, std::memory_order_release);
  }
  std::exception_ptr take_error() {
    const std::lock_guard lock(error_mutex);
    failed.store(false, std::memory_order_release);
    return std::exchange(error, nullptr);
  }
};

inline Tensor& Executable::handle(Frame& f, const Place& p) {
  return p.storage == Place::Storage::kParameter ? f.parameter_handles[idx(p.index)]
                                                 : f.handles[idx(p.index)];
}

inline const Place& Executable::place(ValueRef v) const {
  return plan_.places[idx(v.node)][idx(v.output)];
}

inline void Executable::launch_timed(const Step& step, const Prepared& prepared,
                                     const LaunchArgs& args, const char* lane) const {
  if (recorder::enabled()) {
    launch_recorded(step, prepared, args, lane);
  } else {
    step.launch(prepared, args);
  }
}

}  // namespace tandem
