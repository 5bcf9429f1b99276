// What the list ops do, on tensors of any device.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "device/runtime.h"
#include "op/host_function.h"
#include "ops/tensor_list.h"
#include "tandem/ops.h"
#include "tensor/tensor_impl.h"
#include "tensor/tensor_list.h"

namespace tandem {

namespace {

using Inputs = std::span<const Tensor>;
using Outputs = std::vector<Tensor>;

Shape given_shape(Inputs in, size_t i) {
  if (i >= in.size() || !in[i].defined()) return Shape::unknown();
  const Ints dims = host_ints(in[i], "element_shape");
  if (in[i].rank() == 0) return Shape::unknown();  // -1: nothing is known
  return Shape(std::span<const int64_t>(dims.data(), dims.size()));
}

std::vector<int64_t> all_ints(const Tensor& t) {
  const Tensor host = t.to_host();
  const PartialValue v = read_ints(t.dtype(), host.host_data(), t.num_elements());
  return {v.begin(), v.end()};
}

// A list of lists in which nothing is set may become a list of anything: what loops
// collect their intermediates in begins as one.
bool is_untyped(const TensorList& list) {
  if (list.element_dtype() != DType::kVariant) return false;
  const std::vector<Tensor> items = list.items();
  return std::none_of(items.begin(), items.end(),
                      [](const Tensor& t) { return t.defined(); });
}

void check_dtype(const char* op, const TensorList& list, DType dtype) {
  if (list.element_dtype() == dtype || is_untyped(list)) return;
  throw InvalidArgumentError(
      fmt::format("{}: Invalid data types; op elements {} but list elements {}. Cast "
                  "them.",
                  op, dtype_name(dtype), dtype_name(list.element_dtype())));
}
void check_item(const char* op, const TensorList& list, const Tensor& item) {
  check_dtype(op, list, item.dtype());
  if (list.element_shape().compatible_with(item.shape())) return;
  throw InvalidArgumentError(fmt::format(
      "{}: Tried to append a tensor with incompatible shape to a list. Op element shape: "
      "{} list shape: {}",
      op, item.shape().debug_str(), list.element_shape().debug_str()));
}
void check_index(const char* op, const char* doing, const TensorList& list, int64_t i) {
  if (i >= 0 && i < list.size()) return;
  throw InvalidArgumentError(
      fmt::format("{}: Trying to {} element {} in a list with {} elements.", op, doing, i,
                  list.size()));
}

// More than a list can hold: an index that is no index. `most`: of elements that are
// there.
void check_length(const char* op, int64_t length, int64_t most = int64_t{1} << 27) {
  if (length <= most) return;
  throw ResourceExhaustedError(
      fmt::format("{}: a list of {} elements is asked for; at most {} are supported", op,
                  length, most));
}

// Elements that are not set read as zeros, in the shape that is known of all elements.
Tensor element_or_zeros(const TensorList& list, const Tensor& item, Shape shape) {
  if (item.defined()) return item;
  if (list.element_dtype() == DType::kVariant) {
    throw InvalidArgumentError("Trying to read a list of lists where none was set.");
  }
  shape = shape.merged_with(list.element_shape());
  if (!shape.is_known()) {
    for (const Tensor& other : list.items()) {
      if (other.defined()) shape = shape.merged_with(other.shape());
    }
  }
  if (!shape.is_known()) {
    throw InvalidArgumentError(fmt::format(
        "Trying to read an uninitialized tensor but element_shape is not fully defined: "
        "{}. Give the list an element_shape, or write all elements.",
        shape.debug_str()));
  }
  return zeros(shape, list.element_dtype());
}

std::vector<Tensor> all_elements(const TensorList& list, const Shape& shape) {
  std::vector<Tensor> items = list.items();
  Tensor zero;
  for (Tensor& t : items) {
    if (t.defined()) continue;
    if (!zero.defined()) zero = element_or_zeros(list, t, shape);
    t = zero;
  }
  return items;
}

Outputs run_empty(AttrsRef attrs, Inputs) {
  const auto& a = attrs.as<TensorListAttrs>();
  return {make_list_tensor(TensorList(a.element_dtype, a.known_shape, 0))};
}
Outputs run_reserve(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const int64_t n = host_int(in[0], "num_elements");
  if (n < 0) {
    throw InvalidArgumentError(fmt::format(
        "TensorListReserve: The num_elements to reserve must be a non negative number, "
        "but got {}",
        n));
  }
  check_length("TensorListReserve", n);
  return {make_list_tensor(TensorList(a.element_dtype, a.known_shape, n))};
}
// An absent item (the intermediate of a branch that did not run) takes its place unset.
Outputs run_push(AttrsRef, Inputs in) {
  const TensorList& list = list_of(in[0]);
  if (!in[1].defined()) return {make_list_tensor(list.push_back(in[1]))};
  check_item("TensorListPushBack", list, in[1]);
  return {make_list_tensor(list.with_element_dtype(in[1].dtype()).push_back(in[1]))};
}
Outputs run_pop(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const TensorList& list = list_of(in[0]);
  check_dtype("TensorListPopBack", list, a.element_dtype);
  if (list.size() == 0) {
    throw InvalidArgumentError("TensorListPopBack: Trying to pop from an empty list.");
  }
  const Shape shape =
      a.known_shape.merged_with(given_shape(in, 1)).merged_with(list.element_shape());
  Tensor item = list.at(list.size() - 1);
  if (!item.defined() && shape.is_known() && a.element_dtype != DType::kVariant) {
    item = zeros(shape, a.element_dtype);
  }
  return {make_list_tensor(list.pop_back()), std::move(item)};
}
Outputs run_set(AttrsRef attrs, Inputs in) {
  const TensorList& list = list_of(in[0]);
  const int64_t i = host_int(in[1], "index");
  check_item("TensorListSetItem", list, in[2]);
  if (attrs.as<TensorListSetAttrs>().resize_if_index_out_of_bounds && i >= list.size()) {
    check_length("TensorListSetItem", i);
    if (i == list.size()) return {make_list_tensor(list.push_back(in[2]))};
    return {make_list_tensor(list.resize(i + 1).set(i, in[2]))};
  }
  check_index("TensorListSetItem", "modify", list, i);
  return {make_list_tensor(list.set(i, in[2]))};
}
Outputs run_get(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const TensorList& list = list_of(in[0]);
  const int64_t i = host_int(in[1], "index");
  check_dtype("TensorListGetItem", list, a.element_dtype);
  check_index("TensorListGetItem", "access", list, i);
  const Shape shape = a.known_shape.merged_with(given_shape(in, 2));
  return {element_or_zeros(list, list.at(i), shape)};
}
Outputs run_length(AttrsRef, Inputs in) {
  return {constant(static_cast<int32_t>(list_of(in[0]).size()))};
}
// The elements of a list that lie in rows of the host; undefined otherwise.
Tensor stacked_rows(const TensorList& list, DType dtype, const Shape& shape) {
  const Tensor first = list.size() ? list.at(0) : Tensor();
  if (!first.defined() || !shape.compatible_with(first.shape())) return {};
  if (!list.row(0, dtype, first.shape())) return {};
  Shape all = first.shape();
  all.insert(0, list.size());
  Tensor made = make_tensor(Runtime::get().cpu(), dtype, all);
  return list.copy_rows(dtype, first.shape(), made.impl()->data()) ? made : Tensor();
}
Outputs run_stack(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const TensorList& list = list_of(in[0]);
  check_dtype("TensorListStack", list, a.element_dtype);
  const Shape shape = a.known_shape.merged_with(given_shape(in, 1));
  if (const Tensor rows = stacked_rows(list, a.element_dtype, shape); rows.defined()) {
    return {identity(rows)};  // where ops run now
  }
  if (list.size() > 0) return {stack(all_elements(list, shape), {.axis = 0})};
  Shape none = shape.merged_with(list.element_shape());
  if (!none.is_known()) {
    throw InvalidArgumentError(fmt::format(
        "TensorListStack: Tried to stack elements of an empty list with "
        "non-fully-defined element_shape: {}. Give the list an element_shape.",
        none.debug_str()));
  }
  none.insert(0, 0);
  return {zeros(none, a.element_dtype)};
}
Outputs run_from_tensor(AttrsRef, Inputs in) {
  if (in[0].num_elements() > 0) {
    check_length("TensorListFromTensor", in[0].dim(0),
                 std::numeric_limits<int32_t>::max());
  } else {
    check_length("TensorListFromTensor", in[0].dim(0));
  }
  const Tensor t = identity(in[0]);  // where ops run now
  if (t.impl()->device == &Runtime::get().cpu() && t.dtype() != DType::kString &&
      t.dtype() != DType::kVariant) {
    t.wait();
    return {make_list_tensor(TensorList(t))};
  }
  return {make_list_tensor(TensorList(t.dtype(), t.shape().slice(1, t.rank()),
                                      t.dim(0) ? unstack(t) : std::vector<Tensor>{}))};
}
Outputs run_concat(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const TensorList& list = list_of(in[0]);
  check_dtype("TensorListConcat", list, a.element_dtype);
  const Shape shape = a.known_shape.merged_with(given_shape(in, 1));
  if (list.size() == 0) {
    Shape none = shape.merged_with(list.element_shape());
    if (none.has_rank() && none.rank() > 0) none.set(0, 0);
    if (!none.is_known() || none.rank() == 0) {
      throw InvalidArgumentError(
          "TensorListConcat: All except the first dimension must be fully defined when "
          "concating an empty tensor list. Give the list an element_shape.");
    }
    return {zeros(none, a.element_dtype), constant(std::vector<int64_t>{})};
  }
  const std::vector<Tensor> items = all_elements(list, shape);
  std::vector<int64_t> lengths;
  for (const Tensor& t : items) {
    if (t.rank() == 0) {
      throw InvalidArgumentError(
          "TensorListConcat: Concat saw a scalar shape but requires at least vectors. "
          "Stack the list instead.");
    }
    lengths.push_back(t.dim(0));
  }
  return {concat(items, {.axis = 0}), constant(lengths)};
}
Outputs run_split(AttrsRef, Inputs in) {
  const Tensor& t = in[0];
  int64_t sum = 0;
  Ints sizes;
  for (int64_t n : all_ints(in[1])) {
    if (n < 0) {
      throw InvalidArgumentError(fmt::format(
          "TensorListSplit: Invalid value in lengths: {}. Lengths are not negative.", n));
    }
    if (n > t.dim(0) - sum) {
      throw InvalidArgumentError(fmt::format(
          "TensorListSplit: Attempted to slice {} rows at {} from tensor with "
          "length {}. The lengths must add up to it.",
          n, sum, t.dim(0)));
    }
    sizes.push_back(n);
    sum += n;
  }
  if (sum != t.dim(0)) {
    throw InvalidArgumentError(fmt::format(
        "TensorListSplit: the lengths add up to {} where the tensor has length {}. They "
        "must add up to it.",
        sum, t.dim(0)));
  }
  check_length("TensorListSplit", static_cast<int64_t>(sizes.size()));
  Shape element = t.shape();
  element.set(0, kUnknownDim);
  return {make_list_tensor(TensorList(
      t.dtype(), element,
      sizes.size() ? split(t, SplitVAttrs{.sizes = sizes}) : std::vector<Tensor>{}))};
}
Outputs run_gather(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListAttrs>();
  const TensorList& list = list_of(in[0]);
  check_dtype("TensorListGather", list, a.element_dtype);
  const Shape shape = a.known_shape.merged_with(given_shape(in, 2));
  std::vector<Tensor> rows;
  for (int64_t i : all_ints(in[1])) {
    check_index("TensorListGather", "gather", list, i);
    rows.push_back(element_or_zeros(list, list.at(i), shape));
  }
  if (!rows.empty()) return {stack(rows, {.axis = 0})};
  Shape none = shape.merged_with(list.element_shape());
  if (!none.is_known()) {
    throw InvalidArgumentError(
        fmt::format("TensorListGather: Tried to gather 0-elements from a list with "
                    "non-fully-defined shape: {}. Give the list an element_shape.",
                    none.debug_str()));
  }
  none.insert(0, 0);
  return {zeros(none, a.element_dtype)};
}
TensorList scatter(TensorList list, const Tensor& rows, const Tensor& indices,
                   bool accumulate, bool grow) {
  const std::vector<int64_t> at = all_ints(indices);
  if (static_cast<int64_t>(at.size()) != rows.dim(0)) {
    throw InvalidArgumentError(
        fmt::format("TensorListScatter: Specified {} indices for a tensor with {} rows. "
                    "Give one for each.",
                    at.size(), rows.dim(0)));
  }
  if (at.empty()) return list;
  check_dtype("TensorListScatter", list, rows.dtype());
  const std::vector<Tensor> items = unstack(rows);
  for (size_t k = 0; k < at.size(); ++k) {
    if (grow && at[k] >= list.size()) {
      check_length("TensorListScatter", at[k]);
      list = list.resize(at[k] + 1);
    }
    check_index("TensorListScatter", "scatter to", list, at[k]);
    const Tensor before = accumulate ? list.at(at[k]) : Tensor();
    list = list.set(at[k], before.defined() ? before + items[k] : items[k]);
  }
  return list;
}
Outputs run_scatter(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListScatterAttrs>();
  const TensorList empty(in[0].dtype(), a.known_shape, 0);
  return {make_list_tensor(scatter(empty, in[0], in[1], a.accumulate, true))};
}
Outputs run_scatter_into(AttrsRef attrs, Inputs in) {
  const auto& a = attrs.as<TensorListScatterAttrs>();
  return {make_list_tensor(
      scatter(list_of(in[0]), in[1], in[2], a.accumulate, !a.accumulate))};
}
Outputs run_resize(AttrsRef, Inputs in) {
  const int64_t n = host_int(in[1], "size");
  if (n < 0) {
    throw InvalidArgumentError(
        fmt::format("TensorListResize: TensorListSlice expects size to be non-negative. "
                    "Got: {}",
                    n));
  }
  check_length("TensorListResize", n);
  const TensorList& list = list_of(in[0]);
  return {n == list.size() ? in[0] : make_list_tensor(list.resize(n))};
}

Tensor add_lists(const Tensor& x, const Tensor& y);
Tensor add_elements(const Tensor& x, const Tensor& y) {
  if (!x.defined()) return y;
  if (!y.defined()) return x;
  return x.dtype() == DType::kVariant ? add_lists(x, y) : x + y;
}
Tensor add_lists(const Tensor& x, const Tensor& y) {
  const TensorList &a = list_of(x), &b = list_of(y);
  if (a.size() != b.size()) {
    throw InvalidArgumentError(
        fmt::format("TensorListAdd: Trying to add two lists of tensors with different "
                    "lengths. One is {} and the other is {}",
                    a.size(), b.size()));
  }
  if (a.size() == 0) return a.element_dtype() == DType::kVariant ? y : x;
  check_dtype("TensorListAdd", a, b.element_dtype());
  TensorList sum = a;
  const std::vector<Tensor> mine = a.items(), other = b.items();
  for (size_t i = 0; i < other.size(); ++i) {
    if (other[i].defined()) {
      sum = sum.set(static_cast<int64_t>(i), add_elements(mine[i], other[i]));
    }
  }
  return make_list_tensor(std::move(sum));
}
Outputs run_add(AttrsRef, Inputs in) { return {add_lists(in[0], in[1])}; }

Tensor zeros_of(const Tensor& x) {
  if (!x.defined()) return {};
  if (x.dtype() != DType::kVariant) return zeros_like(x);
  const TensorList& list = list_of(x);
  if (list.element_shape().is_known() && list.element_dtype() != DType::kVariant) {
    return make_list_tensor(
        TensorList(list.element_dtype(), list.element_shape(), list.size()));
  }
  const Tensor first = list.size() ? list.at(0) : Tensor();
  if (first.defined() && list.row(0, list.element_dtype(), first.shape())) {
    return make_list_tensor(TensorList(list.element_dtype(), first.shape(), list.size()));
  }
  std::vector<Tensor> items = list.items();
  for (Tensor& t : items) t = zeros_of(t);
  return make_list_tensor(
      TensorList(list.element_dtype(), list.element_shape(), std::move(items)));
}
Outputs run_zeros_like(AttrsRef, Inputs in) { return {zeros_of(in[0])}; }

}  // namespace

void register_tensor_list_functions() {
  add_host_function("EmptyTensorList", run_empty);
  add_host_function("TensorListReserve", run_reserve);
  add_host_function("TensorListPushBack", run_push);
  add_host_function("TensorListPopBack", run_pop);
  add_host_function("TensorListSetItem", run_set);
  add_host_function("TensorListGetItem", run_get);
  add_host_function("TensorListLength", run_length);
  add_host_function("TensorListStack", run_stack);
  add_host_function("TensorListFromTensor", run_from_tensor);
  add_host_function("TensorListConcat", run_concat);
  add_host_function("TensorListSplit", run_split);
  add_host_function("TensorListGather", run_gather);
  add_host_function("TensorListScatter", run_scatter);
  add_host_function("TensorListScatterIntoExistingList", run_scatter_into);
  add_host_function("TensorListResize", run_resize);
  add_host_function("TensorListAdd", run_add);
  add_host_function("TensorListZerosLike", run_zeros_like);
}

}  // namespace tandem
