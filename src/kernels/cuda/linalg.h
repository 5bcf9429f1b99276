// What the kernels of linear algebra share: batches of matrices, regions of the
// workspace, and the device functions of device/linalg.cuh. The libraries count columns
// first: a row-major matrix is to them its transpose, and every kernel says what that
// makes of its op. dtypes: float32, float64, complex64, complex128. Any thread.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/error_report.h"
#include "kernels/cuda/cusolver.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "op/uncaptured.h"

namespace tandem::cuda {

inline constexpr DTypeMask kLibraryTypes =
    mask(DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128);

/// The text of device/linalg.cuh for a dtype.
std::string linalg_text(DType dtype);
/// A kernel of it.
Function linalg_function(const Signature& s, const char* entry);

/// A batch of matrices.
struct Matrices {
  int64_t batch = 1, rows = 0, cols = 0;
  int64_t elements() const { return rows * cols; }
  int64_t total() const { return batch * rows * cols; }
  int64_t least() const { return rows < cols ? rows : cols; }
};
Matrices matrices_of(const Shape& shape);
/// The libraries count with 32 bits.
bool countable(const Matrices& m);

/// Regions of a workspace; each starts where the libraries want theirs.
class Regions {
 public:
  template <class T>
  size_t add(int64_t count) {
    const size_t at = bytes_;
    bytes_ += (static_cast<size_t>(count) * sizeof(T) + kStep - 1) / kStep * kStep;
    return at;
  }
  /// With what aligning the first one may cost.
  size_t workspace_bytes() const { return bytes_ == 0 ? 0 : bytes_ + kStep; }

 private:
  static constexpr size_t kStep = 256;
  friend std::byte* region_base(const LaunchArgs& a);
  size_t bytes_ = 0;
};
std::byte* region_base(const LaunchArgs& a);
template <class T>
T* region(const LaunchArgs& a, size_t at) {
  return reinterpret_cast<T*>(region_base(a) + at);
}

/// Argument of the kernel lay_out; the layout is known to device/linalg.cuh.
struct LayOut {
  int64_t batch = 1, rows = 0, cols = 0;
  int64_t out_matrix = 0, out_row = 0;
  int64_t in_matrix = 0, in_row = 0, in_col = 0;
  enum Keep : int32_t { kAll = 0, kLower = 1, kUpper = 2 } keep = kAll;
  int32_t conjugate = 0;
  enum Marked : int32_t { kSame = 0, kZeros = 1, kNaN = 2 } marked = kSame;

  /// Row-major to row-major.
  static LayOut straight(const Matrices& m);
  /// `m` is the output, row-major; the input has its columns one after the other,
  /// `in_rows` elements each.
  static LayOut from_columns(const Matrices& m, int64_t in_rows, int64_t in_matrix);
};
void lay_out(const Function& f, const StreamContext& stream, const LayOut& m,
             const void* in, void* out, const int32_t* marks = nullptr);

/// Argument of the kernel point_at.
struct BatchSteps {
  int32_t rank = 0;
  int64_t size[kMaxRank] = {}, step[kMaxRank] = {};

  /// Matrices one after the other.
  static BatchSteps plain(int64_t batch, int64_t step);
  /// Matrices of the shape `from`, broadcast to the batch of the shape `to`.
  static BatchSteps broadcast(const Shape& from, const Shape& to);
  /// Where matrix b begins.
  int64_t offset(int64_t b) const;
};
/// list[b] = where matrix b lies.
void point_at(const Function& f, const StreamContext& stream, void* list,
              const void* base, int64_t batch, const BatchSteps& steps);

/// "Op: what (Pivot 2 of matrix 0 is 0.)"
std::shared_ptr<ErrorSite> pivot_site(std::string words);
/// "Op: what (Matrix 3.)"
std::shared_ptr<ErrorSite> matrix_site(std::string words);
/// Reports the first marked matrix that a thread finds.
void check_marks(const Function& f, const LaunchArgs& a, const int32_t* marks,
                 int64_t batch, const ErrorSite& site);

/// Registers K<T>::prepare and K<T>::launch for all four dtypes.
template <template <class> class K>
void add_linalg_kernels(Kernels& kernels, const std::string& op, const std::string& id,
                        bool (*supports)(const Signature&), bool captured) {
  const auto add = [&]<class T>(T*, DType dtype, const char* suffix) {
    if (!captured) mark_uncaptured(id + suffix);
    kernels.add(make_kernel<&K<T>::prepare, &K<T>::launch>(op, id + suffix, mask(dtype),
                                                           supports));
  };
  add(static_cast<float*>(nullptr), DType::kFloat32, ".f32");
  add(static_cast<double*>(nullptr), DType::kFloat64, ".f64");
  add(static_cast<cuComplex*>(nullptr), DType::kComplex64, ".c64");
  add(static_cast<cuDoubleComplex*>(nullptr), DType::kComplex128, ".c128");
}

/// A real number of a dtype, for the host's scale arguments.
template <class T>
T scale_of(double x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else {
    return {static_cast<typename RealPart<T>::type>(x), 0};
  }
}

void register_cholesky(Kernels& kernels);
void register_eigh(Kernels& kernels);
void register_lu(Kernels& kernels);
void register_lu_solve(Kernels& kernels);
void register_qr(Kernels& kernels);
void register_svd(Kernels& kernels);
void register_triangular(Kernels& kernels);

}  // namespace tandem::cuda
