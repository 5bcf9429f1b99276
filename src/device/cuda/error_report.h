// How a kernel says that its contents are bad (an index out of range, an integer divided
// by zero) without ending the context: it fills a report in device memory, which later
// kernels that write state look at, and a copy in mapped host memory, which the next host
// wait reads at no cost and turns into the error that the CPU's kernel throws. The first
// report wins until it has been thrown.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tandem/error.h"

namespace tandem::cuda {

/// The layout is known to src/kernels/cuda/device/prelude.cuh.
struct Report {
  int32_t code = 0;  // 0: nothing wrong
  int32_t site = 0;  // which ErrorSite
  int64_t value = 0;
  int64_t position = 0;
  int64_t extra = 0;
};
struct ReportFlags {
  Report report;
  uint64_t host = 0;  // device address of the host's copy
};

/// What a report means: a message, and the class of the error, which is
/// InvalidArgumentError unless the op's kernel on the CPU throws another.
struct ReportWords {
  ReportWords(std::string words, ErrorCode of = ErrorCode::kInvalidArgument)
      : text(std::move(words)), code(of) {}
  std::string text;
  ErrorCode code;
};

/// A place in some prepared kernel that may report, with the words for it. Owned by what
/// was prepared; the words are kept while it lives. Any thread.
class ErrorSite {
 public:
  using Words = std::function<ReportWords(const Report&)>;
  explicit ErrorSite(Words words);
  ErrorSite(const ErrorSite&) = delete;
  ErrorSite& operator=(const ErrorSite&) = delete;
  ~ErrorSite();
  /// What kernels report. Where a launch has a label (device/launch_label.h), it is
  /// another one for each, so that the words end with it.
  int32_t id() const;

 private:
  int32_t id_;
  mutable std::map<std::string, int32_t> labelled_;  // under the lock of all sites
};

/// The words for a report; general ones when its site is gone.
ReportWords words_for(const Report& report);

}  // namespace tandem::cuda
