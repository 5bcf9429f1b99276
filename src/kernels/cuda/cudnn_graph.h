// Graphs of cuDNN's operations and the plans that the library makes of them: tensors and
// operations are described, the library's heuristics propose engines, and the first that
// keeps to the rules becomes a plan. Plans are kept by what they compute for as long as
// somebody holds them. Building is for prepare(); running passes pointers only. A graph
// belongs to who builds it; plans are immutable, any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "tandem/dtype.h"

namespace tandem::cuda {

/// One descriptor of the library.
class DnnDescriptor {
 public:
  DnnDescriptor() = default;
  explicit DnnDescriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return raw_.get(); }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, int64_t value);
  void set(cudnnBackendAttributeName_t name, bool value);
  void set(cudnnBackendAttributeName_t name, double value);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void set(cudnnBackendAttributeName_t name, const DnnDescriptor& value);
  void finalize(const char* what);

 private:
  struct Destroy {
    void operator()(void* raw) const;
  };
  std::unique_ptr<void, Destroy> raw_;
};

cudnnDataType_t dnn_type(DType dtype);

/// Bytes that addresses of tensors are multiples of.
inline constexpr int64_t kDnnAligned = 16;

struct DnnTensor {
  int64_t id = 0;  // names its address when the plan is run
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> sizes, strides;
  bool inside = false;    // never in memory: read by another operation of the graph
  bool by_value = false;  // a single element on the host
  int64_t alignment = kDnnAligned;
};

class DnnGraph {
 public:
  /// Owned by the graph.
  const DnnDescriptor& tensor(const DnnTensor& tensor);
  void add(DnnDescriptor operation) { operations_.push_back(std::move(operation)); }
  std::span<const DnnDescriptor> operations() const { return operations_; }

 private:
  std::vector<std::unique_ptr<DnnDescriptor>> tensors_;
  std::vector<DnnDescriptor> operations_;
};

/// What a plan is made for: a GPU that is there, or one that is only described (tests).
struct DnnTarget {
  cudnnHandle_t handle = nullptr;
  const DnnDescriptor* properties = nullptr;
};

struct DnnRules {
  bool deterministic = false;
  bool float32 = false;  // operands: no engine may round them to half precision
  bool tf32 = true;      // …nor, without this, to TF32, nor transform them
  bool tensor_cores_only = false;
  size_t most_workspace = size_t{1} << 30;
  int rank = 0;  // which of the engines that keep to the rules; the last where fewer do
};

struct DnnPlan {
  DnnGraph graph;
  DnnDescriptor plan;
  size_t workspace_bytes = 0;
};

/// Null when no engine of the library can do it under these rules.
std::shared_ptr<const DnnPlan> build_plan(DnnGraph graph, const DnnTarget& target,
                                          const DnnRules& rules);
/// The plan for `key`, built by `build` unless somebody holds it; null as build_plan, and
/// where the library cannot be started on the device.
std::shared_ptr<const DnnPlan> find_plan(
    CudaDevice& device, std::vector<int64_t> key,
    const std::function<std::shared_ptr<const DnnPlan>(const DnnTarget&)>& build);

/// `addresses` by `ids`, in stream order.
void run_plan(const DnnPlan& plan, const StreamContext& stream,
              std::span<const int64_t> ids, std::span<void* const> addresses,
              void* workspace);

}  // namespace tandem::cuda
