// Transpose, slices, padding, tiles, joins: layout changes that change nothing, and
// transpositions one after the other. Exact.
#include "graph/passes/simplify.h"
#include "ops/array_transpose.h"
#include "ops/strided_slice.h"
#include "tandem/ops/array.h"

namespace tandem {

namespace {

bool conjugates(const Node& n, DType dtype) {
  return n.attrs.ref().as<TransposeAttrs>().conjugate && is_complex(dtype);
}

// A transposition that only moves dimensions of size 1 is a change of shape.
ValueRef transpose(Rewrite& r) {
  const Shape& shape = r.in(0).shape;
  if (!shape.has_rank() || conjugates(r.node, r.out().dtype)) return {};
  const Ints perm = full_permutation(r.attrs<TransposeAttrs>(), shape.rank());
  bool in_order = true;
  int64_t last = -1;
  for (int64_t p : perm) {
    if (shape[static_cast<int>(p)] == 1) continue;
    in_order = in_order && p > last;
    last = p;
  }
  if (in_order && shape.is_known()) return r.reshaped(r.inputs[0], r.out().shape);
  const Node& before = r.maker(0);
  if (!before.is_op("Transpose") || conjugates(before, r.out().dtype)) return {};
  const Ints first =
      full_permutation(before.attrs.ref().as<TransposeAttrs>(), shape.rank());
  TransposeAttrs both;
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i) {
    both.perm.push_back(first[static_cast<size_t>(perm[i])]);
    identity = identity && both.perm[i] == static_cast<int64_t>(i);
  }
  if (identity) return before.inputs[0];
  return r.emit("Transpose", {before.inputs[0]}, attrs_ref(both));
}

// Ops that only take away or only add: the same shape means the same contents.
ValueRef of_same_shape(Rewrite& r) {
  return same_known(r.in(0).shape, r.out().shape) ? r.inputs[0] : ValueRef{};
}

// Steps of a strided slice may go backwards over everything.
ValueRef strided_slice(Rewrite& r) {
  if (!r.in(0).shape.is_known()) return {};
  const SliceSpec spec{&r.in(1), &r.in(2), &r.in(3), r.attrs<StridedSliceAttrs>()};
  const auto box = resolve_slice(r.in(0).shape, spec, r.node.op->name);
  if (!box || !box->known || !r.out().shape.is_known()) return {};
  for (size_t i = 0; i < box->begin.size(); ++i) {
    const int64_t whole = r.in(0).shape[static_cast<int>(i)];
    if (box->begin[i] != 0 || box->size[i] != whole) return {};
    if (box->stride[i] != 1 && whole != 1) return {};
  }
  return r.reshaped(r.inputs[0], r.out().shape);
}

// Parts without elements add nothing.
ValueRef concat(Rewrite& r) {
  std::vector<ValueRef> parts;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const Shape& s = r.in(i).shape;
    if (!s.is_known() || s.num_elements() != 0) parts.push_back(r.inputs[i]);
  }
  if (parts.empty()) parts.push_back(r.inputs[0]);
  if (parts.size() == 1) {
    const Shape& s = r.to.info(parts[0]).shape;
    return r.inputs.size() == 1 || same_known(s, r.out().shape) ? parts[0] : ValueRef{};
  }
  if (parts.size() == r.inputs.size()) return {};
  return r.emit("ConcatV2", parts, r.node.attrs.ref());
}

ValueRef pack(Rewrite& r) {
  if (r.inputs.size() != 1 || !r.out().shape.is_known()) return {};
  return r.reshaped(r.inputs[0], r.out().shape);
}

// Also Unpack and Split into one part.
ValueRef one_part(Rewrite& r) {
  if (!r.out().shape.is_known()) return {};
  return r.reshaped(r.inputs[0], r.out().shape);
}

}  // namespace

void add_layout_rules(Rules& rules) {
  rules["Transpose"] = {transpose};
  rules["Tile"] = {of_same_shape};
  rules["Slice"] = {of_same_shape};
  rules["Pad"] = {of_same_shape};
  rules["PadV2"] = {of_same_shape};
  rules["MirrorPad"] = {of_same_shape};
  rules["StridedSlice"] = {strided_slice};
  rules["ConcatV2"] = {concat};
  rules["Pack"] = {pack};
  rules["Unpack"] = {one_part};
  rules["Split"] = {one_part};
}

}  // namespace tandem
