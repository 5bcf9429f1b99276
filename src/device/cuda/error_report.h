// How a kernel says that its contents are bad (an index out of range, an integer divided
// by zero) without ending the context: it fills a report in device memory, which later
// kernels that write state look at, and a copy in mapped host memory, which the next host
// wait reads at no cost and turns into an InvalidArgumentError. The first report wins
// until it has been thrown.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

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

/// A place in some prepared kernel that may report, with the words for it. Owned by what
/// was prepared; the words are kept while it lives. Any thread.
class ErrorSite {
 public:
  using Words = std::function<std::string(const Report&)>;
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
std::string words_for(const Report& report);

}  // namespace tandem::cuda
