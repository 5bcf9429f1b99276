// Casts, bitcasts and the parts of complex numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/elementwise_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using namespace elementwise;

bool fold_bool(int64_t x, int64_t* r) { return *r = x != 0, true; }

void infer_cast(InferContext& c) {
  const DType to = c.attrs<CastAttrs>().dtype;
  if (c.dtype(0) == DType::kString || to == DType::kString || to == DType::kResource ||
      to == DType::kInvalid) {
    throw UnimplementedError(
        fmt::format("Cast {} to {} is not supported [Op:Cast]. Use strings.to_number or "
                    "strings.as_string for strings.",
                    dtype_name(c.dtype(0)), dtype_name(to)));
  }
  c.add_output(to, c.shape(0));
  if (is_integer(to)) fold(c, fold_same);
  if (to == DType::kBool) fold(c, fold_bool);
}
bool has_gradient(DType t) { return is_floating(t) || is_complex(t); }
void grad_cast(GradContext& c) {
  const DType from = c.input(0).dtype();
  if (has_gradient(from) && has_gradient(c.output(0).dtype()))
    c.set(0, cast(c.grad(), from));
}

void infer_bitcast(InferContext& c) {
  const DType to = c.attrs<BitcastAttrs>().type;
  const auto from_size = static_cast<int64_t>(dtype_size(c.dtype(0)));
  const auto to_size = static_cast<int64_t>(dtype_size(to));
  c.require(is_numeric(to), fmt::format("Cannot bitcast to {}", dtype_name(to)));
  Shape shape = c.shape(0);
  if (shape.has_rank() && to_size < from_size) shape.push_back(from_size / to_size);
  if (shape.has_rank() && to_size > from_size) {
    const int64_t ratio = to_size / from_size;
    const int64_t last = shape.rank() ? shape.dim(-1) : 1;
    if (last != ratio && last != kUnknownDim) {
      c.fail(
          fmt::format("Cannot bitcast from {} to {}: the last dimension of {} must be {}",
                      dtype_name(c.dtype(0)), dtype_name(to), shape.debug_str(), ratio));
    }
    shape.erase(shape.rank() - 1);
  }
  c.add_output(to, shape);
}
// Wider elements might not be aligned in the bytes of narrower ones: those are copied.
std::optional<int64_t> view_bitcast(const Signature& s) {
  if (dtype_size(s.out().dtype) > dtype_size(s.in(0).dtype)) return std::nullopt;
  return 0;
}

void infer_complex(InferContext& c) {
  c.add_output(c.dtype(0) == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64,
               c.broadcast(c.shape(0), c.shape(1)));
}
Tensor real_to_complex(const Tensor& x) { return complex(x, scalar(0, x.dtype())); }

void grad_angle(GradContext& c) {
  const Tensor z = reciprocal(complex(imag(c.input(0)), real(c.input(0))));
  c.set(0, negative(real_to_complex(c.grad()) * z));
}
void grad_complex_abs(GradContext& c) {
  c.set(0, divide_no_nan(real_to_complex(c.grad()) * c.input(0),
                         real_to_complex(c.output(0))));
}

OpDef part(const char* name, const char* doc, const char* expression, Reads reads,
           GradientFn gradient) {
  OpDef def = with_gradient(unary(name, doc, kComplexes, expression), reads, gradient);
  def.infer = infer_unary_real;
  def.inplace = 0;
  return def;
}

void register_complex(OpTable& t) {
  t.add(part("ComplexAbs", "The modulus of complex numbers.", "complexabs(x)", kReadsAll,
             grad_complex_abs));
  t.add(part("Real", "The real part.", "real(x)", kReadsNothing,
             [](GradContext& c) { c.set(0, real_to_complex(c.grad())); }));
  t.add(part("Imag", "The imaginary part.", "imag(x)", kReadsNothing, [](GradContext& c) {
    c.set(0, complex(scalar(0, c.grad().dtype()), c.grad()));
  }));
  t.add(part("Angle", "The argument of complex numbers, in (-π, π].", "angle(x)", kReadsX,
             grad_angle));
  t.add(with_gradient(unary("Conj", "The complex conjugate.", kComplexes, "conj(x)"),
                      kReadsNothing, [](GradContext& c) { c.set(0, conj(c.grad())); }));
  OpDef parts =
      with_gradient(binary("Complex", "Complex numbers from real and imaginary parts.",
                           mask(DType::kFloat32, DType::kFloat64), "complex(x, y)"),
                    kReadsNothing, [](GradContext& c) {
                      if (c.needs(0)) c.set(0, sum_to(real(c.grad()), c.input(0)));
                      if (c.needs(1)) c.set(1, sum_to(imag(c.grad()), c.input(1)));
                    });
  parts.inputs = {{.name = "real"}, {.name = "imag"}};
  parts.infer = infer_complex;
  parts.inplace = 0;
  t.add(std::move(parts));
}

}  // namespace

