#include "ops/contraction.h"

#include <algorithm>

#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

bool has_label(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

namespace {

Labels joined(const Labels& a, const Labels& b) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

int position(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) -
                          labels.begin());
}

// Sizes of consecutive dimensions: a number, or a tensor when one of them is unknown.
class Size {
 public:
  Size() = default;
  explicit Size(int64_t known) : known_(known) {}
  Size(const Tensor& x, int from, int count) : x_(x), from_(from), count_(count) {
    for (int i = from; i < from + count; ++i) {
      known_ = known_ < 0 || x.shape()[i] < 0 ? kUnknownDim : known_ * x.shape()[i];
    }
  }
  int64_t known() const { return known_; }
  /// A vector with the product.
  Tensor product() const {
    if (known_ >= 0) return constant(std::vector<int32_t>{static_cast<int32_t>(known_)});
    return reduce_prod(slice(shape(x_), {from_}, {count_}),
                       {.axis = {0}, .keepdims = true});
  }

 private:
  Tensor x_;
  int from_ = 0, count_ = 0;
  int64_t known_ = 1;
};

// One unknown size is left to reshape; more are computed.
Tensor reshape_to(const Tensor& x, const std::vector<Size>& sizes) {
  Shape known;
  int unknown = 0;
  bool empty = false;
  for (const Size& s : sizes) {
    known.push_back(s.known());
    unknown += s.known() < 0;
    empty |= s.known() == 0;
  }
  if (x.shape() == known && known.is_known()) return x;
  if (unknown == 0 || (unknown == 1 && !empty)) return reshape(x, known);
  std::vector<Tensor> parts;
  for (const Size& s : sizes) parts.push_back(s.product());
  return reshape(x, concat(parts, {.axis = 0}));
}

// Dimensions of x as they stand, each by itself.
void append_each(std::vector<Size>& sizes, const Tensor& x, int from, int count) {
  for (int i = from; i < from + count; ++i) sizes.emplace_back(x, i, 1);
}

// How the labels of a pair are used.
struct Roles {
  Labels batch, inner, a_free, b_free;
};

Roles roles_of(const Labelled& a, const Labelled& b, const Labels& keep) {
  Roles r;
  for (int l : a.labels) {
    if (!has_label(b.labels, l)) {
      r.a_free.push_back(l);
    } else if (!has_label(keep, l)) {
      r.inner.push_back(l);
    }
  }
  for (int l : b.labels) {
    if (!has_label(a.labels, l)) r.b_free.push_back(l);
  }
  // Batch dimensions in the order wanted, which is where they will stand if they come
  // first.
  for (int l : keep) {
    if (has_label(a.labels, l) && has_label(b.labels, l)) r.batch.push_back(l);
  }
  return r;
}

// Both operands with all labels of the result, size 1 where they lack one: an elementwise
// product.
Tensor with_labels(const Labelled& x, const Labels& all) {
  Labels own;
  for (int l : all) {
    if (has_label(x.labels, l)) own.push_back(l);
  }
  const Tensor turned = in_order(x, own);
  std::vector<Size> sizes;
  int next = 0;
  for (int l : all) {
    if (has_label(own, l)) {
      sizes.emplace_back(turned, next++, 1);
    } else {
      sizes.emplace_back(1);
    }
  }
  return reshape_to(turned, sizes);
}

Labelled multiply_and_sum(const Labelled& a, const Labelled& b, const Roles& r,
                          const Labels& keep) {
  Labels all;
  for (int l : keep) {
    if (has_label(a.labels, l) || has_label(b.labels, l)) all.push_back(l);
  }
  all.insert(all.end(), r.inner.begin(), r.inner.end());
  return sum_out({multiply(with_labels(a, all), with_labels(b, all)), all}, keep);
}

// One operand as [batch..., first, second], or with the last two exchanged when it lies
// that way already: then it is left there and `transposed` says so.
struct Matrices {
  Tensor x;
  bool transposed = false;
  Tensor turned;    // before dimensions were merged
  int free_at = 0;  // where the free dimensions begin in it
};

Matrices as_matrices(const Labelled& a, const Labels& batch, const Labels& free,
                     const Labels& inner, bool inner_first) {
  Matrices m;
  const Labels straight =
      joined(batch, inner_first ? joined(inner, free) : joined(free, inner));
  const Labels crossed =
      joined(batch, inner_first ? joined(free, inner) : joined(inner, free));
  m.transposed = a.labels != straight && a.labels == crossed;
  const bool inner_leads = inner_first != m.transposed;
  m.turned = in_order(a, m.transposed ? crossed : straight);
  const int nb = static_cast<int>(batch.size()), ni = static_cast<int>(inner.size()),
            nf = static_cast<int>(free.size());
  m.free_at = inner_leads ? nb + ni : nb;
  std::vector<Size> sizes;
  append_each(sizes, m.turned, 0, nb);
  sizes.emplace_back(m.turned, nb, inner_leads ? ni : nf);
  sizes.emplace_back(m.turned, nb + (inner_leads ? ni : nf), inner_leads ? nf : ni);
  m.x = reshape_to(m.turned, sizes);
  return m;
}

}  // namespace

Tensor in_order(const Labelled& x, const Labels& order) {
  if (x.labels == order) return x.x;
  Ints perm;
  for (int l : order) perm.push_back(position(x.labels, l));
  return transpose(x.x, {.perm = perm});
}

Labelled sum_out(const Labelled& x, const Labels& keep) {
  Ints axes;
  Labels left;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (has_label(keep, x.labels[i])) {
      left.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return x;
  return {reduce_sum(x.x, {.axis = axes}), left};
}

Labelled contract(const Labelled& a, const Labelled& b, const Labels& keep) {
  const Roles r = roles_of(a, b, keep);
  // Nothing to add up, or only single numbers out of each batch entry: no matrix product.
  if (r.inner.empty() || (r.a_free.empty() && r.b_free.empty() && !r.batch.empty())) {
    return multiply_and_sum(a, b, r, keep);
  }
  // The other order when its result needs no transposition.
  if (joined(r.batch, joined(r.a_free, r.b_free)) != keep &&
      joined(r.batch, joined(r.b_free, r.a_free)) == keep && !r.a_free.empty() &&
      !r.b_free.empty()) {
    return contract(b, a, keep);
  }
  const Matrices ma = as_matrices(a, r.batch, r.a_free, r.inner, false);
  const Matrices mb = as_matrices(b, r.batch, r.b_free, r.inner, true);
  const Tensor product =
      matmul(ma.x, mb.x, {.transpose_a = ma.transposed, .transpose_b = mb.transposed});
  std::vector<Size> sizes;
  append_each(sizes, product, 0, static_cast<int>(r.batch.size()));
  append_each(sizes, ma.turned, ma.free_at, static_cast<int>(r.a_free.size()));
  append_each(sizes, mb.turned, mb.free_at, static_cast<int>(r.b_free.size()));
  return {reshape_to(product, sizes), joined(r.batch, joined(r.a_free, r.b_free))};
}

}  // namespace tandem
