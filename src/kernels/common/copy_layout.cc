#include "kernels/common/copy_layout.h"

#include "ops/array_common.h"
#include "ops/array_transpose.h"
#include "tandem/ops/array.h"

namespace tandem {

CopyLayouts transpose_layout(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints perm = full_permutation(s.attrs.as<TransposeAttrs>(), in.rank());
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  CopyLayout copy;
  for (int i = 0; i < out.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    copy.dims.push_back({out[i], in_steps[static_cast<size_t>(perm[k])], out_steps[k]});
  }
  return {std::move(copy)};
}

CopyLayouts broadcast_layout(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const int missing = out.rank() - in.rank();
  CopyLayout copy;
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeated = i < missing || in[i - missing] == 1;
    copy.dims.push_back({out[i],
                         repeated ? 0 : in_steps[static_cast<size_t>(i - missing)],
                         out_steps[static_cast<size_t>(i)]});
  }
  return {std::move(copy)};
}

CopyLayouts tile_layout(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const Ints multiples = *known_ints(s.in(1));
  CopyLayout copy;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    copy.dims.push_back({multiples[k], 0, out_steps[k] * in[i]});
    copy.dims.push_back({in[i], in_steps[k], out_steps[k]});
  }
  return {std::move(copy)};
}

CopyLayouts reverse_layout(const Signature& s) {
  const Shape& in = s.in(0).shape;
  if (in.num_elements() == 0) return {};
  const Ints steps = row_major(in);
  CopyLayout copy;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    copy.dims.push_back({in[i], steps[k], steps[k]});
  }
  for (int64_t axis : s.attrs.as<ReverseAttrs>().axis) {
    CopyDim& d = copy.dims[static_cast<size_t>(axis < 0 ? axis + in.rank() : axis)];
    copy.in_offset += (d.n - 1) * d.in;
    d.in = -d.in;
  }
  return {std::move(copy)};
}

CopyLayouts roll_layout(const Signature& s) {
  const auto& attrs = s.attrs.as<RollAttrs>();
  const Shape& in = s.in(0).shape;
  CopyLayouts copies;
  if (in.num_elements() == 0) return copies;
  const Ints steps = row_major(in);
  Ints shift(static_cast<size_t>(in.rank()), 0);
  for (size_t i = 0; i < attrs.axis.size(); ++i) {
    const int64_t axis = attrs.axis[i] < 0 ? attrs.axis[i] + in.rank() : attrs.axis[i];
    const int64_t n = in[static_cast<int>(axis)];
    int64_t& total = shift[static_cast<size_t>(axis)];
    total = ((total + attrs.shift[i]) % n + n) % n;
  }
  std::vector<CopyDim> dims(static_cast<size_t>(in.rank()));
  const auto add = [&](auto&& self, int axis, int64_t from, int64_t to) -> void {
    if (axis == in.rank()) {
      copies.push_back({dims, from, to});
      return;
    }
    const auto k = static_cast<size_t>(axis);
    const int64_t n = in[axis], by = shift[k], step = steps[k];
    dims[k] = {n - by, step, step};
    self(self, axis + 1, from, to + by * step);
    if (by == 0) return;
    dims[k] = {by, step, step};
    self(self, axis + 1, from + (n - by) * step, to);
  };
  add(add, 0, 0, 0);
  return copies;
}

}  // namespace tandem
