// Where summaries go. The op WriteSummary, which runs eagerly and in compiled functions,
// knows a writer only by its number; who writes files (io) puts a sink behind it. Numbers
// are random, so that a function that was stored with one finds nobody in another
// process. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/tensor.h"

namespace tandem {

class SummarySink {
 public:
  virtual ~SummarySink() = default;
  /// `metadata` is a SummaryMetadata message; the tensor is on the host.
  virtual void write(int64_t step, const std::string& tag, const std::string& metadata,
                     const Tensor& tensor) = 0;
  virtual void flush() = 0;
};

int64_t add_summary_sink(std::shared_ptr<SummarySink> sink);
void remove_summary_sink(int64_t number);
/// Null: there is none, or not any more.
std::shared_ptr<SummarySink> summary_sink(int64_t number);

}  // namespace tandem
