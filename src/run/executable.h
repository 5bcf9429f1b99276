// Executable: a plan made ready to run: kernels prepared, addresses laid out, device work
// captured. The one executor of graphs (design, section 5): a call binds arguments,
// variables and results, then gives the steps to their lanes; host steps run on the
// calling thread. Nothing is allocated, hashed or looked up in a repeated call. Shared by
// all threads; calls that overlap use frames of their own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_impl.h"

namespace tandem {

class ArenaPool;
class Team;
struct StepLabel;
struct VariableImpl;
struct VariableLock;

class Executable {
 public:
  enum class Launches {
    kCaptured,  // what a device can capture is one launch
    kOneByOne,  // for a plan that is used a few times only
  };
  /// `pool`: of the plans that share memory with this one; null: there are none.
  explicit Executable(std::shared_ptr<const PlannedGraph> planned,
                      Launches launches = Launches::kCaptured,
                      std::shared_ptr<ArenaPool> pool = nullptr);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const PlannedGraph& planned() const { return *planned_; }

  /// One call. Arguments have the dtypes, shapes and devices of the plan's parameters.
  /// Returns when the host's part is done; results on devices may still be being made. A
  /// failure leaves variables unchanged.
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  /// The same into places of the caller's, one per result, which are changed only when
  /// the call succeeds.
  void run(std::span<const Tensor> arguments, std::span<Tensor> results);

  /// For benchmarks: launches the kernels of the host's steps in order, `times` times,
  /// with the addresses of the last call, whose arguments are still alive, and nothing
  /// else but what a recorder that is on does. False where there is more to a call than
  /// that: other lanes, control flow.
  bool replay_kernels(int64_t times);

  /// Gives back the memory of frames that no call uses, when devices are done with them.
  void trim();
  /// The same now and whenever a call ends: another plan has taken its place.
  void retire();

  // No call is under way:
  /// The ends of its calls that devices have not come to.
  std::vector<TimePoint> open_work() const;
  /// It keeps the memory that it has to itself, and takes no lock of other plans.
  void leave_pool();

  /// Launches that one call makes on a device's compute stream: runs of steps that are
  /// captured together, copies not counted.
  int64_t launches(const std::string& device) const;
  /// What came to light when it ran, a line each; empty: nothing.
  std::string describe() const;
  /// Arguments that could have been reached in place but for their address.
  int64_t moved_arguments() const {
    return moved_arguments_.load(std::memory_order_relaxed);
  }
  /// Bytes of memory that its frames hold on a device now.
  int64_t frame_bytes(const std::string& device) const;

 private:
  struct Step;
  struct Segment;
  struct Result;
  struct Frame;
  struct Values;
  struct LoopForm;
  /// A place of the address table that holds an argument's, result's or variable's
  /// address plus an offset.
  struct Patch {
    size_t slot;
    int64_t offset;
  };
  friend class ArenaPool;
  friend class ExecutableBuilder;

