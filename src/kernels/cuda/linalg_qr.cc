// Qr. Matrices that fit into shared memory have a kernel of our own, which can be
// captured and does batches at once. Others go to cuSOLVER one after the other: the
// matrix is turned to stand by columns, reflectors and r come out in its place, r is
// taken, then q is formed where the reflectors stand.
#include "kernels/cuda/linalg.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

std::string small_qr_text(DType dtype) {
  return linalg_text(dtype) + std::string(device_text("small_qr.cuh"));
}

namespace {

/// Columns of q, rows of r.
int64_t width_of(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  return s.attrs.as<linalg::QrAttrs>().full_matrices ? m.rows : m.least();
}

/// What device/small_qr.cuh wants of shared memory.
int64_t shared_bytes(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  const int64_t elements =
      m.rows * ((m.cols | 1) + (width_of(s) | 1)) + std::min(m.rows, m.cols);
  return elements * static_cast<int64_t>(dtype_size(s.in(0).dtype));
}
bool is_small_qr(const Signature& s) {
  constexpr int64_t kSharedBytes = 48 << 10, kLargest = 1024;
  const Matrices m = matrices_of(s.in(0).shape);
  return m.least() > 0 && std::max(m.rows, m.cols) <= kLargest &&
         shared_bytes(s) <= kSharedBytes;
}

struct SmallQrPlan {
  Matrices m;
  int64_t width = 0;
  Function function;
  Grid grid;
};
SmallQrPlan prepare_small_qr(const Signature& s) {
  SmallQrPlan p;
  p.m = matrices_of(s.in(0).shape);
  p.width = width_of(s);
  if (p.m.batch == 0) return p;
  p.function = find_function(s.device, "qr", small_qr_text(s.in(0).dtype), "small_qr");
  // A thread has a column; the columns of a few warps are enough for shared memory.
  const int64_t columns = std::max(p.m.cols, p.width);
  p.grid.threads = columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
  p.grid.shared = static_cast<unsigned>(shared_bytes(s));
  constexpr int64_t kWaves = 32;
  p.grid.x = static_cast<unsigned>(
      std::min(p.m.batch, kWaves * int64_t{p.function.multiprocessors}));
  return p;
}
void launch_small_qr(const SmallQrPlan& p, const LaunchArgs& a) {
  if (p.m.batch == 0) return;
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.outputs[0], a.outputs[1],
         p.m.batch, static_cast<int32_t>(p.m.rows), static_cast<int32_t>(p.m.cols),
         static_cast<int32_t>(p.width));
}

template <class T>
struct Qr {
  struct Plan {
    Matrices m;
    int64_t width = 0;  // columns of q, rows of r
    int64_t step = 0;   // between matrices of the workspace
    LayOut take, r, q;
    Function lay_out, identity;
    size_t matrices = 0, tau = 0, work = 0, info = 0;
    int work_size = 0;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    p.m = matrices_of(s.in(0).shape);
    const Matrices& m = p.m;
    const int64_t least = m.least();
    p.width = width_of(s);
    if (m.batch == 0 || p.width == 0) return p;
    p.identity = linalg_function(s, "write_identity");
    if (least == 0) return p;
    p.step = m.rows * std::max(m.cols, p.width);
    p.take = LayOut::from_columns({m.batch, m.cols, m.rows}, m.cols, m.elements());
    p.take.out_matrix = p.step;
    p.r = LayOut::from_columns({m.batch, p.width, m.cols}, m.rows, p.step);
    p.r.keep = LayOut::kUpper;
    p.q = LayOut::from_columns({m.batch, m.rows, p.width}, m.rows, p.step);
    p.lay_out = linalg_function(s, "lay_out");
    const int rows = static_cast<int>(m.rows), cols = static_cast<int>(m.cols);
    int factor = 0, form = 0;
    const SolverScope scope(gpu_of(s));
    check_solver(
        solver()->of<T>().geqrf_size(scope.handle(), rows, cols, nullptr, rows, &factor),
        "preparing a QR decomposition");
    check_solver(solver()->of<T>().ungqr_size(
                     scope.handle(), rows, static_cast<int>(p.width),
                     static_cast<int>(least), nullptr, rows, nullptr, &form),
                 "preparing a QR decomposition");
    Regions regions;
    p.work_size = std::max(factor, form);
    p.matrices = regions.add<T>(m.batch * p.step);
    p.tau = regions.add<T>(m.batch * least);
    p.work = regions.add<T>(p.work_size);
    p.info = regions.add<int32_t>(1);
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const Matrices& m = p.m;
    const int64_t least = m.least();
    if (m.batch == 0 || p.width == 0) return;
    if (least == 0) {  // no columns: r has no elements
      cuda::launch(p.identity, *a.stream, grid_for(p.identity, m.batch * m.rows * m.rows),
                   a.outputs[0], m.batch, m.rows);
      return;
    }
    const int rows = static_cast<int>(m.rows), cols = static_cast<int>(m.cols);
    T* const matrices = region<T>(a, p.matrices);
    T* const tau = region<T>(a, p.tau);
    T* const work = region<T>(a, p.work);
    auto* const info = region<int>(a, p.info);
    if (p.width > m.cols) {  // columns that no reflector stands in
      fill_zeros(*a.stream, matrices, static_cast<size_t>(m.batch * p.step) * sizeof(T));
    }
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], matrices);
    const SolverFunctions<T>& functions = solver()->of<T>();
    {
      const SolverScope scope(*a.stream);
      for (int64_t b = 0; b < m.batch; ++b) {
        check_solver(functions.geqrf(scope.handle(), rows, cols, matrices + b * p.step,
                                     rows, tau + b * least, work, p.work_size, info),
                     "decomposing a matrix");
      }
    }
    lay_out(p.lay_out, *a.stream, p.r, matrices, a.outputs[1]);
    {
      const SolverScope scope(*a.stream);
      for (int64_t b = 0; b < m.batch; ++b) {
        check_solver(functions.ungqr(scope.handle(), rows, static_cast<int>(p.width),
                                     static_cast<int>(least), matrices + b * p.step, rows,
                                     tau + b * least, work, p.work_size, info),
                     "forming an orthonormal matrix");
      }
    }
    lay_out(p.lay_out, *a.stream, p.q, matrices, a.outputs[0]);
  }
};

bool qr_supported(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  return !is_small_qr(s) && countable(m) && countable({m.batch, m.rows, width_of(s)}) &&
         solver();
}

}  // namespace

void register_qr(Kernels& kernels) {
  kernels.add(make_kernel<prepare_small_qr, launch_small_qr>("Qr", "cuda.qr.small",
                                                             kLibraryTypes, is_small_qr));
  add_linalg_kernels<Qr>(kernels, "Qr", "cuda.qr.cusolver", qr_supported, false);
}

}  // namespace tandem::cuda
