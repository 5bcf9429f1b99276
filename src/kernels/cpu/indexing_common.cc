#include "kernels/cpu/indexing_common.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "base/parallel.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kCheckGrain = 32 * 1024;

// Keeps the smallest position that any thread reports.
class FirstBad {
 public:
  void report(int64_t at) {
    int64_t seen = first_.load(std::memory_order_relaxed);
    while (at < seen && !first_.compare_exchange_weak(seen, at)) {
    }
  }
  bool found() const { return first_.load() != INT64_MAX; }
  int64_t position() const { return first_.load(); }

 private:
  std::atomic<int64_t> first_{INT64_MAX};
};

// Whole blocks are tested without a branch per element; only a bad block is looked at
// again.
template <class I>
void check_range(const I* p, int64_t begin, int64_t end, int64_t limit, FirstBad& bad) {
  using U = std::make_unsigned_t<I>;
  constexpr int64_t kBlock = 512;
  // A limit that the index type cannot reach leaves only negative indices to find.
  const U top = static_cast<U>(
      std::min<uint64_t>(static_cast<uint64_t>(limit), std::numeric_limits<I>::max()));
  const bool all_fit = static_cast<uint64_t>(limit) > std::numeric_limits<I>::max();
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t stop = std::min(end, at + kBlock);
    U wrong = 0;
    if (all_fit) {
      for (int64_t i = at; i < stop; ++i) wrong |= static_cast<U>(p[i] < 0);
    } else {
      for (int64_t i = at; i < stop; ++i)
        wrong |= static_cast<U>(static_cast<U>(p[i]) >= top);
    }
    if (!wrong) continue;
    for (int64_t i = at; i < stop; ++i) {
      if (p[i] < 0 || static_cast<int64_t>(p[i]) >= limit) {
        bad.report(i);
        return;
      }
    }
  }
}

// "[1,0]" for the element at flat position `at`.
std::string place_text(const Shape& shape, int64_t at) {
  if (shape.rank() == 0) return "";
  std::string text;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    text = fmt::format("{}{}{}", at % shape[i], text.empty() ? "" : ",", text);
    at /= shape[i];
  }
  return "[" + text + "]";
}

int64_t index_at(DType dtype, const void* indices, int64_t at) {
  return dtype == DType::kInt32 ? static_cast<const int32_t*>(indices)[at]
                                : static_cast<const int64_t*>(indices)[at];
}

template <class I>
void copy_rows(std::byte* out, const std::byte* params, const I* rows, int64_t begin,
               int64_t end, size_t bytes) {
  constexpr int64_t kAhead = 8;
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) {
      __builtin_prefetch(params + static_cast<size_t>(rows[i + kAhead]) * bytes);
    }
    std::memcpy(out + static_cast<size_t>(i) * bytes,
                params + static_cast<size_t>(rows[i]) * bytes, bytes);
  }
}

}  // namespace

int64_t dim_product(const Shape& shape, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; ++i) n *= shape[i];
  return n;
}

void check_indices(const IndexCheck& check, const void* indices) {
  check_indices(check, indices, nullptr);
}

void check_indices(const IndexCheck& check, const void* indices, int64_t* rows) {
  FirstBad bad;
  by_index(check.dtype, [&]<class I>(std::type_identity<I>) {
    const auto* p = static_cast<const I*>(indices);
    parallel_for(check.shape.num_elements(), kCheckGrain,
                 [&](int64_t begin, int64_t end) {
                   check_range(p, begin, end, check.limit, bad);
                   if (rows) std::copy(p + begin, p + end, rows + begin);
                 });
  });
  if (!bad.found()) return;
  throw InvalidArgumentError(
      fmt::format("{}: {}{} = {} is not in [0, {})", check.op, check.name,
                  place_text(check.shape, bad.position()),
                  index_at(check.dtype, indices, bad.position()), check.limit));
}