  /// A frame that no other call uses.
  Frame& acquire() {
    Frame* const spare = spare_.exchange(nullptr, std::memory_order_acquire);
    return spare ? *spare : acquire_another();
  }
  [[gnu::cold]] Frame& acquire_another();
  /// Either retire() finds the frame, or the frame's last user finds that it is retired.
  void release(Frame& frame) {
    Frame* none = nullptr;
    if (!spare_.compare_exchange_strong(none, &frame)) keep_idle(frame);
    if (retired_.load()) trim();
  }
  [[gnu::cold]] void keep_idle(Frame& frame);
  std::unique_ptr<Frame> make_frame();
  /// Memory on one device for a frame and those of its sub-graphs.
  struct ArenaNeed {
    Device* device = nullptr;
    size_t bytes = 0;
  };
  void find_needs();
  Ref<Buffer> allocate_arena(const ArenaNeed& need) const;
  /// Gives a frame memory; see run/executable_memory.cc.
  [[gnu::cold]] void attach(Frame& frame);
  void attach_now(Frame& frame);
  void detach(Frame& frame);
  void take_from_others();
  /// False: calls use some of it.
  bool give_up_memory();
  static void collect_ends(const Frame& frame, std::vector<TimePoint>& ends);
  void await_earlier_users(Frame& frame);
  void place_arenas(Frame& frame);
  void place_arenas(Frame& frame, const Frame& top, const std::vector<ArenaNeed>& needs,
                    std::vector<size_t>& used);
  [[gnu::cold]] void bind_variables(Frame& frame, const VariableLock* lock);
  void find_updates();
  void find_arena_groups();
  void gather_variables();
  void bind(Frame& frame, const Values& values);
  [[gnu::cold]] static void rebind(Frame& frame, const std::vector<Patch>& patches,
                                   void*& bound, void* now);
  [[gnu::cold]] void* argument_address(Frame& frame, size_t i, const Tensor& argument,
                                       std::optional<LeaseSet>& leases);
  [[gnu::cold]] void* result_address(Frame& frame, size_t k,
                                     std::optional<LeaseSet>& leases);
  [[gnu::cold]] void hand_through(Frame& frame, std::span<const Tensor> arguments);
  [[gnu::cold]] void forget_lists(Frame& frame);
  [[gnu::cold]] void forget_error(Frame& frame);
  [[gnu::cold]] void give_up(Frame& frame);
  static void drop_handles(Frame& frame);
  void make_room();
  [[gnu::cold]] void finish(Frame& frame);
  void settle_first_run(Frame& frame);
  void collect_new_kernels(std::vector<const Kernel*>& kernels) const;
  void issue(Frame& frame);
  void run_on_host(Frame& frame, size_t begin, size_t end);
  [[gnu::noinline]] void run_other(Frame& frame, const Step& step);
  void wait_for_copies(Frame& frame);
  void wait_for_inputs(Frame& frame, const Segment& segment);
  void run_kernel(Frame& frame, const Step& step);
  /// Launches a step's kernel, and records it where a recorder is on: on `lane`, or null
  /// for the compute lane of its device.
  void launch_timed(const Step& step, const Prepared& prepared, const LaunchArgs& args,
                    const char* lane = nullptr) const;
  [[gnu::cold]] void launch_recorded(const Step& step, const Prepared& prepared,
                                     const LaunchArgs& args, const char* lane) const;
  const char* site_of(const Step& step) const;
  const char* node_of(const Step& step) const;
  StepLabel label_of(const Step& step) const;
  /// What memory is for, in the list of what takes it.
  MemoryNote note(const char* role) const {
    return {.role = role, .name = name_->c_str(), .keeps = &name_};
  }
  MemoryNote note(const char* role, const ValueInfo& value) const {
    MemoryNote made = note(role);
    made.dtype = value.dtype;
    made.shape = &value.shape;
    return made;
  }
  void run_copy(Frame& frame, size_t segment);
  void launch_segment(Frame& frame, size_t segment);
  bool is_captured(const Segment& segment) const;
  std::string capture(Frame& frame, size_t segment, Stream& stream);
  void look_instead(std::string why);
  static TimePoint refused(Frame& frame, const std::exception_ptr& error,
                           const Device& device, Stream& stream);
  TimePoint run_one_by_one(Frame& frame, const Segment& segment, Stream& stream);
  void forget_captured(Frame& frame);
  void patch_copies(Frame& frame, size_t segment);
  /// Waits for what an argument's memory waits for, and takes over its error.
  static void await_argument(Frame& frame, size_t number, Device& device);
  void await_operands(Frame& frame, const Segment& segment);
  void tell_operands(Frame& frame, size_t segment, Stream& stream);
  void set_operands(Frame& frame, const Segment& segment,
                    std::span<void* const> addresses) const;
  void record(Frame& frame, size_t segment, Stream& stream);
  void check_operands(const Segment& segment) const;
  [[gnu::cold]] void keep_arguments(Frame& frame, std::span<const Tensor> arguments,
                                    std::optional<LeaseSet>& leases);
  /// Of a call whose arguments are not all where recorded kernels can reach them.
  void align_arguments(Frame& frame, std::span<void*> parameters, LeaseSet& leases);
  static const std::byte* real_address(const Frame& frame, const Segment& segment,
                                       const void* p);
  std::vector<std::vector<int32_t>> step_order(const Frame& frame,
                                               const Segment& segment) const;
  void run_on_stream(Frame& frame, const Segment& segment, const StreamContext& context);
  void launch_side(Frame& frame, size_t segment);
  void run_on_side(Frame& frame, const Segment& segment, const StreamContext& context);
  void join_sides(Frame& frame);
  void find_list_form(Step& step) const;
  bool run_on_rows(Frame& frame, const Step& step);
  bool run_on_handles(Frame& frame, const Step& step);
  void run_list_op(Frame& frame, const Step& step);
  void run_branch(Frame& frame, const Step& step);
  LoopForm loop_form(const Step& step) const;
  void make_loop_state(Frame& frame, const Step& step);
  void run_loop(Frame& frame, const Step& step);
  bool goes_on(Frame& frame, const Step& step, const LoopForm& form,
               std::span<void* const> now);
  void pass_lists(Frame& inner, const LoopForm& form, std::vector<Tensor>& fresh) const;
  void find_fixed_results();
  bool stays(size_t result) const {
    return !replaces_parameter_.empty() && replaces_parameter_[result];
  }
  void bind_conditionals(Frame& frame, const Segment& segment);
  void bind_conditional(Frame& frame, const Step& step);
  void bind_inside(Frame& frame, size_t child, std::span<void* const> parameters,
                   std::span<void* const> results);
  void run_conditional(Frame& frame, const Step& step, const StreamContext& context);
  void run_inside(Frame& frame, const StreamContext& context);
  void copy_inside(const Step& step, const StreamContext& context, void* to,
                   const void* from, size_t bytes) const;
  /// Addresses of the variables of a sub-graph, as the frame has them now.
  SmallVec<void*, 16> variables_of(const Frame& frame, size_t child) const;
  void run_child(Frame& frame, size_t child, std::span<void* const> parameters,
                 std::span<void* const> results);
  void follow(Frame& inner, Device& device);
  void end_control(Frame& frame, const Step& step);
  static Tensor& handle(Frame& frame, const Place& place);
  /// The list that a value is now, constants included.
  Tensor list(Frame& frame, ValueRef v) const;
  const Place& place(ValueRef v) const;
  void wait_for_lanes(Frame& frame);
  /// The same without throwing what devices have reported: that is for those who read.
  void wait_quietly(const Frame& frame) const;
  void finish_async(Frame& frame);
  void follow_calls(Frame& frame);
  size_t copy_bytes(const Step& step) const;
  static void wait_before(Frame& frame, const Segment& segment, Stream& stream);
  const Prepared& for_one_thread(size_t step);
  Device* device_of(ValueRef v) const;

