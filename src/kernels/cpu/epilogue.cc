#include "kernels/cpu/epilogue.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/fused_products.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kEpilogueStretch = 4096;  // elements that stay in the L1 cache

std::byte* typed_at(void* base, int64_t element, DType dtype) {
  return static_cast<std::byte*>(base) +
         element * static_cast<int64_t>(dtype_size(dtype));
}
const std::byte* typed_at(const void* base, int64_t element, DType dtype) {
  return static_cast<const std::byte*>(base) +
         element * static_cast<int64_t>(dtype_size(dtype));
}

void activate(const Epilogue& e, void* c, int64_t n) {
  if (!e.activation) return;
  const void* in[] = {c};
  e.activation(in, c, n, e.params);
}

void activate_all(const Epilogue& e, void* c, int64_t n) {
  parallel_for(n, static_cast<int64_t>(kGrainElements / e.cost),
               [&](int64_t begin, int64_t end) {
                 activate(e, typed_at(c, begin, e.dtype), end - begin);
               });
}

// Rows of `channels` elements, a few at a time: bias row by row, then one activation.
void apply_to_rows(const Epilogue& e, int64_t channels, void* c, const void* bias,
                   int64_t rows) {
  const int64_t step = std::max<int64_t>(1, kEpilogueStretch / channels);
  for (int64_t r = 0; r < rows; r += step) {
    const int64_t count = std::min(step, rows - r);
    std::byte* block = typed_at(c, r * channels, e.dtype);
    for (int64_t i = 0; i < count; ++i) {
      std::byte* row = typed_at(block, i * channels, e.dtype);
      const void* in[] = {row, bias};
      e.add(in, row, channels, {});
    }
    activate(e, block, count * channels);
  }
}

}  // namespace

Epilogue plan_epilogue(DType dtype, const std::string& activation, double alpha,
                       bool bias) {
  Epilogue e;
  e.dtype = dtype;
  e.bias = bias;
  const ElementwiseBlocks& add = *find_blocks("AddV2", dtype);
  e.add = add.variants[0];
  e.add_one = add.variants[2];
  if (bias) e.cost += add.cost;
  if (activation.empty()) return e;
  const FusedActivation& a = *find_fused_activation(activation);
  const ElementwiseBlocks& blocks = *find_blocks(a.op, dtype);
  e.activation = blocks.variants[0];
  e.params.a = activation == "LeakyRelu" ? alpha : a.approximate ? 1 : 0;
  e.cost += blocks.cost;
  return e;
}

void apply_epilogue(const Epilogue& e, const EpilogueShape& shape, void* c,
                    const void* bias) {
  const int64_t run = shape.inner == 1 ? shape.channels : shape.inner;
  if (e.empty() || shape.outer == 0 || run == 0) return;
  if (!e.bias) return activate_all(e, c, shape.outer * shape.channels * shape.inner);
  const auto grain =
      static_cast<int64_t>(kGrainElements / e.cost / static_cast<double>(run));
  if (shape.inner == 1) {
    parallel_for(shape.outer, std::max<int64_t>(1, grain), [&](int64_t b, int64_t end) {
      apply_to_rows(e, run, typed_at(c, b * run, e.dtype), bias, end - b);
    });
    return;
  }
  parallel_for(shape.outer * shape.channels, std::max<int64_t>(1, grain),
               [&](int64_t b, int64_t end) {
                 for (int64_t i = b; i < end; ++i) {
                   std::byte* plane = typed_at(c, i * run, e.dtype);
                   const void* in[] = {plane,
                                       typed_at(bias, i % shape.channels, e.dtype)};
                   e.add_one(in, plane, run, {});
                   activate(e, plane, run);
                 }
               });
}

}  // namespace tandem::cpu
