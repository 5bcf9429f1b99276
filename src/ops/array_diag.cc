// Diagonals of matrices (MatrixDiagV3, MatrixDiagPartV3, MatrixSetDiagV3, MatrixBandPart)
// and of tensors (Diag, DiagPart).
#include "ops/array_diag.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void check_order(const InferContext& c, int64_t lower, int64_t upper) {
  if (lower < INT32_MIN || upper > INT32_MAX) {
    c.fail(fmt::format("diagonals {} to {} do not fit in 32 bits", lower, upper));
  }
  if (lower > upper) {
    c.fail(
        fmt::format("lower_diag_index must not be larger than upper_diag_index: {} > {}",
                    lower, upper));
  }
}

void infer_matrix_diag(InferContext& c) {
  const auto& a = c.attrs<MatrixDiagAttrs>();
  check_order(c, a.lower, a.upper);
  const Shape& d = c.shape(0);
  if (!d.has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  if (d.rank() < 1) {
    c.fail(fmt::format("diagonal must be at least 1-dim, received shape: {}",
                       d.debug_str()));
  }
  const int packed = a.lower < a.upper ? 2 : 1;
  if (packed == 2 && (d.rank() < 2 ||
                      (d.dim(-2) != kUnknownDim && d.dim(-2) != a.upper - a.lower + 1))) {
    c.fail(
        "The number of diagonals provided in the input does not match the "
        "lower_diag_index and "
        "upper_diag_index range.");
  }
  int64_t rows = a.num_rows, cols = a.num_cols;
  const int64_t m = d.dim(-1);
  if (m != kUnknownDim) {
    const int64_t least_rows = m - std::min<int64_t>(a.upper, 0);
    const int64_t least_cols = m + std::max<int64_t>(a.lower, 0);
    if (rows == -1 && cols == -1) {
      rows = cols = std::max(least_rows, least_cols);
    } else if (rows == -1) {
      rows = least_rows;
    } else if (cols == -1) {
      cols = least_cols;
    }
    if (rows < least_rows) c.fail("The number of rows is too small.");
    if (cols < least_cols) c.fail("The number of columns is too small.");
    if (rows != least_rows && cols != least_cols) {
      c.fail(
          "The number of rows or columns is not consistent with the specified d_lower, "
          "d_upper, "
          "and diagonal.");
    }
  }
  Shape out = d.slice(0, d.rank() - packed);
  out.push_back(rows);
  out.push_back(cols);
  if (c.num_inputs() > 1) c.rank(1, 0);
  c.add_output(c.dtype(0), out);
}
void grad_matrix_diag(GradContext& c) {
  const auto& a = c.attrs<MatrixDiagAttrs>();
  c.set(0, matrix_diag_part(c.grad(), {a.lower, a.upper, a.align}));
}

// Shape of the packed band of matrices of this shape.
Shape band_shape(const InferContext& c, const Shape& matrices, const DiagAttrs& a) {
  check_order(c, a.lower, a.upper);
  const int64_t rows = matrices.dim(-2), cols = matrices.dim(-1);
  Shape out = matrices.slice(0, matrices.rank() - 2);
  if (a.lower < a.upper) out.push_back(a.upper - a.lower + 1);
  if (rows == kUnknownDim || cols == kUnknownDim) {
    out.push_back(kUnknownDim);
    return out;
  }
  for (const auto& [name, k] :
       {std::pair("lower", a.lower), std::pair("upper", a.upper)}) {
    if (k != 0 && (k <= -rows || k >= cols)) {
      c.fail(
          fmt::format("{}_diag_index is out of bound: {}. It must be between {} and {}",
                      name, k, -rows, cols));
    }
  }
  out.push_back(DiagBand{a.lower, a.upper, rows, cols, a.align}.max_len());
  return out;
}

void check_matrices(const InferContext& c) {
  if (c.shape(0).has_rank() && c.shape(0).rank() < 2) {
    c.fail(fmt::format("input must be at least 2-dim, received shape: {}",
                       c.shape(0).debug_str()));
  }
}

void infer_matrix_diag_part(InferContext& c) {
  check_matrices(c);
  if (c.num_inputs() > 1) c.rank(1, 0);
  c.add_output(c.dtype(0), c.shape(0).has_rank()
                               ? band_shape(c, c.shape(0), c.attrs<DiagAttrs>())
                               : Shape::unknown());
}
void grad_matrix_diag_part(GradContext& c) {
  c.set(0, matrix_set_diag(zeros_like(c.input(0)), c.grad(), c.attrs<DiagAttrs>()));
}

void infer_set_diag(InferContext& c) {
  const auto& a = c.attrs<DiagAttrs>();
  check_matrices(c);
  const Shape &in = c.shape(0), &d = c.shape(1);
  if (in.has_rank() && d.has_rank()) {
    const Shape expected = band_shape(c, in, a);
    if (a.lower < a.upper && (d.rank() < 2 || (d.dim(-2) != kUnknownDim &&
                                               d.dim(-2) != a.upper - a.lower + 1))) {
      c.fail(
          "The number of diagonals provided in `diag` is not consistent with "
          "`lower_diag_index` "
          "and `upper_diag_index`");
    }
    if (!expected.compatible_with(d)) {
      c.fail(fmt::format(
          "Either first dimensions of diagonal don't match input.shape[:-2], or "
          "diagonal.shape[:-1] is not equal to the longests diagonal in range "
          "[lower_diag_index:upper_diag_index].\nInput shape: {}\nDiagonal shape: "
          "{}\nExpected "
          "diagonal shape: {}",
          in.debug_str(), d.debug_str(), expected.debug_str()));
    }
  }
  c.add_output(c.dtype(0), in);
}
void grad_set_diag(GradContext& c) {
  const auto& a = c.attrs<DiagAttrs>();
  if (c.needs(0)) c.set(0, matrix_set_diag(c.grad(), zeros_like(c.input(1)), a));
  if (c.needs(1)) c.set(1, matrix_diag_part(c.grad(), a));
}

void infer_band_part(InferContext& c) {
  const auto& a = c.attrs<BandPartAttrs>();
  check_matrices(c);
  const Shape& in = c.shape(0);
  if (in.has_rank()) {
    if (in.dim(-2) != kUnknownDim && a.num_lower > in.dim(-2)) {
      c.fail(fmt::format(
          "num_lower must be negative or less or equal to number of rows ({}) got: "
          "{}",
          in.dim(-2), a.num_lower));
    }
    if (in.dim(-1) != kUnknownDim && a.num_upper > in.dim(-1)) {
      c.fail(fmt::format(
          "num_upper must be negative or less or equal to number of columns ({}) "
          "got: {}",
          in.dim(-1), a.num_upper));
    }
  }
  c.add_output(c.dtype(0), in);
}
void grad_band_part(GradContext& c) {
  c.set(0, band_part(c.grad(), c.attrs<BandPartAttrs>()));
}

void infer_diag(InferContext& c) {
  const Shape& in = c.shape(0);
  if (!in.has_rank()) {
    c.add_output(c.dtype(0), in);
    return;
  }
  if (in.rank() < 1) c.fail("Input must be at least rank 1, got 0");
  if (2 * in.rank() > kMaxRank) {
    c.fail(fmt::format("input must be at most rank {}, got {}", kMaxRank / 2, in.rank()));
  }
  Shape out = in;
  for (int64_t d : in) out.push_back(d);
  c.add_output(c.dtype(0), out);
}
void grad_diag(GradContext& c) { c.set(0, tensor_diag_part(c.grad())); }

void infer_diag_part(InferContext& c) {
  const Shape& in = c.shape(0);
  if (!in.has_rank()) {
    c.add_output(c.dtype(0), in);
    return;
  }
  if (in.rank() < 2 || in.rank() % 2 != 0) {
    c.fail(fmt::format("The rank of the tensor should be even and positive, got shape {}",
                       in.debug_str()));
  }
  const int half_rank = in.rank() / 2;
  for (int i = 0; i < half_rank; ++i) {
    const int64_t a = in[i], b = in[i + half_rank];
    if (a != b && a != kUnknownDim && b != kUnknownDim) {
      c.fail(fmt::format("Invalid shape {}: dimensions {} and {} do not match.",
                         in.debug_str(), i, i + half_rank));
    }
  }
  c.add_output(c.dtype(0),
               in.slice(0, half_rank).merged_with(in.slice(half_rank, in.rank())));
}
void grad_diag_part(GradContext& c) { c.set(0, tensor_diag(c.grad())); }

OpDef diag_op(const char* name, const char* doc, std::vector<InputDef> inputs,
              void (*infer)(InferContext&), void (*gradient)(GradContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kPlain}};
  def.inputs = std::move(inputs);
  def.infer = infer;
  def.gradient = gradient;
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  return def;
}

}  // namespace

