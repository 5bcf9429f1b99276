// Sums that loops keep of what a turn reads by index: the gradient of `x[i]` is zeros but
// for one row, and adding it would make every turn cost as much as all of x. It is added
// to the rows it is about. Where an index occurs twice in one turn, its terms are added
// to the sum one by one instead of to each other first, so last bits may change; and a
// zero of the sum that nothing is added to keeps its sign.
#include <algorithm>

#include "graph/passes/simplify.h"
#include "ops/tensor_list.h"
#include "tandem/ops/indexing.h"

namespace tandem {

namespace {

// Rows of updates that are added to rows of zeros: [outer, count, inner] to the places
// `indices` of [outer, size, inner].
struct RowSum {
  ValueRef updates;
  ValueRef indices;
  int64_t outer = 1;
  int64_t size = 0;
  int64_t inner = 1;
};

int64_t product(const Shape& shape, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; ++i) n *= shape[i];
  return n;
}

bool find_row_sum(const Graph& graph, ValueRef v, RowSum& sum) {
  while (graph.node(v.node).is_op("Reshape")) v = graph.node(v.node).inputs[0];
  const Node& n = graph.node(v.node);
  const bool gather = n.is_op("GatherV2Grad");
  if (!gather && !n.is_op("IndexedSlicesToDense")) return false;
  const Shape& shape = graph.info(v).shape;
  sum.updates = n.inputs[0];
  sum.indices = n.inputs[1];
  if (!shape.is_known() || !graph.info(sum.indices).shape.is_known()) return false;
  int axis = 0;
  if (gather) {
    const auto& attrs = n.attrs.ref().as<GatherAttrs>();
    if (attrs.batch_dims != 0) return false;
    axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + shape.rank() : attrs.axis);
  }
  sum.outer = product(shape, 0, axis);
  sum.size = shape[axis];
  sum.inner = product(shape, axis + 1, shape.rank());
  return true;
}

// The places of the updates in [outer, size, inner]: block and index, so that an index
// that is out of range is found.
ValueRef places(Rewrite& r, const RowSum& sum, int64_t count) {
  if (sum.outer == 1) return r.reshaped(sum.indices, {count, 1});
  const ValueRef at = r.reshaped(sum.indices, {1, count});
  std::vector<int64_t> blocks;
  for (int64_t i = 0; i < sum.outer * count; ++i) blocks.push_back(i / count);
  const DType dtype = r.to.info(sum.indices).dtype;
  const ValueRef block =
      r.constant(host_int_tensor(dtype, {sum.outer * count}, blocks), "/blocks");
  const ValueRef all =
      r.reshaped(r.broadcast(at, {sum.outer, count}), {sum.outer * count});
  return r.emit("Pack", {block, all}, attrs_ref(AxisAttrs{.axis = 1}));
}

ValueRef add_rows(Rewrite& r) {
  constexpr int64_t kMostPlaces = 1 << 16;
  for (size_t k : {0u, 1u}) {
    const ValueRef total = r.inputs[1 - k];
    if (r.maker(1 - k).kind != Node::Kind::kParameter) continue;
    RowSum sum;
    if (!same_known(r.to.info(total).shape, r.out().shape)) continue;
    if (!find_row_sum(r.to, r.inputs[k], sum)) continue;
    const int64_t count = r.to.info(sum.indices).shape.num_elements();
    if (sum.outer > 1 && sum.outer > kMostPlaces / std::max<int64_t>(count, 1)) continue;
    const Shape rows = sum.outer == 1 ? Shape{sum.size, sum.inner}
                                      : Shape{sum.outer, sum.size, sum.inner};
    const ValueRef made = r.emit(
        "TensorScatterAdd", {r.reshaped(total, rows), places(r, sum, count),
                             r.reshaped(sum.updates, {sum.outer * count, sum.inner})});
    return r.reshaped(made, r.out().shape);
  }
  return {};
}

// One element that is added to a list.
struct Element {
  ValueRef index;
  ValueRef value;
};

// The elements of a list that is zeros but for them.
bool find_elements(const Graph& graph, ValueRef list, std::vector<Element>& elements) {
  const Node& n = graph.node(list.node);
  if (n.is_op("TensorListZerosLike")) return true;
  if (n.is_op("TensorListSetItem")) {
    if (!graph.node(n.inputs[0].node).is_op("TensorListZerosLike")) return false;
    elements.push_back({n.inputs[1], n.inputs[2]});
    return true;
  }
  if (!n.is_op("TensorListScatterIntoExistingList")) return false;
  const auto& attrs = n.attrs.ref().as<TensorListScatterAttrs>();
  if (!attrs.accumulate || !find_elements(graph, n.inputs[0], elements)) return false;
  elements.push_back({n.inputs[2], n.inputs[1]});
  return true;
}

ValueRef add_elements(Rewrite& r) {
  for (size_t k : {1u, 0u}) {
    std::vector<Element> elements;
    if (!find_elements(r.to, r.inputs[k], elements) || elements.empty()) continue;
    ValueRef total = r.inputs[1 - k];
    for (const Element& e : elements) {
      const ValueInfo& value = r.to.info(e.value);
      const bool rows = r.to.info(e.index).shape.rank() == 1;
      if (value.dtype == DType::kVariant || !value.shape.is_known()) return {};
      Shape row = rows ? value.shape.slice(1, value.shape.rank()) : value.shape;
      Shape shape = row;
      shape.insert(0, 1);
      if (rows && !(value.shape == shape)) return {};
      const TensorListScatterAttrs attrs{row, true};
      total = r.emit("TensorListScatterIntoExistingList",
                     {total, r.reshaped(e.value, shape), r.reshaped(e.index, {1})},
                     attrs_ref(attrs));
    }
    return total;
  }
  return {};
}

}  // namespace

void add_sum_rules(Rules& rules) {
  rules["AddV2"].push_back(add_rows);
  rules["TensorListAdd"] = {add_elements};
}

}  // namespace tandem
