#include "kernels/cuda/cudnn_attention_graph.h"

#include "kernels/cuda/cudnn_operations.h"

namespace tandem::cuda {

namespace {

using Sizes = std::vector<int64_t>;

/// The graph that is being made, and what its tensors look like.
class Builder {
 public:
  explicit Builder(const AttentionCase& c)
      : c_(c), a_(c.shape), type_(dnn_type(c.dtype)) {}

  /// [batch, heads, time, size] as the op has it in memory.
  const DnnDescriptor& operand(int64_t id, int64_t heads, int64_t time, int64_t size) {
    return graph.tensor({.id = id,
                         .type = type_,
                         .sizes = {a_.batch, heads, time, size},
                         .strides = strides(heads, time, size)});
  }
  /// The same with the last two dimensions exchanged.
  const DnnDescriptor& transposed(int64_t id, int64_t heads, int64_t time, int64_t size) {
    const Sizes s = strides(heads, time, size);
    return graph.tensor({.id = id,
                         .type = type_,
                         .sizes = {a_.batch, heads, size, time},
                         .strides = {s[0], s[1], s[3], s[2]}});
  }
  /// Per query, in float32.
  const DnnDescriptor& per_query(int64_t id) {
    return graph.tensor({.id = id,
                         .sizes = {a_.batch, a_.heads, a_.queries, 1},
                         .strides = {a_.heads * a_.queries, a_.queries, 1, 1}});
  }
  const DnnDescriptor& number(int64_t id) {
    return graph.tensor(
        {.id = id, .sizes = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .by_value = true});
  }
  const DnnDescriptor& inside(const Sizes& sizes, const Sizes& strides,
                              cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph.tensor({.id = next_++,
                         .type = type,
                         .sizes = sizes,
                         .strides = strides,
                         .inside = true});
  }
  const DnnDescriptor& scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const int64_t n = a_.queries * a_.keys;
    return inside({a_.batch, a_.heads, a_.queries, a_.keys},
                  {a_.heads * n, n, a_.keys, 1}, type);
  }
  const DnnDescriptor& scores_transposed() {
    const int64_t n = a_.queries * a_.keys;
    return inside({a_.batch, a_.heads, a_.keys, a_.queries},
                  {a_.heads * n, n, 1, a_.keys}, type_);
  }
  const DnnDescriptor& inside_per_query() {
    return inside({a_.batch, a_.heads, a_.queries, 1},
                  {a_.heads * a_.queries, a_.queries, 1, 1});
  }

  const DnnDescriptor& apply(cudnnPointwiseMode_t mode, const DnnDescriptor& x,
                             const DnnDescriptor& b) {
    const DnnDescriptor& y = scores();
    add_pointwise(graph, {.mode = mode, .x = &x, .b = &b}, y);
    return y;
  }
  const DnnDescriptor& exponential(const DnnDescriptor& x) {
    const DnnDescriptor& y = scores();
    add_pointwise(graph, {.mode = CUDNN_POINTWISE_EXP, .x = &x}, y);
    return y;
  }
  /// Hides keys that come after their query.
  const DnnDescriptor& causal(const DnnDescriptor& x) {
    if (!c_.causal) return x;
    const auto index = [&](int64_t axis) -> const DnnDescriptor& {
      const DnnDescriptor& y = scores(CUDNN_DATA_INT32);
      add_pointwise(graph,
                    {.mode = CUDNN_POINTWISE_GEN_INDEX,
                     .x = &x,
                     .compute = CUDNN_DATA_INT32,
                     .axis = axis},
                    y);
      return y;
    };
    const DnnDescriptor &query = index(2), &key = index(3);
    const DnnDescriptor& seen = scores(CUDNN_DATA_BOOLEAN);
    add_pointwise(graph,
                  {.mode = CUDNN_POINTWISE_CMP_GE,
                   .x = &query,
                   .b = &key,
                   .compute = CUDNN_DATA_BOOLEAN},
                  seen);
    const DnnDescriptor& y = scores();
    add_pointwise(graph,
                  {.mode = CUDNN_POINTWISE_BINARY_SELECT,
                   .x = &x,
                   .b = &number(kAttentionHidden),
                   .condition = &seen},
                  y);
    return y;
  }
  cudnnDataType_t type() const { return type_; }

  DnnGraph graph;

 private:
  Sizes strides(int64_t heads, int64_t time, int64_t size) const {
    if (c_.heads_first) return {heads * time * size, time * size, size, 1};
    return {time * heads * size, size, heads * size, 1};
  }

  const AttentionCase& c_;
  const nn::AttentionShape& a_;
  const cudnnDataType_t type_;
  int64_t next_ = 100;  // names of what is inside
};

}  // namespace

