// What the kernels of LSTM and GRU layers share: sizes, the three forms that a layer may
// run in, and their texts (device/recurrent*.cuh). Pure but for plan_matrices; any
// thread.
#pragma once

#include <string>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// How the steps of a layer run. All steps of some sequences in one launch of clusters
/// of blocks (small layers, tensor cores, compute capability 9.0); a kernel of our own
/// per step (few sequences); a product by the library and a kernel for the cells per step
/// (the rest).
enum class RecurrentForm { kCluster, kStep, kProduct };

/// Of a forward or a gradient op.
struct RecurrentShape {
  bool lstm = true;
  DType dtype = DType::kFloat32;
  int64_t batch = 0, time = 0, in = 0, units = 0;
  bool time_major = false, backwards = false;

  int64_t gates() const { return lstm ? 4 : 3; }
  int64_t width() const { return gates() * units; }
  int64_t rows() const { return batch * time; }
  int64_t states() const { return batch * units; }
  size_t element() const { return dtype_size(dtype); }
  /// Of what is computed in.
  size_t computed() const { return dtype == DType::kFloat64 ? 8 : 4; }
};
RecurrentShape recurrent_shape(const Signature& s);
bool recurrent_fits(RecurrentForm form, const Signature& s);
template <RecurrentForm kForm>
bool recurrent_form_fits(const Signature& s) {
  return recurrent_fits(kForm, s);
}

/// As device/recurrent.cuh has it.
struct RecurrentOrder {
  int64_t batch = 0, time = 0;
  int32_t time_major = 0, backwards = 0;
};
RecurrentOrder order_of(const RecurrentShape& shape);

/// A cluster's share of a layer: `blocks` of `own` units each, 8 * batch_tiles sequences.
struct ClusterForm {
  int blocks = 1, own = 8, warps = 8, batch_tiles = 1;
};
/// Units a cluster can hold.
constexpr int64_t kLargestCluster = 256;
ClusterForm cluster_form(const RecurrentShape& shape, int multiprocessors);
std::string cluster_text(const RecurrentShape& shape, const ClusterForm& form,
                         bool forward);
Grid cluster_grid(const RecurrentShape& shape, const ClusterForm& form);

struct StepForm {
  bool tensor_cores = true;
  int warps = 8;  // that share the inner dimension
};
StepForm step_form(const RecurrentShape& shape, const CudaDevice& device, bool forward);
std::string step_text(const RecurrentShape& shape, const StepForm& form, bool forward);
Grid step_grid(const RecurrentShape& shape, const StepForm& form);

/// A product of two matrices of a layer.
BlasProduct plan_matrices(const RecurrentShape& shape, Device* device, const Shape& a,
                          const Shape& b, const MatMulAttrs& attrs);
void run_matrices(const BlasProduct& product, const StreamContext& stream, const void* a,
                  const void* b, void* out, void* workspace);

/// Hands out parts of a workspace.
class Rooms {
 public:
  size_t take(int64_t elements, size_t size) {
    const size_t at = bytes_;
    bytes_ += (static_cast<size_t>(elements) * size + 255) / 256 * 256;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};
inline void* room(const LaunchArgs& a, size_t at) {
  return static_cast<std::byte*>(a.workspace) + at;
}

bool recurrent_given(const Signature& s, size_t input);
/// The kernel's id: "cuda.recurrent.cluster.Lstm".
std::string recurrent_id(RecurrentForm form, const char* op);

}  // namespace tandem::cuda
