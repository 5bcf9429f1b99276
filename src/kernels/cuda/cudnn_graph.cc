#include "kernels/cuda/cudnn_graph.h"

#include <algorithm>
#include <map>

#include "tandem/error.h"

namespace tandem::cuda {

// ---- Descriptors -------------------------------------------------------------------

void DnnDescriptor::Destroy::operator()(void* raw) const { cudnn().destroy(raw); }

DnnDescriptor::DnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check_dnn(cudnn().make(type, &raw), "describing work for cuDNN");
  raw_.reset(raw);
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count,
                        const void* values) {
  check_dnn(cudnn().set(get(), name, type, count, values), "describing work for cuDNN");
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name, bool value) {
  set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name, double value) {
  set(name, CUDNN_TYPE_DOUBLE, 1, &value);
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name,
                        const std::vector<int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}
void DnnDescriptor::set(cudnnBackendAttributeName_t name, const DnnDescriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}
void DnnDescriptor::finalize(const char* what) {
  check_dnn(cudnn().finalize(get()), what);
}

cudnnDataType_t dnn_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case DType::kBool:
      return CUDNN_DATA_BOOLEAN;
    default:
      throw InternalError("cuDNN has no such dtype");
  }
}

const DnnDescriptor& DnnGraph::tensor(const DnnTensor& t) {
  auto d = std::make_unique<DnnDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d->set(CUDNN_ATTR_TENSOR_DATA_TYPE, t.type);
  d->set(CUDNN_ATTR_TENSOR_DIMENSIONS, t.sizes);
  d->set(CUDNN_ATTR_TENSOR_STRIDES, t.strides);
  d->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, t.id);
  d->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, t.alignment);
  if (t.inside) d->set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (t.by_value) d->set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  d->finalize("describing a tensor to cuDNN");
  tensors_.push_back(std::move(d));
  return *tensors_.back();
}

// ---- From a graph to a plan --------------------------------------------------------

namespace {

DnnDescriptor operation_graph(const DnnGraph& graph, const DnnTarget& target) {
  DnnDescriptor d(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle) {
    d.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const DnnDescriptor& o : graph.operations()) raw.push_back(o.get());
  d.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<int64_t>(raw.size()), raw.data());
  d.finalize("describing a graph to cuDNN");
  return d;
}

/// What the library proposes, best first; empty where it has nothing to say.
std::vector<DnnDescriptor> proposals(const DnnDescriptor& graph, const DnnTarget& target,
                                     cudnnBackendHeurMode_t mode) {
  DnnDescriptor d(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  d.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  d.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target.properties) d.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
  const CudnnApi& api = cudnn();
  if (api.finalize(d.get()) != CUDNN_STATUS_SUCCESS) return {};
  int64_t count = 0;
  check_dnn(api.get(d.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    0, &count, nullptr),
            "asking cuDNN for engines");
  std::vector<DnnDescriptor> list;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    list.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(list.back().get());
  }
  check_dnn(api.get(d.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                    count, &count, raw.data()),
            "asking cuDNN for engines");
  list.resize(std::min(list.size(), static_cast<size_t>(count)));
  return list;
}

bool keeps_to(const DnnDescriptor& config, const DnnRules& rules) {
  const DnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  check_dnn(cudnn().get(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
            "asking cuDNN about an engine");
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  check_dnn(cudnn().get(raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                        CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes),
            "asking cuDNN about an engine");
  // How many there are, which may be more than this header knows of and were written.
  count = std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  if (rules.tensor_cores_only &&
      std::find(notes, notes + count, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ==
          notes + count) {
    return false;
  }
  return std::none_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return rules.deterministic;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return rules.float32;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        return rules.float32 && !rules.tf32;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return true;
      default:
        return false;
    }
  });
}

/// False when the engine cannot do it after all, or wants too much memory.
bool try_engine(DnnPlan& p, const DnnDescriptor& config, const DnnTarget& target,
                const DnnRules& rules) {
  DnnDescriptor d(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle) {
    d.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  }
  if (target.properties) d.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
  d.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (cudnn().finalize(d.get()) != CUDNN_STATUS_SUCCESS) return false;
  int64_t bytes = 0, count = 0;
  check_dnn(cudnn().get(d.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                        CUDNN_TYPE_INT64, 1, &count, &bytes),
            "asking cuDNN about a plan");
  if (bytes < 0 || static_cast<size_t>(bytes) > rules.most_workspace) return false;
  p.plan = std::move(d);
  p.workspace_bytes = static_cast<size_t>(bytes);
  return true;
}

}  // namespace

std::shared_ptr<const DnnPlan> build_plan(DnnGraph graph, const DnnTarget& target,
                                          const DnnRules& rules) {
  auto p = std::make_shared<DnnPlan>();
  p->graph = std::move(graph);
  const DnnDescriptor whole = operation_graph(p->graph, target);
  int found = 0;
  for (const auto mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const DnnDescriptor& config : proposals(whole, target, mode)) {
      if (!keeps_to(config, rules) || !try_engine(*p, config, target, rules)) continue;
      if (found++ == rules.rank) return p;
    }
    // Further modes are for graphs that the first ones know nothing about.
    if (found) return p;
  }
  return nullptr;
}

std::shared_ptr<const DnnPlan> find_plan(
    CudaDevice& device, std::vector<int64_t> key,
    const std::function<std::shared_ptr<const DnnPlan>(const DnnTarget&)>& build) {
  static std::mutex mutex;
  using Plans = std::map<std::pair<CudaDevice*, std::vector<int64_t>>,
                         std::weak_ptr<const DnnPlan>>;
  static auto* const plans = new Plans;
  std::pair at(&device, std::move(key));
  {
    std::lock_guard lock(mutex);
    if (const auto found = plans->find(at); found != plans->end()) {
      if (auto plan = found->second.lock()) return plan;
    }
  }
  device.activate();
  std::shared_ptr<const DnnPlan> plan;
  try {
    CudnnHandle& handle = cudnn_handle(device);
    const std::lock_guard use(handle.mutex);
    plan = build({.handle = handle.handle});
  } catch (const InternalError&) {
    return nullptr;  // the library does not take this graph, or not this GPU
  }
  std::lock_guard lock(mutex);
  std::erase_if(*plans, [](const auto& kept) { return kept.second.expired(); });
  if (plan) (*plans)[std::move(at)] = plan;
  return plan;
}

void run_plan(const DnnPlan& plan, const StreamContext& stream,
              std::span<const int64_t> ids, std::span<void* const> addresses,
              void* workspace) {
  DnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto count = static_cast<int64_t>(ids.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
           addresses.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize("giving cuDNN its addresses");
  CudnnHandle& own = cudnn_handle(static_cast<CudaDevice&>(*stream.device));
  std::lock_guard lock(own.mutex);
  check_dnn(cudnn().set_stream(own.handle, static_cast<cudaStream_t>(stream.native)),
            "choosing cuDNN's stream");
  check_dnn(cudnn().execute(own.handle, plan.plan.get(), pack.get()), "running cuDNN");
}

}  // namespace tandem::cuda
