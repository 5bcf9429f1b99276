// LSTM and GRU over whole sequences, with Keras's gate order and weight layout. The
// forward ops return the gates for their gradient ops.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::RecurrentAttrs;

struct Sizes {
  int64_t batch = kUnknownDim, time = kUnknownDim, in = kUnknownDim, units = kUnknownDim;
};

int64_t dim_of(const Shape& s, int i) { return s.has_rank() ? s[i] : kUnknownDim; }

void check_shape(const InferContext& c, int i, const Shape& wanted) {
  if (c.dtype(i) == DType::kInvalid) return;
  if (!c.shape(i).compatible_with(wanted)) {
    c.fail(fmt::format("{} has shape {}, expected {}", c.op().input_def(i).name,
                       c.shape(i).debug_str(), wanted.debug_str()));
  }
}

Shape sequence_shape(bool time_major, const Sizes& s, int64_t last) {
  return time_major ? Shape{s.time, s.batch, last} : Shape{s.batch, s.time, last};
}
Shape mask_shape(bool time_major, const Sizes& s) {
  return time_major ? Shape{s.time, s.batch} : Shape{s.batch, s.time};
}

// Sizes from x, kernel and recurrent_kernel at inputs `at`, at + 1, at + 2.
Sizes sizes_of(const InferContext& c, int at, int64_t gates) {
  const Shape &x = c.shape(at), &kernel = c.shape(at + 1), &recurrent = c.shape(at + 2);
  c.rank(at, 3);
  c.rank(at + 1, 2);
  c.rank(at + 2, 2);
  const bool time_major = c.attrs<RecurrentAttrs>().time_major;
  Sizes s;
  s.batch = dim_of(x, time_major ? 1 : 0);
  s.time = dim_of(x, time_major ? 0 : 1);
  s.in = dim_of(x, 2);
  s.units = dim_of(recurrent, 0);
  if (s.units < 0 && dim_of(kernel, 1) >= 0) s.units = dim_of(kernel, 1) / gates;
  const int64_t width = s.units < 0 ? kUnknownDim : gates * s.units;
  check_shape(c, at + 1, {s.in, width});
  check_shape(c, at + 2, {s.units, width});
  return s;
}

// ---- LSTM ----
// inputs: x, kernel, recurrent_kernel, bias?, h0?, c0?, mask?

void infer_lstm(InferContext& c) {
  const bool time_major = c.attrs<RecurrentAttrs>().time_major;
  const Sizes s = sizes_of(c, 0, 4);
  const int64_t width = s.units < 0 ? kUnknownDim : 4 * s.units;
  check_shape(c, 3, {width});
  check_shape(c, 4, {s.batch, s.units});
  check_shape(c, 5, {s.batch, s.units});
  check_shape(c, 6, mask_shape(time_major, s));
  c.add_output(c.dtype(0), sequence_shape(time_major, s, s.units));
  c.add_output(c.dtype(0), {s.batch, s.units});
  c.add_output(c.dtype(0), {s.batch, s.units});
  c.add_output(c.dtype(0), sequence_shape(time_major, s, width));
  c.add_output(c.dtype(0), sequence_shape(time_major, s, s.units));
}

void grad_lstm(GradContext& c) {
  static const OpHandle op("LstmGrad");
  const Tensor& bias = c.input(3);
  const std::vector<Tensor> g =
      emit_all(op,
               {c.input(0), c.input(1), c.input(2), c.input(4), c.input(5), c.input(6),
                c.output(0), c.output(3), c.output(4), c.grad(0), c.grad(1), c.grad(2)},
               c.attrs<RecurrentAttrs>());
  for (int i = 0; i < 3; ++i) c.set(i, g[static_cast<size_t>(i)]);
  if (bias.defined()) c.set(3, g[3]);
  if (c.input(4).defined()) c.set(4, g[4]);
  if (c.input(5).defined()) c.set(5, g[5]);
}

// inputs: x, kernel, recurrent_kernel, h0?, c0?, mask?, sequence, gates, cells,
// dsequence, dh, dc
void infer_lstm_grad(InferContext& c) {
  const bool time_major = c.attrs<RecurrentAttrs>().time_major;
  const Sizes s = sizes_of(c, 0, 4);
  const int64_t width = s.units < 0 ? kUnknownDim : 4 * s.units;
  const Shape sequence = sequence_shape(time_major, s, s.units);
  check_shape(c, 3, {s.batch, s.units});
  check_shape(c, 4, {s.batch, s.units});
  check_shape(c, 5, mask_shape(time_major, s));
  check_shape(c, 6, sequence);
  check_shape(c, 7, sequence_shape(time_major, s, width));
  check_shape(c, 8, sequence);
  check_shape(c, 9, sequence);
  check_shape(c, 10, {s.batch, s.units});
  check_shape(c, 11, {s.batch, s.units});
  for (int i = 0; i < 3; ++i) c.add_output(c.dtype(0), c.shape(i));
  c.add_output(c.dtype(0), {width});
  c.add_output(c.dtype(0), {s.batch, s.units});
  c.add_output(c.dtype(0), {s.batch, s.units});
}

// ---- GRU ----
// inputs: x, kernel, recurrent_kernel, bias?, h0?, mask?

void infer_gru(InferContext& c) {
  const bool time_major = c.attrs<RecurrentAttrs>().time_major;
  const Sizes s = sizes_of(c, 0, 3);
  const int64_t units = s.units;
  check_shape(c, 3, {2, units < 0 ? kUnknownDim : 3 * units});
  check_shape(c, 4, {s.batch, units});
  check_shape(c, 5, mask_shape(time_major, s));
  c.add_output(c.dtype(0), sequence_shape(time_major, s, units));
  c.add_output(c.dtype(0), {s.batch, units});
  c.add_output(c.dtype(0),
               sequence_shape(time_major, s, units < 0 ? kUnknownDim : 4 * units));
}

