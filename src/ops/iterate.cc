#include "ops/iterate.h"

#include "device/runtime.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

IterationFunctions g_functions{};

struct Part {
  DType dtype;
  Shape shape;
};

std::vector<Part> parts_of(const Ints& encoded) {
  std::vector<Part> parts;
  for (size_t at = 0; at < encoded.size();) {
    const auto dtype = static_cast<DType>(encoded[at]);
    const int64_t rank = encoded[at + 1];
    at += 2;
    if (rank < 0) {
      parts.push_back({dtype, Shape::unknown()});
      continue;
    }
    const auto n = static_cast<size_t>(rank);
    parts.push_back({dtype, Shape(std::span<const int64_t>(encoded.begin() + at, n))});
    at += n;
  }
  return parts;
}

// A component where there is no element: nothing of it is read.
Tensor nothing(const Part& part) {
  Shape shape = part.shape.has_rank() ? part.shape : Shape{0};
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) shape.set(i, 0);
  }
  const Tensor t = make_tensor(Runtime::get().cpu(), part.dtype, shape);
  if (part.dtype != DType::kString && t.impl()->bytes() > 0) {
    std::memset(t.impl()->data(), 0, t.impl()->bytes());
  }
  return t;
}

void infer_make(InferContext& c) { c.add_output(DType::kVariant, Shape{}); }

void infer_next(InferContext& c) {
  c.add_output(DType::kBool, Shape{});
  for (const Part& part : parts_of(c.attrs<IteratorNextAttrs>().components)) {
    c.add_output(part.dtype, part.shape);
  }
}

std::vector<Tensor> run_make(AttrsRef, std::span<const Tensor> inputs) {
  return {g_functions.make(inputs[0], inputs.subspan(1))};
}

std::vector<Tensor> run_next(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto& a = attrs.as<IteratorNextAttrs>();
  std::vector<Tensor> components;
  const bool more = g_functions.next(inputs[0], components);
  if (!more && a.must) throw OutOfRangeError("End of sequence [Op:IteratorGetNext]");
  const Tensor flag = make_host_copy(Runtime::get().cpu(), DType::kBool, Shape{}, &more);
  if (!more) {
    components.clear();
    for (const Part& part : parts_of(a.components)) components.push_back(nothing(part));
  }
  components.insert(components.begin(), flag);
  return components;
}

}  // namespace

void set_iteration_functions(IterationFunctions functions) { g_functions = functions; }

void register_iteration_ops(OpTable& table) {
  const std::vector<TypeVar> variants = {{'T', mask(DType::kVariant)}};
  table.add(
      {.name = "MakeIterator",
       .doc = "An iterator over a dataset.",
       .types = variants,
       .inputs = {{.name = "dataset"}, {.name = "values", .type = '*', .variadic = true}},
       .infer = infer_make,
       .differentiable = false,
       .dynamic = true,
       .effects = kOrdered});
  table.add({.name = "IteratorNext",
             .doc = "Whether there is another element, and its components.",
             .types = variants,
             .inputs = {{.name = "iterator"}},
             .outputs = {"outputs*"},
             .attrs = &attrs_type<IteratorNextAttrs>(),
             .infer = infer_next,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered | kMayFail});
  add_host_function("MakeIterator", run_make);
  add_host_function("IteratorNext", run_next);
}

}  // namespace tandem
