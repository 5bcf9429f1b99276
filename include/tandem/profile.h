// Profiles: what ran where, written as files that Perfetto (Chrome's trace format) and
// TensorBoard show. One profile at a time in a process; any thread may start and stop it,
// and mark its own work. docs/profiling.md describes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// A recording in figures. TensorBoard's pages show the same ones.
struct ProfileSummary {
  /// A mark with a `step_num` that is in no other, or a step of a training loop. Where
  /// devices worked for it, its time is from the first of that work, or the wait for its
  /// batch, to the last: the host may be ahead.
  struct Step {
    std::string name;
    int64_t number = 0;
    double seconds = 0;
    double input_seconds = 0;  // that it waited for its batch and for copies of it
  };
  /// All that ran of one node of one device; the host's work counts for "CPU:0".
  struct Op {
    std::string device;
    std::string name;  // "train_step/dense/MatMul"
    std::string type;  // "MatMul"
    int64_t count = 0;
    double seconds = 0;
    double self_seconds = 0;  // without ops within it
  };
  /// A kernel of a device other than the host, for one op, or copies of one kind
  /// ("MemcpyHToD").
  struct Kernel {
    std::string device;
    std::string name;
    std::string op;
    int64_t count = 0;
    double seconds = 0;
    int64_t bytes = 0;  // of copies
  };
  /// A stage of a pipeline: "Iterator::Root::Prefetch::Batch".
  struct Stage {
    std::string path;
    int64_t elements = 0;
    double seconds = 0;
    double self_seconds = 0;  // without stages within it, on the same thread
  };
  struct Memory {
    std::string device;
    int64_t allocations = 0;
    int64_t peak_bytes = 0;  // while it was recorded
  };
  std::vector<Step> steps;
  std::vector<Op> ops;
  std::vector<Kernel> kernels;
  std::vector<Stage> stages;
  std::vector<Memory> memory;
};

/// A finished recording. Copies share it.
class Profile {
 public:
  /// JSON for Perfetto and chrome://tracing.
  std::string chrome_trace() const;
  /// An XSpace message, as TensorBoard's profile page reads it.
  std::string xspace() const;
  void write_chrome_trace(const std::string& path) const;
  /// Writes both under `log_folder`/plugins/profile/<time>/ and returns that folder.
  std::string write(const std::string& log_folder) const;
  size_t events() const;
  ProfileSummary summary() const;

  struct State;
  explicit Profile(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

/// Throws AlreadyExistsError when a profile is being recorded.
void start_profile();
/// Throws UnavailableError when none is.
Profile stop_profile();
bool profiling();

/// Marks a piece of this thread's work, such as a training step, with values that the
/// trace shows: `ProfileMark step("train", {{"step_num", "3"}});`. Costs one load while
/// no profile is recorded.
class ProfileMark {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;
  explicit ProfileMark(const std::string& name, const Values& values = {});
  ProfileMark(const ProfileMark&) = delete;
  ProfileMark& operator=(const ProfileMark&) = delete;
  ~ProfileMark();
  /// More values, known only now.
  void add(const Values& values);

 private:
  int64_t begin_ = 0;  // 0: nothing is recorded
  std::string name_;
  std::string detail_;
};

}  // namespace tandem
