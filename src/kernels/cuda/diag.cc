// MatrixDiagV3, MatrixDiagPartV3, MatrixSetDiagV3, MatrixBandPart, Diag, DiagPart,
// ReverseSequence. Any dtype but strings, by element size.
#include <fmt/format.h>

#include "kernels/cuda/index_words.h"
#include "kernels/cuda/move_plan.h"
#include "kernels/cuda/scatter.h"
#include "ops/array_diag.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

std::string diag_text(size_t element, DType index) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} E;\ntypedef {} X;\n", bits_text(element),
                     type_text(index)) +
         std::string(device_text("diag.cuh"));
}

namespace {

// ---- Bands
// ----------------------------------------------------------------------------
/// The layout is known to device/diag.cuh.
struct BandArgs {
  int64_t batches = 0, rows = 0, cols = 0, lower = 0, upper = 0, length = 0;
  int32_t upper_left = 0, lower_left = 0;
};
struct BandPlan {
  Function function;
  BandArgs args;
  int64_t total = 0;
};

BandPlan make_band(const Signature& s, const Shape& matrices, const char* entry) {
  BandPlan p;
  p.args.batches = dim_product(matrices, 0, matrices.rank() - 2);
  p.args.rows = matrices.dim(-2);
  p.args.cols = matrices.dim(-1);
  p.total = s.out().shape.num_elements();
  p.function = find_function(s.device, s.op->name,
                             diag_text(element_of(s.in(0)), DType::kInt32), entry);
  return p;
}
template <class A>
BandPlan make_diagonals(const Signature& s, const Shape& matrices, const A& attrs,
                        const char* entry) {
  BandPlan p = make_band(s, matrices, entry);
  const DiagBand band{attrs.lower, attrs.upper, p.args.rows, p.args.cols, attrs.align};
  p.args.lower = band.lower;
  p.args.upper = band.upper;
  p.args.length = band.max_len();
  p.args.upper_left =
      band.align == DiagAlign::kLeftRight || band.align == DiagAlign::kLeftLeft;
  p.args.lower_left =
      band.align == DiagAlign::kRightLeft || band.align == DiagAlign::kLeftLeft;
  return p;
}

BandPlan prepare_matrix_diag(const Signature& s) {
  return make_diagonals(s, s.out().shape, s.attrs.as<MatrixDiagAttrs>(), "write_band");
}
BandPlan prepare_set_diag(const Signature& s) {
  return make_diagonals(s, s.in(0).shape, s.attrs.as<DiagAttrs>(), "write_band");
}
BandPlan prepare_diag_part(const Signature& s) {
  return make_diagonals(s, s.in(0).shape, s.attrs.as<DiagAttrs>(), "read_band");
}
BandPlan prepare_band_part(const Signature& s) {
  const auto& attrs = s.attrs.as<BandPartAttrs>();
  BandPlan p = make_band(s, s.in(0).shape, "band_part");
  const int64_t far = p.args.rows + p.args.cols;
  p.args.lower = attrs.num_lower < 0 ? -far : attrs.diagonal - attrs.num_lower;
  p.args.upper = attrs.num_upper < 0 ? far : attrs.diagonal + attrs.num_upper;
  return p;
}

void launch_matrix_diag(const BandPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0],
         static_cast<const void*>(nullptr), a.inputs[1], a.outputs[0], p.args);
}
void launch_set_diag(const BandPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[1], a.inputs[0],
         static_cast<const void*>(nullptr), a.outputs[0], p.args);
}
void launch_diag_part(const BandPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[1],
         a.outputs[0], p.args);
}
void launch_band_part(const BandPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.outputs[0],
         p.args);
}

// ---- Diagonals of tensors
// -------------------------------------------------------------
MovePlan prepare_diag(const Signature& s) {
  const int64_t n = s.in(0).shape.num_elements();
  const CopyDim dim{n, 1, n + 1};
  return {{StridedCopy(s.device, element_of(s.in(0)), {&dim, 1})}, bytes_of(s.out())};
}
MovePlan prepare_tensor_diag_part(const Signature& s) {
  const int64_t n = s.out().shape.num_elements();
  const CopyDim dim{n, n + 1, 1};
  return {{StridedCopy(s.device, element_of(s.in(0)), {&dim, 1})}, 0};
}

// ---- ReverseSequence
// ------------------------------------------------------------------
struct ReversePlan {
  Function function;
  int64_t total = 0, first = 1, middle = 1, second = 1, inner = 1;
  int32_t sequence_first = 0;
  std::shared_ptr<ErrorSite> site;
};
ReversePlan prepare_reverse_sequence(const Signature& s) {
  const auto& attrs = s.attrs.as<ReverseSequenceAttrs>();
  const Shape& in = s.in(0).shape;
  const auto axis = [&](int64_t a) {
    return static_cast<int>(a < 0 ? a + in.rank() : a);
  };
  const int sequence = axis(attrs.seq_axis), batch = axis(attrs.batch_axis);
  const int one = std::min(sequence, batch), two = std::max(sequence, batch);
  ReversePlan p;
  p.total = in.num_elements();
  p.first = in[one];
  p.middle = dim_product(in, one + 1, two);
  p.second = in[two];
  p.inner = dim_product(in, two + 1, in.rank());
  p.sequence_first = sequence < batch;
  p.site = std::make_shared<ErrorSite>([sequence](const Report& r) {
    return r.value < 0 ? fmt::format("ReverseSequence: seq_lens({}) < 0", r.position)
                       : fmt::format("ReverseSequence: seq_lens({}) > input.dims({})",
                                     r.position, sequence);
  });
  p.function =
      find_function(s.device, s.op->name, diag_text(element_of(s.in(0)), s.in(1).dtype),
                    "reverse_sequence");
  return p;
}
void launch_reverse_sequence(const ReversePlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[1],
         a.outputs[0], p.total, p.first, p.middle, p.second, p.inner, p.sequence_first,
         flags_of(a), p.site->id());
}

}  // namespace

void register_diag(Kernels& kernels) {
  kernels.add(make_kernel<prepare_matrix_diag, launch_matrix_diag>(
      "MatrixDiagV3", "cuda.matrix_diag", kPlain));
  kernels.add(make_kernel<prepare_diag_part, launch_diag_part>(
      "MatrixDiagPartV3", "cuda.matrix_diag_part", kPlain));
  kernels.add(make_kernel<prepare_set_diag, launch_set_diag>(
      "MatrixSetDiagV3", "cuda.matrix_set_diag", kPlain));
  kernels.add(make_kernel<prepare_band_part, launch_band_part>("MatrixBandPart",
                                                               "cuda.band_part", kPlain));
  kernels.add(make_kernel<prepare_diag, launch_move>("Diag", "cuda.diag", kPlain));
  kernels.add(make_kernel<prepare_tensor_diag_part, launch_move>(
      "DiagPart", "cuda.diag_part", kPlain));
  kernels.add(make_kernel<prepare_reverse_sequence, launch_reverse_sequence>(
      "ReverseSequence", "cuda.reverse_sequence", kPlain));
}

}  // namespace tandem::cuda
