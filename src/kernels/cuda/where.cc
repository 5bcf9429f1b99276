// Where: all numbers and bool, by element size.
#include <fmt/format.h>

#include "kernels/cuda/compact.h"
#include "kernels/cuda/families.h"

namespace tandem::cuda {

std::string where_text(DType dtype, int rank) {
  // An element is true when any bit but the sign of a floating-point number is set.
  const char* bits = "~0ull";
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
      bits = "0x7fffull";
      break;
    case DType::kFloat32:
      bits = "0x7fffffffull";
      break;
    case DType::kComplex64:
      bits = "0x7fffffff7fffffffull";
      break;
    case DType::kFloat64:
    case DType::kComplex128:
      bits = "0x7fffffffffffffffull";
      break;
    default:
      break;
  }
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} E;\n#define RANK {}\n#define BITS {}\n",
                     bits_text(dtype_size(dtype)), rank, bits) +
         std::string(device_text("where.cuh")) + std::string(device_text("compact.cuh"));
}

namespace {

/// As long as the rank needs: the layout is known to device/where.cuh.
struct WhereArgs {
  const void* x = nullptr;
  void* out = nullptr;
  int64_t dims[kMaxRank + 1] = {};
};
struct WherePlan {
  Compaction compaction;
  WhereArgs args;
  int rank = 0;
  size_t workspace_bytes = 0;
};
WherePlan prepare_where(const Signature& s) {
  const Shape& x = s.in(0).shape;
  WherePlan p;
  p.rank = x.rank();
  for (int d = 0; d < p.rank; ++d) p.args.dims[d] = x[d];
  p.compaction = Compaction(s, where_text(s.in(0).dtype, p.rank), x.num_elements());
  p.workspace_bytes = p.compaction.workspace_bytes();
  return p;
}
void launch_where(const WherePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  WhereArgs args = p.args;
  args.x = a.inputs[0];
  const int64_t total = p.compaction.count(*a.stream, args, a.workspace);
  args.out = outputs.allocate(0, {total, p.rank});
  if (total * p.rank > 0) p.compaction.place(*a.stream, args, a.workspace);
}

}  // namespace

void register_where(Kernels& kernels) {
  kernels.add(make_kernel<prepare_where, launch_where>("Where", "cuda.where", kPlain));
}

}  // namespace tandem::cuda