void register_array_diag_ops(OpTable& table) {
  const InputDef diagonal{.name = "diagonal"}, input{.name = "input"};
  const InputDef padding{.name = "padding_value", .optional = true};
  OpDef def = diag_op("MatrixDiagV3", "Matrices with given bands of diagonals.",
                      {diagonal, padding}, infer_matrix_diag, grad_matrix_diag);
  def.attrs = &attrs_type<MatrixDiagAttrs>();
  table.add(std::move(def));
  def = diag_op("MatrixDiagPartV3", "The bands of diagonals of matrices.",
                {input, padding}, infer_matrix_diag_part, grad_matrix_diag_part);
  def.attrs = &attrs_type<DiagAttrs>();
  table.add(std::move(def));
  def = diag_op("MatrixSetDiagV3", "Matrices with bands of diagonals replaced.",
                {input, diagonal}, infer_set_diag, grad_set_diag);
  def.attrs = &attrs_type<DiagAttrs>();
  table.add(std::move(def));
  def = diag_op("MatrixBandPart", "Matrices with zeros outside a band around a diagonal.",
                {input}, infer_band_part, grad_band_part);
  def.attrs = &attrs_type<BandPartAttrs>();
  table.add(std::move(def));
  table.add(diag_op("Diag", "A tensor of twice the rank with the input on its diagonal.",
                    {diagonal}, infer_diag, grad_diag));
  table.add(diag_op("DiagPart", "The diagonal of a tensor of even rank.", {input},
                    infer_diag_part, grad_diag_part));
}