void register_elementwise_cast_ops(OpTable& t) {
  OpDef cast_op = with_gradient(
      unary("Cast",
            "x converted to another dtype: toward zero to integers, the real part of "
            "complex numbers, not zero as bool.",
            kAnyDType, "cast(x)"),
      kReadsNothing, grad_cast);
  cast_op.attrs = &attrs_type<CastAttrs>();
  cast_op.infer = infer_cast;
  cast_op.inplace = 0;
  t.add(std::move(cast_op));

  OpDef bitcast_op = without_gradient(
      unary("Bitcast", "The same bytes as another dtype.", kNumbers, ""));
  bitcast_op.attrs = &attrs_type<BitcastAttrs>();
  bitcast_op.infer = infer_bitcast;
  bitcast_op.inplace = 0;
  bitcast_op.view = view_bitcast;
  bitcast_op.cost = nullptr;
  t.add(std::move(bitcast_op));
  register_complex(t);
}

Tensor cast(const Tensor& x, DType dtype) {
  static const OpHandle op("Cast");
  if (x.dtype() == dtype) return x;
  return emit(op, {x}, CastAttrs{.dtype = dtype});
}
Tensor bitcast(const Tensor& x, DType dtype) {
  static const OpHandle op("Bitcast");
  return emit(op, {x}, BitcastAttrs{.type = dtype});
}

namespace {

struct Limits {
  double low, high;     // as doubles, rounded
  int64_t int_low = 0;  // exact for integers; uint64 is clipped to what int64 holds
  int64_t int_high = 0;
};
Limits limits(DType t) {
  const auto of = []<class T>(T) -> Limits {
    using L = std::numeric_limits<T>;
    const bool big = sizeof(T) == 8 && std::is_unsigned_v<T>;
    return {static_cast<double>(L::lowest()), static_cast<double>(L::max()),
            std::is_integral_v<T> ? static_cast<int64_t>(L::lowest()) : 0,
            big                     ? INT64_MAX
            : std::is_integral_v<T> ? static_cast<int64_t>(L::max())
                                    : 0};
  };
  switch (t) {
    case DType::kInt8:
      return of(int8_t{});
    case DType::kInt16:
      return of(int16_t{});
    case DType::kInt32:
      return of(int32_t{});
    case DType::kInt64:
      return of(int64_t{});
    case DType::kUInt8:
      return of(uint8_t{});
    case DType::kUInt16:
      return of(uint16_t{});
    case DType::kUInt32:
      return of(uint32_t{});
    case DType::kUInt64:
      return of(uint64_t{});
    case DType::kFloat16:
      return {-65504, 65504};
    case DType::kBFloat16:
      return {-3.3895313892515355e38, 3.3895313892515355e38};
    case DType::kFloat32:
      return of(float{});
    default:
      return of(double{});
  }
}

// Bits of precision of a floating-point dtype.
int precision(DType t) {
  switch (t) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}
// The largest number of dtype t that is not above the largest integer of dtype `to`.
double largest_within(DType t, DType to) {
  const int bits = static_cast<int>(dtype_size(to)) * 8 - (is_unsigned(to) ? 0 : 1);
  if (bits <= precision(t)) return limits(to).high;
  return std::ldexp(1.0, bits) - std::ldexp(1.0, bits - precision(t));
}

}  // namespace

Tensor saturate_cast(const Tensor& x, DType dtype) {
  const DType from = x.dtype();
  if (is_complex(from)) {
    return is_complex(dtype) ? cast(x, dtype) : saturate_cast(real(x), dtype);
  }
  const DType to = real_dtype(dtype);
  if (!is_numeric(from) || !is_numeric(to)) return cast(x, dtype);
  const Limits in = limits(from), out = limits(to);
  if (is_floating(from)) {
    const double high = is_floating(to) ? out.high : largest_within(from, to);
    return cast(clip_by_value(x, std::max(in.low, out.low), std::min(in.high, high)),
                dtype);
  }
  if (is_floating(to)) return cast(x, dtype);
  const bool fits = in.int_low >= out.int_low && in.int_high <= out.int_high;
  if (fits && (from != DType::kUInt64 || to == DType::kUInt64)) return cast(x, dtype);
  return cast(clip_by_value(x, static_cast<long>(std::max(in.int_low, out.int_low)),
                            static_cast<long>(std::min(in.int_high, out.int_high))),
              dtype);
}

Tensor abs(const Tensor& x) {
  static const OpHandle op("Abs"), complex_op("ComplexAbs");
  return emit(is_complex(x.dtype()) ? complex_op : op, {x});
}
Tensor real(const Tensor& x) {
  static const OpHandle op("Real");
  return is_complex(x.dtype()) ? emit(op, {x}) : x;
}
Tensor imag(const Tensor& x) {
  static const OpHandle op("Imag");
  return is_complex(x.dtype()) ? emit(op, {x}) : zeros_like(x);
}
Tensor conj(const Tensor& x) {
  static const OpHandle op("Conj");
  return is_complex(x.dtype()) ? emit(op, {x}) : x;
}
Tensor angle(const Tensor& x) {
  static const OpHandle op("Angle");
  if (is_complex(x.dtype())) return emit(op, {x});
  return where(x < 0, scalar(3.14159265358979323846, x.dtype()), zeros_like(x));
}
Tensor complex(const Tensor& real_part, const Tensor& imag_part) {
  static const OpHandle op("Complex");
  return emit(op, {real_part, imag_part});
}

}  // namespace tandem
