// Cumsum, Cumprod: all numbers. CumulativeLogsumexp: floats.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "tandem/ops/reduce.h"

namespace tandem::cuda {

std::string scan_text(const std::string& op, DType dtype) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\n#define OP_{}\n", type_text(dtype), op) +
         std::string(device_text("logsumexp.cuh")) + std::string(device_text("scan.cuh"));
}

namespace {

/// The layout is known to device/scan.cuh.
struct ScanArgs {
  const void* x = nullptr;
  void* y = nullptr;
  void* before = nullptr;
  int64_t n = 1, inner = 1, pieces = 1, length = 1, rows = 1;
  int32_t reverse = 0, exclusive = 0;
};
struct ScanPlan {
  Function main, totals, before;
  bool columns = false;
  ScanArgs args;
  size_t workspace_bytes = 0;  // an accumulator per piece
};

constexpr int64_t kScanPiece = 8192;

std::string op_of(const Signature& s) {
  return s.op->name == "Cumsum" ? "SUM" : s.op->name == "Cumprod" ? "PROD" : "LOGSUMEXP";
}

ScanPlan prepare_scan(const Signature& s) {
  const auto& attrs = s.attrs.as<ScanAttrs>();
  const Shape& x = s.in(0).shape;
  const auto axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
  ScanPlan p;
  ScanArgs& a = p.args;
  a.n = x[axis];
  a.inner = dim_product(x, axis + 1, x.rank());
  a.rows = dim_product(x, 0, axis) * a.inner;
  a.reverse = attrs.reverse;
  a.exclusive = attrs.exclusive;
  a.length = a.n;
  if (a.rows == 0 || a.n == 0) return p;
  const std::string text = scan_text(op_of(s), s.in(0).dtype);
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  p.columns = (a.inner >= 32 && a.rows >= 4096) || a.n <= 16;
  p.main = find(p.columns ? "scan_columns" : "scan_rows");
  // Few long rows: cut, so that every multiprocessor has something to do.
  const int64_t busy = 2 * gpu_of(s).multiprocessors();
  if (!p.columns && a.rows < busy && a.n > 2 * kScanPiece) {
    a.pieces = (a.n + kScanPiece - 1) / kScanPiece;
    a.length = kScanPiece;
    p.totals = find("piece_totals");
    p.before = find("before_pieces");
    const size_t element = std::max<size_t>(4, dtype_size(s.in(0).dtype));
    p.workspace_bytes = static_cast<size_t>(a.rows * a.pieces) * 2 * element;
  }
  return p;
}

void launch_scan(const ScanPlan& p, const LaunchArgs& a) {
  ScanArgs args = p.args;
  if (args.rows == 0 || args.n == 0) return;
  args.x = a.inputs[0];
  args.y = a.outputs[0];
  if (p.columns) {
    launch(p.main, *a.stream, grid_for(p.main, args.rows, 128), args);
    return;
  }
  const int64_t tasks = args.rows * args.pieces;
  const Grid grid{.x = static_cast<unsigned>(std::min<int64_t>(tasks, 1 << 20))};
  if (args.pieces > 1) {
    args.before = a.workspace;
    launch(p.totals, *a.stream, grid, args);
    launch(p.before, *a.stream, grid_for(p.before, args.rows), args);
  }
  launch(p.main, *a.stream, grid, args);
}

}  // namespace

void register_scan(Kernels& kernels) {
  kernels.add(make_kernel<prepare_scan, launch_scan>("Cumsum", "cuda.cumsum", kNumbers));
  kernels.add(
      make_kernel<prepare_scan, launch_scan>("Cumprod", "cuda.cumprod", kNumbers));
  kernels.add(make_kernel<prepare_scan, launch_scan>(
      "CumulativeLogsumexp", "cuda.cumulative_logsumexp", kFloats));
}

}  // namespace tandem::cuda
