#include "io/summary_writer.h"

#include <fmt/format.h>

#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

// Fields of Event, and numbers of DataType.
constexpr int kGraphDef = 4;
constexpr int kSummary = 5;

int data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 1;
    case DType::kFloat64:
      return 2;
    case DType::kInt32:
      return 3;
    case DType::kUInt8:
      return 4;
    case DType::kInt16:
      return 5;
    case DType::kInt8:
      return 6;
    case DType::kString:
      return 7;
    case DType::kComplex64:
      return 8;
    case DType::kInt64:
      return 9;
    case DType::kBool:
      return 10;
    case DType::kBFloat16:
      return 14;
    case DType::kUInt16:
      return 17;
    case DType::kComplex128:
      return 18;
    case DType::kFloat16:
      return 19;
    case DType::kUInt32:
      return 22;
    case DType::kUInt64:
      return 23;
    default:
      throw InvalidArgumentError(
          fmt::format("WriteSummary: a {} tensor cannot be written.", dtype_name(dtype)));
  }
}

}  // namespace

WireMessage tensor_message(const Tensor& host) {
  WireMessage message, shape;
  message.integer(1, data_type(host.dtype()));
  for (int64_t d : host.shape()) {
    WireMessage dim;
    dim.integer(1, d);
    shape.message(2, dim);
  }
  message.message(2, shape);
  if (host.dtype() == DType::kString) {
    for (const std::string& s : host.to_vector<std::string>()) message.text(8, s);
  } else if (const size_t bytes = host.impl()->bytes()) {
    message.text(4, {static_cast<const char*>(host.host_data()), bytes});
  }
  return message;
}

SummaryWriter::SummaryWriter(std::string folder, EventFileOptions options)
    : file_(folder, std::move(options)) {}

void SummaryWriter::write(int64_t step, const std::string& tag,
                          const std::string& metadata, const Tensor& tensor) {
  WireMessage value, summary;
  value.text(1, tag);
  if (!metadata.empty()) value.text(9, metadata);
  value.message(8, tensor_message(tensor));
  summary.message(1, value);
  file_.add(step, kSummary, summary);
}

void SummaryWriter::write_graph(int64_t step, const std::string& graph_def) {
  file_.add(step, kGraphDef, graph_def);
}

void SummaryWriter::write_raw(int64_t step, const std::string& summary) {
  file_.add(step, kSummary, summary);
}

void SummaryWriter::flush() { file_.flush(); }

}  // namespace tandem
