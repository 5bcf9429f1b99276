// A summary writer: the sink behind tf.summary that turns tensors into events of a file.
// Any thread.
#pragma once

#include <memory>

#include "io/event_file.h"
#include "op/summary_sink.h"

namespace tandem {

/// The TensorProto message of a host tensor.
WireMessage tensor_message(const Tensor& host);

class SummaryWriter final : public SummarySink {
 public:
  SummaryWriter(std::string folder, EventFileOptions options);

  void write(int64_t step, const std::string& tag, const std::string& metadata,
             const Tensor& tensor) override;
  /// A GraphDef message, for TensorBoard's graph page.
  void write_graph(int64_t step, const std::string& graph_def);
  /// A whole Summary message.
  void write_raw(int64_t step, const std::string& summary);
  void flush() override;
  const std::string& path() const { return file_.path(); }

 private:
  EventFile file_;
};

}  // namespace tandem
