#include "ops/strided_slice.h"

#include <fmt/format.h>

#include "ops/array_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

constexpr int kNewAxis = -1, kShrink = -2;

template <class... Args>
[[noreturn]] void bad(const std::string& op, fmt::format_string<Args...> format,
                      Args&&... args) {
  throw InvalidArgumentError(op + ": " +
                             fmt::format(format, std::forward<Args>(args)...));
}

bool bit(int64_t mask, int i) { return (mask >> i & 1) != 0; }

// The specification spread over the input's dimensions: ellipsis expanded, new axes set
// aside.
struct Dense {
  Ints begin, end, stride;
  int64_t begin_mask = 0, end_mask = 0, shrink_mask = 0;
  Ints order;  // output dimensions: an input dimension, kNewAxis or kShrink
};

Dense spread(const Shape& input, const PartialValue& begin, const PartialValue& end,
             const PartialValue& stride, const StridedSliceAttrs& a,
             const std::string& op) {
  const int n = static_cast<int>(begin.size());
  const int rank = input.rank();
  int ellipsis = n, new_axes_after = 0;
  for (int i = 0; i < n; ++i) {
    if (bit(a.ellipsis_mask, i)) {
      if (ellipsis < n) bad(op, "Multiple ellipses in slice spec not allowed");
      ellipsis = i;
    } else if (ellipsis < n && bit(a.new_axis_mask, i)) {
      ++new_axes_after;
    }
  }
  Dense d;
  const auto whole = [&] {
    const int at = static_cast<int>(d.begin.size());
    d.begin.push_back(0);
    d.end.push_back(0);
    d.stride.push_back(1);
    d.begin_mask |= int64_t{1} << at;
    d.end_mask |= int64_t{1} << at;
    d.order.push_back(at);
  };
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    const int at = static_cast<int>(d.begin.size());
    if (i == ellipsis) {
      const int next = std::min(rank - (n - i) + 1 + new_axes_after, rank);
      while (static_cast<int>(d.begin.size()) < next) whole();
      continue;
    }
    if (bit(a.new_axis_mask, i)) {
      d.order.push_back(kNewAxis);
      continue;
    }
    if (at == rank) {
      if (rank == 0) bad(op, "Attempting to slice scalar input.");
      bad(op, "Index out of range using input dim {}; input has only {} dims", at, rank);
    }
    d.begin.push_back(begin[k]);
    d.end.push_back(end[k]);
    d.stride.push_back(stride[k]);
    if (bit(a.begin_mask, i)) d.begin_mask |= int64_t{1} << at;
    if (bit(a.end_mask, i)) d.end_mask |= int64_t{1} << at;
    const bool shrink = bit(a.shrink_axis_mask, i);
    if (shrink) d.shrink_mask |= int64_t{1} << at;
    d.order.push_back(shrink ? kShrink : at);
  }
  while (static_cast<int>(d.begin.size()) < rank) whole();
  return d;
}

}  // namespace