Tensor matrix_diag(const Tensor& diagonal, const Tensor& padding, MatrixDiagAttrs attrs) {
  static const OpHandle op("MatrixDiagV3");
  return emit(op, {diagonal, padding}, attrs);
}
Tensor matrix_diag(const Tensor& diagonal, MatrixDiagAttrs attrs) {
  return matrix_diag(diagonal, Tensor(), attrs);
}
Tensor matrix_diag_part(const Tensor& x, const Tensor& padding, DiagAttrs attrs) {
  static const OpHandle op("MatrixDiagPartV3");
  return emit(op, {x, padding}, attrs);
}
Tensor matrix_diag_part(const Tensor& x, DiagAttrs attrs) {
  return matrix_diag_part(x, Tensor(), attrs);
}
Tensor matrix_set_diag(const Tensor& x, const Tensor& diagonal, DiagAttrs attrs) {
  static const OpHandle op("MatrixSetDiagV3");
  return emit(op, {x, diagonal}, attrs);
}
Tensor band_part(const Tensor& x, BandPartAttrs attrs) {
  static const OpHandle op("MatrixBandPart");
  return emit(op, {x}, attrs);
}
Tensor tensor_diag(const Tensor& diagonal) {
  static const OpHandle op("Diag");
  return emit(op, {diagonal});
}
Tensor tensor_diag_part(const Tensor& x) {
  static const OpHandle op("DiagPart");
  return emit(op, {x});
}

}  // namespace tandem
