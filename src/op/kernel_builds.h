// Kernels that are still being made ready. On a device whose kernels are compiled where
// they run, prepare() asks for them and does not wait; whoever prepares kernels can learn
// here what they wait for: a scope on its thread collects every build that is noted while
// it lives. A launch waits for its own kernels in any case. Any thread.
#pragma once

#include <memory>
#include <vector>

namespace tandem {

/// One program on one device: being compiled or loaded, ready, or failed.
class KernelBuild {
 public:
  virtual ~KernelBuild() = default;
  /// Over, well or not.
  virtual bool done() const = 0;
  /// Nobody has compiled it yet: more than loading is left to do.
  virtual bool must_compile() const = 0;
  virtual void wait() = 0;
  /// Waits; throws what kept it from being ready.
  virtual void get() = 0;
};

class KernelBuilds {
 public:
  void add(std::shared_ptr<KernelBuild> build);
  void add(const KernelBuilds& others);
  bool done() const;
  /// Any of them.
  bool must_compile() const;
  void wait() const;
  void get() const;
  size_t size() const { return list_.size(); }

 private:
  std::vector<std::shared_ptr<KernelBuild>> list_;  // each once
};

/// While it lives, builds that this thread's prepare() calls ask for are collected, here
/// and in the scopes around it.
class CollectBuilds {
 public:
  enum class Ask {
    kAll,       // whatever is not there is compiled
    kExisting,  // what would have to be compiled is left alone until it is launched
  };
  explicit CollectBuilds(Ask ask = Ask::kAll);
  CollectBuilds(const CollectBuilds&) = delete;
  CollectBuilds& operator=(const CollectBuilds&) = delete;
  ~CollectBuilds();

  const KernelBuilds& builds() const { return builds_; }
  /// Called by prepare().
  static void note(const std::shared_ptr<KernelBuild>& build);
  /// What the innermost scope of this thread asks for.
  static Ask ask();

 private:
  KernelBuilds builds_;
  const Ask ask_;
  CollectBuilds* const outer_;
};

}  // namespace tandem