NdIndex make_nd_index(const Signature& s, int indices, const Shape& params,
                      int batch_dims) {
  NdIndex nd;
  nd.op = s.op->name.c_str();
  nd.dtype = s.in(indices).dtype;
  nd.indices = s.in(indices).shape;
  nd.params = params;
  nd.batch_dims = batch_dims;
  const int last = nd.indices.rank() - 1;
  const int depth = static_cast<int>(nd.indices[last]);
  nd.count = dim_product(nd.indices, 0, last);
  nd.per_batch = dim_product(nd.indices, batch_dims, last);
  nd.num_rows = dim_product(params, 0, batch_dims + depth);
  nd.row = dim_product(params, batch_dims + depth, params.rank());
  return nd;
}

void nd_rows(const NdIndex& nd, const void* indices, int64_t* rows) {
  const int depth = static_cast<int>(nd.indices[nd.indices.rank() - 1]);
  const int64_t* limits = nd.params.begin() + nd.batch_dims;
  int64_t batch_rows = 1;
  for (int d = 0; d < depth; ++d) batch_rows *= limits[d];
  FirstBad bad;
  by_index(nd.dtype, [&]<class I>(std::type_identity<I>) {
    const auto* all = static_cast<const I*>(indices);
    parallel_for(nd.count, kCheckGrain / (1 + depth), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const I* p = all + i * depth;
        int64_t at = 0;
        bool wrong = false;
        for (int d = 0; d < depth; ++d) {
          wrong |= static_cast<uint64_t>(static_cast<int64_t>(p[d])) >=
                   static_cast<uint64_t>(limits[d]);
          at = at * limits[d] + (wrong ? 0 : static_cast<int64_t>(p[d]));
        }
        if (wrong) {
          bad.report(i);
          return;
        }
        rows[i] = nd.batch_dims ? i / nd.per_batch * batch_rows + at : at;
      }
    });
  });
  if (!bad.found()) return;
  std::string values;
  for (int d = 0; d < depth; ++d) {
    if (d) values += ", ";
    values += std::to_string(index_at(nd.dtype, indices, bad.position() * depth + d));
  }
  throw InvalidArgumentError(fmt::format(
      "{}: indices{} = [{}] does not index into {} {}", nd.op,
      place_text(nd.indices.slice(0, nd.indices.rank() - 1), bad.position()), values,
      nd.into, nd.params.slice(nd.batch_dims, nd.params.rank()).debug_str()));
}

void parallel_copy(void* to, const void* from, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), copy_grain(1),
               [&](int64_t begin, int64_t end) {
                 std::memcpy(static_cast<std::byte*>(to) + begin,
                             static_cast<const std::byte*>(from) + begin,
                             static_cast<size_t>(end - begin));
               });
}

void copy_elements(DType dtype, void* to, const void* from, int64_t count) {
  if (dtype == DType::kString) {
    std::copy_n(static_cast<const std::string*>(from), count,
                static_cast<std::string*>(to));
    return;
  }
  parallel_copy(to, from, static_cast<size_t>(count) * dtype_size(dtype));
}

void gather_rows(DType dtype, void* out, const void* params, const int64_t* rows,
                 int64_t count, int64_t row) {
  if (row == 0) return;
  if (dtype != DType::kString && row > 1) {
    const size_t bytes = static_cast<size_t>(row) * dtype_size(dtype);
    parallel_for(count, copy_grain(static_cast<int64_t>(bytes) + 16),
                 [&](int64_t begin, int64_t end) {
                   copy_rows(static_cast<std::byte*>(out),
                             static_cast<const std::byte*>(params), rows, begin, end,
                             bytes);
                 });
    return;
  }
  by_element(dtype, [&]<class E>(std::type_identity<E>) {
    auto* to = static_cast<E*>(out);
    const auto* from = static_cast<const E*>(params);
    parallel_for(count, copy_grain(8 + row * static_cast<int64_t>(sizeof(E))),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     std::copy_n(from + rows[i] * row, row, to + i * row);
                   }
                 });
  });
}

}  // namespace tandem::cpu
