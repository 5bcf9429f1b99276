// Scans: running sums, products and log-sum-exps, and the linear recurrence that
// gradients of products need.
#include <limits>

#include <fmt/format.h>

#include "ops/reduce_parts.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void check_axis(const InferContext& c, int64_t axis) {
  const Shape& x = c.shape(0);
  if (!x.has_rank()) return;
  const int rank = x.rank();
  if (axis < -rank || axis >= rank) {
    c.fail(fmt::format("ScanOp: Expected scan axis in the range [{}, {}), but got {}",
                       -rank, rank, axis));
  }
}

void infer_scan(InferContext& c) {
  check_axis(c, c.attrs<ScanAttrs>().axis);
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_shift(InferContext& c) {
  check_axis(c, c.attrs<RecurrenceAttrs>().axis);
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_recurrence(InferContext& c) {
  check_axis(c, c.attrs<RecurrenceAttrs>().axis);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format("a has shape {} but b has shape {}. Broadcast them first.",
                       c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
  c.add_output(c.dtype(0), c.shape(0).merged_with(c.shape(1)));
}

void grad_cumsum(GradContext& c) {
  ScanAttrs attrs = c.attrs<ScanAttrs>();
  attrs.reverse = !attrs.reverse;
  c.set(0, cumsum(c.grad(), attrs));
}

// The product of what comes before x[i] times r[i], where r[i] = g[i] + x[i + 1] * r[i +
// 1] collects what comes after. No division, so zeros are right, and so is the gradient
// of this.
void grad_cumprod(GradContext& c) {
  const auto& attrs = c.attrs<ScanAttrs>();
  const Tensor x = conj(c.input(0));
  const RecurrenceAttrs back{attrs.axis, !attrs.reverse};
  const Tensor before = cumprod(x, {attrs.axis, true, attrs.reverse});
  Tensor grad = c.grad();
  if (attrs.exclusive) grad = shift_by_one(grad, back);
  c.set(0, before * linear_recurrence(shift_by_one(x, back), grad, back));
}

// TensorFlow's way: positive and negative gradients apart, each in logarithms.
void grad_cumulative_logsumexp(GradContext& c) {
  static const OpHandle greater("Greater");
  ScanAttrs back = c.attrs<ScanAttrs>();
  back.reverse = !back.reverse;
  const Tensor &x = c.input(0), &y = c.output(0);
  const Tensor g = c.grad();
  const Tensor zero = zeros_like(g), one = ones_like(g);
  const Tensor nothing =
      zero + scalar(-std::numeric_limits<double>::infinity(), g.dtype());
  // exp(x[i]) * sum over j of w[j] / exp(y[j]).
  const auto part = [&](const Tensor& weight) {
    const Tensor some = emit(greater, {weight, zero});
    const Tensor logs = where(some, log(where(some, weight, one)) - y, nothing);
    const Tensor sums = cumulative_logsumexp(logs, back);
    const Tensor any = emit(greater, {sums, nothing});
    return where(any, exp(where(any, sums, zero) + x), zero);
  };
  c.set(0, part(g) - part(-g));
}

void grad_shift(GradContext& c) {
  RecurrenceAttrs attrs = c.attrs<RecurrenceAttrs>();
  attrs.reverse = !attrs.reverse;
  c.set(0, shift_by_one(c.grad(), attrs));
}

void grad_recurrence(GradContext& c) {
  const auto& attrs = c.attrs<RecurrenceAttrs>();
  const RecurrenceAttrs back{attrs.axis, !attrs.reverse};
  const Tensor a = conj(c.input(0));
  const Tensor s = linear_recurrence(shift_by_one(a, back), c.grad(), back);
  if (c.needs(0)) c.set(0, s * conj(shift_by_one(c.output(0), attrs)));
  c.set(1, s);
}

OpDef scan(const char* name, const char* doc, DTypeMask types) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', types}};
  def.inputs = {{.name = "x"}};
  def.attrs = &attrs_type<ScanAttrs>();
  def.infer = infer_scan;
  return def;
}

}  // namespace

void register_scan_ops(OpTable& table) {
  OpDef sum = scan("Cumsum", "Running sum along an axis.", kNumbers);
  sum.gradient = grad_cumsum;
  sum.grad_inputs = sum.grad_outputs = 0;
  table.add(sum);
  OpDef product = scan("Cumprod", "Running product along an axis.", kNumbers);
  product.gradient = grad_cumprod;
  product.grad_outputs = 0;
  table.add(product);
  OpDef logs =
      scan("CumulativeLogsumexp", "Running log(sum(exp(x))) along an axis.", kFloats);
  logs.gradient = grad_cumulative_logsumexp;
  table.add(logs);
  table.add({.name = "LinearRecurrence",
             .doc = "y[i] = a[i] * y[i - 1] + b[i] along an axis.",
             .types = {{'T', kFloats | kComplexes}},
             .inputs = {{.name = "a"}, {.name = "b"}},
             .attrs = &attrs_type<RecurrenceAttrs>(),
             .infer = infer_recurrence,
             .gradient = grad_recurrence,
             .grad_inputs = 1});
  table.add({.name = "Shift",
             .doc = "y[i] = x[i - 1] along an axis, 0 at the open end.",
             .types = {{'T', kPlain}},
             .inputs = {{.name = "x"}},
             .attrs = &attrs_type<RecurrenceAttrs>(),
             .infer = infer_shift,
             .gradient = grad_shift,
             .grad_inputs = 0,
             .grad_outputs = 0});
}

Tensor cumsum(const Tensor& x, ScanAttrs attrs) {
  static const OpHandle op("Cumsum");
  return emit(op, {x}, attrs);
}
Tensor cumprod(const Tensor& x, ScanAttrs attrs) {
  static const OpHandle op("Cumprod");
  return emit(op, {x}, attrs);
}
Tensor cumulative_logsumexp(const Tensor& x, ScanAttrs attrs) {
  static const OpHandle op("CumulativeLogsumexp");
  return emit(op, {x}, attrs);
}
Tensor linear_recurrence(const Tensor& a, const Tensor& b, RecurrenceAttrs attrs) {
  static const OpHandle op("LinearRecurrence");
  return emit(op, {a, b}, attrs);
}
Tensor shift_by_one(const Tensor& x, RecurrenceAttrs attrs) {
  static const OpHandle op("Shift");
  return emit(op, {x}, attrs);
}

}  // namespace tandem
