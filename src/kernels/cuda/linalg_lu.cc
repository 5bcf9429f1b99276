// Lu, MatrixDeterminant, LogMatrixDeterminant.
#include "kernels/cuda/lu_factors.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

namespace {

// Rows are exchanged, so the matrix is turned to stand by columns, and back.
template <class T, bool kBatched>
struct Lu {
  struct Plan {
    LuFactors<T> factors;
    LayOut turn;
    Function lay_out, permutation;
    std::shared_ptr<ErrorSite> site;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    const Matrices m = matrices_of(s.in(0).shape);
    Plan p;
    Regions regions;
    p.factors = LuFactors<T>::plan(s, regions, kBatched);
    p.workspace_bytes = regions.workspace_bytes();
    if (p.factors.empty()) return p;
    p.turn = LayOut::from_columns(m, m.rows, m.elements());
    p.lay_out = linalg_function(s, "lay_out");
    const bool wide = s.attrs.as<linalg::LuAttrs>().output_idx_type == DType::kInt64;
    p.permutation = linalg_function(s, wide ? "permutation64" : "permutation32");
    p.site = pivot_site("Lu: Input is not invertible.");
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const LuFactors<T>& f = p.factors;
    if (f.empty()) return;
    T* const matrices = region<T>(a, f.matrices);
    lay_out(p.lay_out, *a.stream, p.turn, a.inputs[0], matrices);
    f.factor(a);
    f.check(a, *p.site);
    lay_out(p.lay_out, *a.stream, p.turn, matrices, a.outputs[0]);
    cuda::launch(p.permutation, *a.stream, grid_for(p.permutation, f.batch),
                 region<int32_t>(a, f.pivots), a.outputs[1], f.batch, f.n);
  }
};

// A matrix and its transpose have one determinant, so it is not turned.
template <class T, bool kBatched>
struct Determinant {
  struct Plan {
    LuFactors<T> factors;
    Function determinant;
    bool logarithm = false;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    Regions regions;
    p.factors = LuFactors<T>::plan(s, regions, kBatched);
    p.workspace_bytes = regions.workspace_bytes();
    p.determinant = linalg_function(s, "determinant");
    p.logarithm = s.outputs.size() > 1;
    return p;
  }
  // Without rows it is one, of an empty product.
  static void launch(const Plan& p, const LaunchArgs& a) {
    const LuFactors<T>& f = p.factors;
    if (f.batch == 0) return;
    const T* matrices = nullptr;
    const int32_t *pivots = nullptr, *info = nullptr;
    if (!f.empty()) {
      T* const copied = region<T>(a, f.matrices);
      copy_bytes(*a.stream, copied, a.inputs[0],
                 static_cast<size_t>(f.batch * f.n * f.n) * sizeof(T));
      f.factor(a);
      matrices = copied;
      pivots = region<int32_t>(a, f.pivots);
      info = region<int32_t>(a, f.info);
    }
    void* const logs = p.logarithm ? a.outputs[1] : nullptr;
    cuda::launch(p.determinant, *a.stream, grid_for(p.determinant, f.batch), matrices,
                 pivots, info, a.outputs[0], logs, f.batch, f.n);
  }
};

template <class T>
using BatchedLu = Lu<T, true>;
template <class T>
using SingleLu = Lu<T, false>;
template <class T>
using BatchedDeterminant = Determinant<T, true>;
template <class T>
using SingleDeterminant = Determinant<T, false>;

}  // namespace

void register_lu(Kernels& kernels) {
  add_linalg_kernels<BatchedLu>(kernels, "Lu", "cuda.lu.cublas", lu_batched, true);
  add_linalg_kernels<SingleLu>(kernels, "Lu", "cuda.lu.cusolver", lu_single, false);
  for (const auto& [op, id] : {std::pair{"MatrixDeterminant", "cuda.determinant."},
                               {"LogMatrixDeterminant", "cuda.log_determinant."}}) {
    add_linalg_kernels<BatchedDeterminant>(kernels, op, std::string(id) + "cublas",
                                           lu_batched, true);
    add_linalg_kernels<SingleDeterminant>(kernels, op, std::string(id) + "cusolver",
                                          lu_single, false);
  }
}

}  // namespace tandem::cuda
