// UnsortedSegmentSum, UnsortedSegmentProd: all numbers. UnsortedSegmentMin,
// UnsortedSegmentMax: real numbers.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"

namespace tandem::cuda {

namespace {

struct UnsortedPlan {
  ScatterPlan scatter;
  Function fill;
  int64_t elements = 0;
  size_t workspace_bytes = 0;
};

// The number that every other one replaces: the largest or smallest of the dtype.
std::string extreme(DType dtype, bool largest) {
  switch (dtype) {
    case DType::kFloat16:
      return largest ? "65504.0f" : "-65504.0f";
    case DType::kBFloat16:
      return largest ? "3.38953139e38f" : "-3.38953139e38f";
    case DType::kFloat32:
      return largest ? "3.402823466e38f" : "-3.402823466e38f";
    case DType::kFloat64:
      return largest ? "1.7976931348623157e308" : "-1.7976931348623157e308";
    default:
      break;
  }
  if (is_unsigned(dtype)) return largest ? "~0ull" : "0";
  const std::string top = fmt::format("((1ull << {}) - 1)", dtype_size(dtype) * 8 - 1);
  return largest ? top : fmt::format("-(i64){} - 1", top);
}

UnsortedPlan prepare_unsorted(const Signature& s) {
  const std::string kind = s.op->name.substr(std::string("UnsortedSegment").size());
  const std::string op = kind == "Sum"    ? "ADD"
                         : kind == "Prod" ? "MUL"
                         : kind == "Min"  ? "MIN"
                                          : "MAX";
  const DType dtype = s.in(0).dtype, index = s.in(1).dtype;
  const std::string empty = kind == "Sum"    ? "0"
                            : kind == "Prod" ? "1"
                                             : extreme(dtype, kind == "Min");
  const Shape &data = s.in(0).shape, &ids = s.in(1).shape;
  UnsortedPlan p;
  find_scatter(s, op, dtype, index, p.scatter);
  const std::string text =
      fmt::format("#define EMPTY {}\n", empty) + scatter_text(op, dtype, index);
  p.scatter.rows = find_function(s.device, s.op->name, text, "segment_rows");
  p.fill = find_function(s.device, s.op->name, text, "fill_segments");
  p.scatter.site =
      std::make_shared<ErrorSite>([op_name = s.op->name, ids](const Report& r) {
        return fmt::format("{}: segment_ids{} = {} is out of range [0, {})", op_name,
                           place_of(ids, r.position), r.value, r.extra);
      });
  p.scatter.indices = ids.num_elements();
  p.scatter.limit = s.out().shape[0];
  p.scatter.args.count = p.scatter.indices;
  p.scatter.args.num_rows = p.scatter.limit;
  p.scatter.args.row = p.scatter.args.stride = dim_product(data, ids.rank(), data.rank());
  p.elements = s.out().shape.num_elements();
  p.workspace_bytes = static_cast<size_t>(p.scatter.indices) * sizeof(int64_t);
  return p;
}

void launch_unsorted(const UnsortedPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  if (p.scatter.indices > 0) {
    launch(p.scatter.rows, *a.stream, grid_for(p.scatter.rows, p.scatter.indices),
           a.inputs[1], rows, p.scatter.indices, p.scatter.limit, flags_of(a),
           p.scatter.site->id());
  }
  if (p.elements == 0) return;
  launch(p.fill, *a.stream, grid_for(p.fill, p.elements), a.outputs[0], p.elements);
  run_scatter(p.scatter, a, a.outputs[0], a.inputs[0], rows);
}

}  // namespace

void register_segment(Kernels& kernels) {
  for (const char* kind : {"Sum", "Prod", "Min", "Max"}) {
    const std::string name = std::string("UnsortedSegment") + kind;
    const bool extreme = kind[0] == 'M';
    kernels.add(make_kernel<prepare_unsorted, launch_unsorted>(
        name, "cuda." + name, extreme ? kReals : kNumbers));
  }
}

}  // namespace tandem::cuda
