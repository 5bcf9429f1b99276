#include "kernels/cpu/fused_geometry.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/bytes16.h"

namespace tandem::cpu {

namespace {

struct Dim {
  int64_t size;
  bool column;
  std::vector<int64_t> strides;  // of each input
};

// Dimensions of size 1 go; neighbours on one side that every input walks as one merge.
std::vector<Dim> collapse_domain(const Shape& domain, std::span<const Shape> inputs,
                                 int row_axes) {
  std::vector<Dim> dims;
  std::vector<int64_t> stride(inputs.size(), 1);
  for (int d = domain.rank() - 1; d >= 0; --d) {  // innermost first
    Dim dim{domain[d], domain.rank() - d <= row_axes,
            std::vector<int64_t>(inputs.size(), 0)};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int own = d - (domain.rank() - inputs[i].rank());
      if (own < 0 || inputs[i][own] == 1) continue;
      dim.strides[i] = stride[i];
      stride[i] *= inputs[i][own];
    }
    if (dim.size == 1) continue;
    bool merge = !dims.empty() && (row_axes < 0 || dims.back().column == dim.column);
    for (size_t i = 0; merge && i < inputs.size(); ++i) {
      merge = dim.strides[i] == dims.back().strides[i] * dims.back().size;
    }
    if (merge) {
      dims.back().size *= dim.size;
    } else {
      dims.push_back(std::move(dim));
    }
  }
  if (row_axes < 0 && !dims.empty()) dims[0].column = true;
  std::reverse(dims.begin(), dims.end());
  return dims;
}

bool all_zero(std::span<const int64_t> strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
}
bool contiguous(std::span<const int64_t> strides, std::span<const int64_t> sizes) {
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

Access classify_access(const FusedGeometry& g, size_t input, int64_t count) {
  if (count == g.elements()) return Access::kFull;
  const auto strides = g.strides_of(input);
  const auto outer = strides.first(g.outer.size());
  const auto inner = strides.subspan(g.outer.size());
  if (all_zero(inner)) {
    if (all_zero(outer)) return Access::kSingle;
    return contiguous(outer, g.outer) ? Access::kRow : Access::kOuter;
  }
  if (!contiguous(inner, g.inner)) return Access::kGeneral;
  return all_zero(outer) ? Access::kColumn : Access::kInner;
}

template <class T>
void gather_strided(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                    const T* base, int64_t from, int64_t n, T* out) {
  int64_t index[kMaxRank] = {};
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = from % sizes[d];
    from /= sizes[d];
    offset += index[d] * strides[d];
  }
  const size_t last = sizes.size() - 1;
  while (n > 0) {
    const int64_t m = std::min(sizes[last] - index[last], n);
    if (strides[last] == 0) {
      std::fill_n(out, m, base[offset]);
    } else {
      std::copy_n(base + offset, m, out);
    }
    out += m;
    n -= m;
    offset -= index[last] * strides[last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace

int64_t FusedGeometry::outer_offset(size_t input, int64_t row) const {
  const auto own = strides_of(input);
  int64_t offset = 0;
  for (size_t d = outer.size(); d-- > 0;) {
    offset += row % outer[d] * own[d];
    row /= outer[d];
  }
  return offset;
}

FusedGeometry fused_geometry(const Shape& domain, std::span<const Shape> inputs,
                             int row_axes) {
  FusedGeometry g;
  if (domain.num_elements() == 0 && row_axes < 0) {
    g.rows = 0;
    g.access.assign(inputs.size(), Access::kSingle);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].num_elements() == 0) g.access[i] = Access::kFull;
    }
    return g;
  }
  const std::vector<Dim> dims = collapse_domain(domain, inputs, row_axes);
  for (const Dim& dim : dims) {
    (dim.column ? g.inner : g.outer).push_back(dim.size);
    (dim.column ? g.columns : g.rows) *= dim.size;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Dim& dim : dims) g.strides.push_back(dim.strides[i]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    g.access.push_back(classify_access(g, i, inputs[i].num_elements()));
  }
  return g;
}

void fused_gather(const FusedGeometry& g, size_t input, bool rows_only, const void* base,
                  int64_t from, int64_t n, void* out, size_t size) {
  if (n == 0) return;
  int64_t sizes[kMaxRank];
  size_t rank = 0;
  for (int64_t s : g.outer) sizes[rank++] = s;
  if (!rows_only) {
    for (int64_t s : g.inner) sizes[rank++] = s;
  }
  const std::span<const int64_t> dims(sizes, rank);
  const auto strides = g.strides_of(input).first(rank);
  const auto run = [&]<class T>(T) {
    gather_strided(dims, strides, static_cast<const T*>(base), from, n,
                   static_cast<T*>(out));
  };
  switch (size) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    case 8:
      return run(uint64_t{});
    default:
      return run(Bytes16{});
  }
}

}  // namespace tandem::cpu