DnnGraph attention_graph(const AttentionCase& c) {
  const nn::AttentionShape& a = c.shape;
  Builder b(c);
  const DnnDescriptor& q = b.operand(kAttentionQuery, a.heads, a.queries, a.size);
  const DnnDescriptor& k = b.transposed(kAttentionKey, a.key_heads, a.keys, a.size);
  const DnnDescriptor& v = b.operand(kAttentionValue, a.key_heads, a.keys, a.value_size);
  const DnnDescriptor& products = b.scores();
  add_matmul(b.graph, q, k, products);
  const DnnDescriptor& s =
      b.causal(b.apply(CUDNN_POINTWISE_MUL, products, b.number(kAttentionScale)));
  const DnnDescriptor& top = b.inside_per_query();
  add_reduction(b.graph, CUDNN_REDUCE_TENSOR_MAX, s, top);
  const DnnDescriptor& e = b.exponential(b.apply(CUDNN_POINTWISE_SUB, s, top));
  const DnnDescriptor& sum = b.inside_per_query();
  add_reduction(b.graph, CUDNN_REDUCE_TENSOR_ADD, e, sum);
  const DnnDescriptor& log = b.inside_per_query();
  add_pointwise(b.graph, {.mode = CUDNN_POINTWISE_LOG, .x = &sum}, log);
  add_pointwise(b.graph, {.mode = CUDNN_POINTWISE_ADD, .x = &top, .b = &log},
                b.per_query(kAttentionLogSums));
  const DnnDescriptor& p = b.scores(b.type());
  add_pointwise(b.graph, {.mode = CUDNN_POINTWISE_DIV, .x = &e, .b = &sum}, p);
  add_matmul(b.graph, p, v,
             b.operand(kAttentionOutput, a.heads, a.queries, a.value_size));
  return std::move(b.graph);
}

DnnGraph attention_grad_graph(const AttentionCase& c) {
  const nn::AttentionShape& a = c.shape;
  Builder b(c);
  const DnnDescriptor& q = b.operand(kAttentionQuery, a.heads, a.queries, a.size);
  const DnnDescriptor& k = b.transposed(kAttentionKey, a.key_heads, a.keys, a.size);
  const DnnDescriptor& v =
      b.transposed(kAttentionValue, a.key_heads, a.keys, a.value_size);
  const DnnDescriptor& o = b.operand(kAttentionOutput, a.heads, a.queries, a.value_size);
  const DnnDescriptor& grad = b.operand(kAttentionGrad, a.heads, a.queries, a.value_size);
  const DnnDescriptor& scale = b.number(kAttentionScale);

  // Sums of output × gradient.
  const DnnDescriptor& products = b.inside(
      {a.batch, a.heads, a.queries, a.value_size},
      {a.heads * a.queries * a.value_size, a.queries * a.value_size, a.value_size, 1});
  add_pointwise(b.graph, {.mode = CUDNN_POINTWISE_MUL, .x = &grad, .b = &o}, products);
  const DnnDescriptor& row = b.inside_per_query();
  add_reduction(b.graph, CUDNN_REDUCE_TENSOR_ADD, products, row);
  const DnnDescriptor& sums = b.per_query(kAttentionSums);
  add_pointwise(b.graph,
                {.mode = CUDNN_POINTWISE_MUL, .x = &row, .b = &b.number(kAttentionOne)},
                sums);

  // The probabilities once more.
  const DnnDescriptor& again = b.scores();
  add_matmul(b.graph, q, k, again);
  const DnnDescriptor& p = b.exponential(
      b.causal(b.apply(CUDNN_POINTWISE_SUB, b.apply(CUDNN_POINTWISE_MUL, again, scale),
                       b.per_query(kAttentionLogSums))));
  // Key heads that several query heads share get the sum of theirs.
  const bool shared = a.heads != a.key_heads;
  const auto by_key = [&](const DnnDescriptor& x, const DnnDescriptor& y, int64_t size,
                          int64_t id) {
    const DnnDescriptor& turned = b.scores_transposed();
    add_reshape(b.graph, x, turned);
    const DnnDescriptor& result = b.operand(id, a.key_heads, a.keys, size);
    if (!shared) return add_matmul(b.graph, turned, y, result);
    const DnnDescriptor& all =
        b.inside({a.batch, a.heads, a.keys, size},
                 {a.heads * a.keys * size, a.keys * size, size, 1}, b.type());
    add_matmul(b.graph, turned, y, all);
    add_reduction(b.graph, CUDNN_REDUCE_TENSOR_ADD, all, result);
  };
  by_key(p, grad, a.value_size, kAttentionByValue);

  const DnnDescriptor& by_p = b.scores();
  add_matmul(b.graph, grad, v, by_p);
  const DnnDescriptor& by_s = b.apply(
      CUDNN_POINTWISE_MUL,
      b.apply(CUDNN_POINTWISE_MUL, b.apply(CUDNN_POINTWISE_SUB, by_p, sums), p), scale);
  by_key(by_s, q, a.size, kAttentionByKey);

  const Sizes turned_strides =
      c.heads_first
          ? Sizes{a.key_heads * a.keys * a.size, a.keys * a.size, a.size, 1}
          : Sizes{a.keys * a.key_heads * a.size, a.size, a.key_heads * a.size, 1};
  const DnnDescriptor& rows =
      b.inside({a.batch, a.key_heads, a.keys, a.size}, turned_strides, b.type());
  add_reshape(b.graph, k, rows);
  const DnnDescriptor& by_q = b.operand(kAttentionByQuery, a.heads, a.queries, a.size);
  const DnnDescriptor& added = b.graph.tensor(
      {.id = kAttentionQuerySums,
       .sizes = {a.batch, a.heads, a.queries, a.size},
       .strides = {a.heads * a.queries * a.size, a.queries * a.size, a.size, 1}});
  add_matmul(b.graph, by_s, rows, added);
  add_pointwise(b.graph, {.mode = CUDNN_POINTWISE_IDENTITY, .x = &added}, by_q);
  return std::move(b.graph);
}

}  // namespace tandem::cuda