  // ---- What every call reads, side by side: after long kernels each line of cache that
  // a call touches costs it some 60 ns (docs/performance.md).
  alignas(64) std::atomic<Frame*> spare_{nullptr};
  /// Any of its variables, whose locks are one; null: there are none.
  VariableImpl* variable_ = nullptr;
  Team* team_ = nullptr;  // of the host
  std::vector<Step> steps_;
  /// The first step that writes a variable: from there on a call is not interrupted.
  size_t first_write_ = 0;
  bool has_async_ = false;
  bool writes_ = false;
  /// All of it is one run of the calling thread's steps.
  bool only_host_ = false;
  /// There is no device but the host: nothing is used by others who hold no reference.
  bool host_alone_ = false;
  /// Results that are arguments, constants or lists.
  bool hands_through_ = false;
  /// Control flow that the host decides.
  bool host_control_ = false;
  std::atomic<bool> retired_{false};
  std::vector<Result> results_;

  std::shared_ptr<const PlannedGraph> planned_;
  const Graph& graph_;
  const Plan& plan_;
  const Launches launches_ = Launches::kCaptured;
  const KeptText name_;          // of the graph; memory of its results may live longer
  std::vector<Device*> spaces_;  // devices of the plan's spaces
  std::vector<Device*> lanes_;   // devices of the plan's lanes
  KernelBuilds builds_;          // kernels that may still be being compiled
  std::vector<Segment> segments_;
  std::vector<void*> table_;  // addresses that never change; others are null
  std::vector<std::vector<Patch>> parameter_patches_, result_patches_, variable_patches_;
  std::vector<Patch> arena_patches_;
  std::vector<int32_t> arena_spaces_;  // of arena_patches_
  std::shared_ptr<ArenaPool> pool_;
  std::vector<ArenaNeed> needs_;
  bool shares_ = false;  // the memory of its frames with other plans
  std::vector<std::vector<Tensor>> constants_;  // by node and space
  /// Variables of this plan and of nested ones.
  std::vector<Tensor> variables_;
  std::vector<char> written_;
  std::vector<size_t> variable_bytes_;    // that the plan reaches
  std::vector<size_t> copied_variables_;  // by lanes
  /// Variables that belong into one arena, by number; gathered in the first call.
  std::vector<std::vector<size_t>> arena_groups_;
  /// Variables that one kernel writes at one place of its program, in its order;
  /// children's included.
  std::vector<std::vector<size_t>> updates_;
  /// By parameter: kernels reach it where the caller has it. Empty: none.
  std::vector<char> bound_parameters_;
  std::atomic<int64_t> moved_arguments_{0};
  /// The native device on whose streams all its asynchronous work is, that of sub-graphs
  /// included: it can run as part of another plan without the host waiting for it. Null:
  /// there is none, or several, or threads of the host do it.
  Device* stream_device_ = nullptr;
  std::vector<Stream*> side_streams_;  // by lane; null: no side lane
  std::vector<size_t> side_ends_;      // last segment of each side lane
  /// It is part of a conditional node: its steps are recorded with those around it, and
  /// nothing outside of them is ever given to it.
  bool inside_ = false;
  /// Of a loop's body, by result: it may have the memory of the parameter of the same
  /// number. Not of bodies with work for devices whose loop the host decides.
  std::vector<char> replaces_parameter_;
  /// Control flow that its device should decide, and cannot: why, written once before the
  /// flag.
  std::atomic<bool> looks_instead_{false};
  std::string why_looks_;
  std::vector<LoopForm> loop_forms_;
  std::vector<std::unique_ptr<Executable>> children_;
  std::vector<std::vector<size_t>> child_variables_;  // their variables among ours
  std::vector<char> last_use_;  // by slot: a list that nobody uses afterwards

  mutable std::mutex frames_mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // all of them; guarded by frames_mutex_
  std::vector<Frame*> idle_;                    // guarded by frames_mutex_
  std::mutex single_mutex_;
  std::vector<Ref<Prepared>> single_;  // by step: prepared for one thread
};

}  // namespace tandem
