#include "ops/iterate.h"

#include <algorithm>

#include <fmt/format.h>

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

// The attribute as it was written; a loaded graph may hold anything.
void check_parts(const InferContext& c, const Ints& encoded) {
  for (size_t at = 0; at < encoded.size();) {
    const int64_t dtype = encoded[at];
    const int64_t rank = at + 1 < encoded.size() ? encoded[at + 1] : kMaxRank + 1;
    const auto left = static_cast<int64_t>(encoded.size() - at) - 2;
    if (dtype <= 0 || dtype >= kDTypeCount ||
        dtype == static_cast<int>(DType::kResource) || rank < -1 || rank > kMaxRank ||
        rank > left) {
      c.fail(fmt::format("components are not as expected from position {} on", at));
    }
    at += 2 + static_cast<size_t>(std::max<int64_t>(rank, 0));
  }
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
  check_parts(c, c.attrs<IteratorNextAttrs>().components);
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
  const std::vector<Part> parts = parts_of(a.components);
  if (!more) {
    components.clear();
    for (const Part& part : parts) components.push_back(nothing(part));
  }
  if (components.size() != parts.size()) {
    throw InvalidArgumentError(
        fmt::format("IteratorNext: an element has {} components where {} are stated",
                    components.size(), parts.size()));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& t = components[i];
    if (t.dtype() == parts[i].dtype && parts[i].shape.compatible_with(t.shape()))
      continue;
    throw InvalidArgumentError(fmt::format(
        "IteratorNext: component {} is {} of shape {} where {} of shape {} is stated", i,
        dtype_name(t.dtype()), t.shape().str(), dtype_name(parts[i].dtype),
        parts[i].shape.str()));
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