void grad_gru(GradContext& c) {
  static const OpHandle op("GruGrad");
  const std::vector<Tensor> g =
      emit_all(op,
               {c.input(0), c.input(1), c.input(2), c.input(4), c.input(5), c.output(0),
                c.output(2), c.grad(0), c.grad(1)},
               c.attrs<RecurrentAttrs>());
  for (int i = 0; i < 3; ++i) c.set(i, g[static_cast<size_t>(i)]);
  if (c.input(3).defined()) c.set(3, g[3]);
  if (c.input(4).defined()) c.set(4, g[4]);
}

// inputs: x, kernel, recurrent_kernel, h0?, mask?, sequence, gates, dsequence, dh
void infer_gru_grad(InferContext& c) {
  const bool time_major = c.attrs<RecurrentAttrs>().time_major;
  const Sizes s = sizes_of(c, 0, 3);
  const int64_t units = s.units;
  check_shape(c, 3, {s.batch, units});
  check_shape(c, 4, mask_shape(time_major, s));
  check_shape(c, 5, sequence_shape(time_major, s, units));
  check_shape(c, 6, sequence_shape(time_major, s, units < 0 ? kUnknownDim : 4 * units));
  check_shape(c, 7, sequence_shape(time_major, s, units));
  check_shape(c, 8, {s.batch, units});
  for (int i = 0; i < 3; ++i) c.add_output(c.dtype(0), c.shape(i));
  c.add_output(c.dtype(0), {2, units < 0 ? kUnknownDim : 3 * units});
  c.add_output(c.dtype(0), {s.batch, units});
}

Cost recurrent_cost(const Signature& s) {
  const bool grad = s.op->name.ends_with("Grad");
  const Shape &x = s.in(0).shape, &kernel = s.in(1).shape;
  Cost cost = default_cost(s);
  cost.flops = 2.0 * static_cast<double>(x[0] * x[1]) * static_cast<double>(kernel[1]) *
               static_cast<double>(kernel[0] + s.in(2).shape[0]) * (grad ? 2 : 1);
  return cost;
}

OpDef recurrent(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kFloats}, {'M', mask(DType::kBool)}};
  def.attrs = &attrs_type<RecurrentAttrs>();
  def.cost = recurrent_cost;
  return def;
}
InputDef optional(const char* name) { return {.name = name, .optional = true}; }
InputDef mask_input() { return {.name = "mask", .type = 'M', .optional = true}; }

}  // namespace

void register_nn_recurrent_ops(OpTable& table) {
  OpDef def = recurrent("Lstm", "A long short-term memory layer over a whole sequence.");
  def.inputs = {{.name = "x"},    {.name = "kernel"}, {.name = "recurrent_kernel"},
                optional("bias"), optional("h0"),     optional("c0"),
                mask_input()};
  def.outputs = {"sequence", "h", "c", "gates", "cells"};
  def.infer = infer_lstm;
  def.gradient = grad_lstm;
  def.grad_inputs = 0b1110111;
  def.grad_outputs = 0b11001;
  table.add(def);

  def = recurrent("LstmGrad", "The gradient of Lstm.");
  def.inputs = {{.name = "x"},
                {.name = "kernel"},
                {.name = "recurrent_kernel"},
                optional("h0"),
                optional("c0"),
                mask_input(),
                {.name = "sequence"},
                {.name = "gates"},
                {.name = "cells"},
                {.name = "sequence_backprop"},
                {.name = "h_backprop"},
                {.name = "c_backprop"}};
  def.outputs = {"x_backprop",    "kernel_backprop", "recurrent_kernel_backprop",
                 "bias_backprop", "h0_backprop",     "c0_backprop"};
  def.infer = infer_lstm_grad;
  table.add(def);

  def = recurrent("Gru", "A gated recurrent unit (reset after) over a whole sequence.");
  def.inputs = {{.name = "x"},    {.name = "kernel"}, {.name = "recurrent_kernel"},
                optional("bias"), optional("h0"),     mask_input()};
  def.outputs = {"sequence", "h", "gates"};
  def.infer = infer_gru;
  def.gradient = grad_gru;
  def.grad_inputs = 0b110111;
  def.grad_outputs = 0b101;
  table.add(def);

  def = recurrent("GruGrad", "The gradient of Gru.");
  def.inputs = {{.name = "x"},
                {.name = "kernel"},
                {.name = "recurrent_kernel"},
                optional("h0"),
                mask_input(),
                {.name = "sequence"},
                {.name = "gates"},
                {.name = "sequence_backprop"},
                {.name = "h_backprop"}};
  def.outputs = {"x_backprop", "kernel_backprop", "recurrent_kernel_backprop",
                 "bias_backprop", "h0_backprop"};
  def.infer = infer_gru_grad;
  table.add(def);
}

namespace nn {

LstmResult lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel,
                const Tensor& bias, const Tensor& h0, const Tensor& c0,
                const Tensor& mask, RecurrentAttrs attrs) {
  static const OpHandle op("Lstm");
  std::vector<Tensor> out =
      emit_all(op, {x, kernel, recurrent_kernel, bias, h0, c0, mask}, attrs);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

GruResult gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel,
              const Tensor& bias, const Tensor& h0, const Tensor& mask,
              RecurrentAttrs attrs) {
  static const OpHandle op("Gru");
  std::vector<Tensor> out =
      emit_all(op, {x, kernel, recurrent_kernel, bias, h0, mask}, attrs);
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace nn

}  // namespace tandem
