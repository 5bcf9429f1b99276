// Fourier transforms: definitions and gradients.
#include "tandem/ops/signal.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/signal.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// "IRFFT2D" → 2; the one-dimensional ops have no number.
int dimensions_of(const OpDef& op) {
  const char c = op.name[op.name.size() - 2];
  return c == '2' ? 2 : c == '3' ? 3 : 1;
}
std::string name_of(const char* base, int dimensions) {
  return dimensions == 1 ? base : fmt::format("{}{}D", base, dimensions);
}

void infer_fft(InferContext& c) {
  c.rank_at_least(0, dimensions_of(c.op()));
  c.add_output(c.dtype(0), c.shape(0));
}

// The last sizes replaced by those of input 1; half of the last one where `half` says so.
void infer_real(InferContext& c, DType out, bool half) {
  const int dims = dimensions_of(c.op());
  c.rank_at_least(0, dims);
  const TensorInfo& length = c.input(1);
  if (length.shape.has_rank() &&
      (length.shape.rank() != 1 || (length.shape[0] >= 0 && length.shape[0] != dims))) {
    c.fail(fmt::format("fft_length must have {} elements, its shape is {}", dims,
                       length.shape.debug_str()));
  }
  Shape shape = c.shape(0);
  for (int i = 0; shape.has_rank() && i < dims; ++i) {
    int64_t v = length.has_value ? length.value[static_cast<size_t>(i)] : kUnknownValue;
    if (v != kUnknownValue && v < 0) c.fail("fft_length must not be negative");
    if (v != kUnknownValue && half && i == dims - 1) v = v == 0 ? 0 : v / 2 + 1;
    shape.set(shape.rank() - dims + i, v == kUnknownValue ? kUnknownDim : v);
  }
  c.add_output(out, shape);
}
void infer_rfft(InferContext& c) {
  infer_real(c, c.dtype(0) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64,
             true);
}
void infer_irfft(InferContext& c) { infer_real(c, real_dtype(c.dtype(0)), false); }

// The product of the last sizes, as a real scalar.
Tensor count_of(const Tensor& shape, int dims, DType dtype) {
  const int64_t rank = shape.dim(0);
  const Tensor sizes = slice(shape, {rank - dims}, {dims});
  return cast(reduce_prod(sizes), dtype);
}
Tensor as_complex(const Tensor& x, DType dtype) { return cast(x, dtype); }

void grad_fft(GradContext& c) {
  const int dims = dimensions_of(c.op());
  const DType t = c.grad().dtype();
  const Tensor n = count_of(c.shape_of_input(0), dims, real_dtype(t));
  c.set(0, signal::ifft(c.grad(), dims) * as_complex(n, t));
}
void grad_ifft(GradContext& c) {
  const int dims = dimensions_of(c.op());
  const DType t = c.grad().dtype();
  const Tensor n = count_of(c.shape_of_input(0), dims, real_dtype(t));
  c.set(0, signal::fft(c.grad(), dims) / as_complex(n, t));
}

// x with its last sizes cut or filled up with zeros to those of `shape`.
Tensor fitted(const Tensor& x, const Tensor& shape) {
  const Tensor sizes = tandem::shape(x);
  const Tensor kept = slice(x, zeros_like(sizes), minimum(sizes, shape));
  const Tensor missing = shape - minimum(sizes, shape);
  return pad(kept, stack({zeros_like(missing), missing}, {.axis = 1}));
}

// Of the half that was kept, zeros in place of the rest: the gradient is the real part of
// the inverse, not divided.
void grad_rfft(GradContext& c) {
  const int dims = dimensions_of(c.op());
  const DType t = c.grad().dtype();
  const Tensor& length = c.input(1);
  const Tensor sizes = shape(c.grad());
  const int64_t rank = sizes.dim(0);
  const Tensor whole = concat({slice(sizes, {0}, {rank - dims}), length}, {.axis = 0});
  const Tensor n = cast(reduce_prod(length), real_dtype(t));
  const Tensor g = real(signal::ifft(fitted(c.grad(), whole), dims)) * n;
  c.set(0, fitted(g, c.shape_of_input(0)));
}

