// StagePath: the stages between a consumer and a stage, as TensorFlow's profiler writes
// them: Iterator::Root::Prefetch::Batch. There is one object for each path, for the life
// of the process: a pass that is opened a million times allocates none. Any thread.
#pragma once

#include <atomic>

namespace tandem::data {

class StagePath {
 public:
  /// The consumer's.
  static const StagePath& root();
  /// `name` in static storage.
  const StagePath& below(const char* name) const;
  /// "path=Iterator::Root::Prefetch::Batch\n", for the recorder.
  const char* text() const;

 private:
  StagePath(const StagePath* above, const char* name) : above_(above), name_(name) {}

  const StagePath* const above_;
  const char* const name_;
  mutable std::atomic<const StagePath*> first_{nullptr};  // of those below
  const StagePath* next_ = nullptr;                       // of those below `above_`
  mutable std::atomic<const char*> text_{nullptr};
};

/// Of a context: the stage that it was copied for. Copies that are made while a stage
/// opens are that stage's.
class PathHere {
 public:
  PathHere() = default;
  PathHere(const PathHere& other) : path_(opening_ ? opening_ : other.path_) {}
  PathHere& operator=(const PathHere&) = default;
  const StagePath& get() const { return path_ ? *path_ : StagePath::root(); }

  /// A stage opens, in this thread.
  class Opening {
   public:
    Opening(const PathHere& context, const char* name)
        : outer_(opening_), mine_(outer_ ? *outer_ : context.get()) {
      opening_ = &mine_.below(name);
    }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    ~Opening() { opening_ = outer_; }

   private:
    const StagePath* const outer_;
    const StagePath& mine_;
  };

 private:
  static thread_local constinit const StagePath* opening_;

  const StagePath* path_ = nullptr;
};

}  // namespace tandem::data