std::optional<SliceBox> resolve_slice(const Shape& input, const SliceSpec& spec,
                                      const std::string& op) {
  const Shape &bs = spec.begin->shape, &es = spec.end->shape, &ss = spec.strides->shape;
  if (bs.is_known() && es.is_known() && ss.is_known() &&
      (bs.rank() != 1 || es.rank() != 1 || ss.rank() != 1 || bs[0] != es[0] ||
       bs[0] != ss[0])) {
    bad(op,
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
        "{}, {}, "
        "and {} instead.",
        bs.debug_str(), es.debug_str(), ss.debug_str());
  }
  const auto begin = partial_ints(*spec.begin), end = partial_ints(*spec.end),
             stride = partial_ints(*spec.strides);
  if (!input.has_rank() || !begin || !end || !stride) return std::nullopt;
  if (begin->size() > kMaxSliceEntries) {
    bad(op, "at most {} entries are supported, got {}", kMaxSliceEntries, begin->size());
  }
  const Dense d = spread(input, *begin, *end, *stride, spec.attrs, op);
  SliceBox box;
  for (int i = 0; i < input.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t dim = input[i], step = d.stride[k];
    const bool shrink = bit(d.shrink_mask, i);
    const bool from_edge = bit(d.begin_mask, i), to_edge = bit(d.end_mask, i);
    if (step == 0) bad(op, "strides[{}] must be non-zero", i);
    if (shrink && step <= 0 && step != kUnknownValue) {
      bad(op, "only stride 1 allowed on non-range indexing.");
    }
    const bool ends_known = shrink ? d.begin[k] != kUnknownValue
                                   : (from_edge || d.begin[k] != kUnknownValue) &&
                                         (to_edge || d.end[k] != kUnknownValue);
    if (step == kUnknownValue || dim == kUnknownDim || !ends_known) {
      box.begin.push_back(kUnknownValue);
      box.stride.push_back(step);
      box.size.push_back(shrink ? 1 : kUnknownDim);
      box.known = false;
      continue;
    }
    int64_t b = d.begin[k], e = d.end[k];
    if (shrink) {
      b = b < 0 ? b + dim : b;
      if (b < 0 || b >= dim) {
        bad(op, "slice index {} of dimension {} out of bounds.", d.begin[k], i);
      }
      e = b + 1;
    } else {
      const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
      b = from_edge ? (step > 0 ? low : high)
                    : std::clamp(b < 0 ? b + dim : b, low, high);
      e = to_edge ? (step > 0 ? high : low) : std::clamp(e < 0 ? e + dim : e, low, high);
    }
    const int64_t length = e - b;
    const int64_t size = length == 0 || (length < 0) != (step < 0)
                             ? 0
                             : length / step + (length % step != 0 ? 1 : 0);
    box.begin.push_back(b);
    box.stride.push_back(step);
    box.size.push_back(size);
  }
  for (int64_t o : d.order) {
    if (o == kShrink) continue;
    box.order.push_back(o);
    box.final_shape.push_back(o == kNewAxis ? 1 : box.size[static_cast<size_t>(o)]);
  }
  return box;
}

std::optional<int64_t> contiguous_offset(const Shape& input, const SliceBox& box) {
  const Ints steps = row_major(input);
  int64_t offset = 0;
  bool inner_whole =
      true;  // everything so far, from the last dimension on, is taken whole
  for (size_t i = box.size.size(); i-- > 0;) {
    if (box.size[i] == 0) return 0;
    if (box.size[i] > 1 && (!inner_whole || box.stride[i] != 1)) return std::nullopt;
    if (box.size[i] != input[static_cast<int>(i)]) inner_whole = false;
    offset += box.begin[i] * steps[i];
  }
  return offset;
}

std::optional<SliceBox> resolve_plain_slice(const Shape& input, const TensorInfo& begin,
                                            const TensorInfo& size,
                                            const std::string& op) {
  const Shape &bs = begin.shape, &ss = size.shape;
  if (input.has_rank() && bs.is_known() && ss.is_known() &&
      (bs.rank() != 1 || ss.rank() != 1 || bs[0] != input.rank() ||
       ss[0] != input.rank())) {
    bad(op,
        "Expected begin and size arguments to be 1-D tensors of size {}, but got shapes "
        "{} and "
        "{} instead.",
        input.rank(), bs.debug_str(), ss.debug_str());
  }
  const auto b = partial_ints(begin), s = partial_ints(size);
  if (!b || !s) return std::nullopt;
  SliceBox box;
  for (size_t i = 0; i < s->size(); ++i) {
    const int64_t dim = input.has_rank() ? input[static_cast<int>(i)] : kUnknownDim;
    const int64_t at = i < b->size() ? (*b)[i] : kUnknownValue;
    int64_t n = (*s)[i];
    if (at != kUnknownValue && (at < 0 || (dim != kUnknownDim && at > dim))) {
      bad(op, "Expected begin[{}] in [0, {}], but got {}", i, dim, at);
    }
    const bool both = at != kUnknownValue && dim != kUnknownDim;
    if (n == -1) n = both ? dim - at : kUnknownDim;
    if (n == kUnknownValue) n = kUnknownDim;
    if (n < kUnknownDim ||
        (n >= 0 && dim != kUnknownDim && n > dim - (at == kUnknownValue ? 0 : at))) {
      bad(op, "Expected size[{}] in [0, {}], but got {}", i, both ? dim - at : dim, n);
    }
    box.begin.push_back(at);
    box.stride.push_back(1);
    box.size.push_back(n);
    box.final_shape.push_back(n);
    box.known &= both && n != kUnknownDim;
  }
  return box;
}

}  // namespace tandem