// Every frequency but the first (and the middle one of even lengths) stands for two.
void grad_irfft(GradContext& c) {
  const int dims = dimensions_of(c.op());
  const Tensor& length = c.input(1);
  const DType real_type = c.grad().dtype();
  const Tensor g = signal::rfft(c.grad(), length, dims);
  const Tensor last = reshape(slice(length, {dims - 1}, {1}), Shape{});
  const Tensor k =
      range(constant(int32_t{0}), floordiv(last, 2) + 1, constant(int32_t{1}));
  const Tensor single = logical_or(equal(k, 0), equal(k * 2, last));
  const Tensor weight = where(single, ones_like(k), ones_like(k) * 2);
  const Tensor scale = cast(weight, real_type) / cast(reduce_prod(length), real_type);
  c.set(0, fitted(g * as_complex(scale, g.dtype()), c.shape_of_input(0)));
}

OpDef transform(const std::string& name, const std::string& doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.inputs = {{.name = "input"}};
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  return def;
}

}  // namespace

void register_signal_ops(OpTable& table) {
  for (const int dims : {1, 2, 3}) {
    const std::string over =
        dims == 1 ? "the last dimension" : fmt::format("the last {} dimensions", dims);
    OpDef def = transform(name_of("FFT", dims), "Fourier transform over " + over + ".");
    def.types = {{'T', kComplexes}};
    def.infer = infer_fft;
    def.gradient = grad_fft;
    table.add(def);
    def.name = name_of("IFFT", dims);
    def.doc = "Inverse Fourier transform over " + over + ".";
    def.gradient = grad_ifft;
    table.add(def);

    def = transform(name_of("RFFT", dims),
                    "Fourier transform of real numbers over " + over + ".");
    def.types = {{'T', mask(DType::kFloat32, DType::kFloat64)},
                 {'S', mask(DType::kInt32)}};
    def.inputs.push_back({.name = "fft_length", .type = 'S', .host = true});
    def.infer = infer_rfft;
    def.gradient = grad_rfft;
    def.grad_inputs = 0b10;
    table.add(def);
    def.name = name_of("IRFFT", dims);
    def.doc = "Real numbers from half of their Fourier transform over " + over + ".";
    def.types[0] = {'T', kComplexes};
    def.infer = infer_irfft;
    def.gradient = grad_irfft;
    table.add(def);
  }
}

namespace signal {

namespace {
struct Handles {
  OpHandle one, two, three;
  const OpDef& of(int dimensions) const {
    return dimensions == 1 ? one : dimensions == 2 ? two : three;
  }
};
}  // namespace

Tensor fft(const Tensor& input, int dimensions) {
  static const Handles ops{OpHandle("FFT"), OpHandle("FFT2D"), OpHandle("FFT3D")};
  return emit(ops.of(dimensions), {input});
}
Tensor ifft(const Tensor& input, int dimensions) {
  static const Handles ops{OpHandle("IFFT"), OpHandle("IFFT2D"), OpHandle("IFFT3D")};
  return emit(ops.of(dimensions), {input});
}
Tensor rfft(const Tensor& input, const Tensor& length, int dimensions) {
  static const Handles ops{OpHandle("RFFT"), OpHandle("RFFT2D"), OpHandle("RFFT3D")};
  return emit(ops.of(dimensions), {input, length});
}
Tensor irfft(const Tensor& input, const Tensor& length, int dimensions) {
  static const Handles ops{OpHandle("IRFFT"), OpHandle("IRFFT2D"), OpHandle("IRFFT3D")};
  return emit(ops.of(dimensions), {input, length});
}

}  // namespace signal

}  // namespace tandem
