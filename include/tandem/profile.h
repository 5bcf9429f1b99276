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
