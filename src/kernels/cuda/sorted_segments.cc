// SegmentSum, SegmentMean, SegmentProd: all numbers; SegmentMin, SegmentMax: real
// numbers; SparseSegmentSum, SparseSegmentMean: floats. The number of rows of the result
// is read from the ids, unless it is given.
#include "kernels/cuda/sorted_segments.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/host_read.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/scatter.h"
#include "tandem/error.h"

namespace tandem::cuda {

std::string segments_text(const std::string& op, DType dtype, DType ids, DType rows) {
  return reducer_text(op, dtype) +
         fmt::format("typedef {} X;\ntypedef {} R;\n", type_text(ids), type_text(rows)) +
         std::string(device_text("sorted_segments.cuh"));
}

void run_segments(const Function& f, const StreamContext& stream, SegmentArgs args,
                  int64_t count) {
  if (args.outer * args.segments * args.inner == 0) return;
  const auto power = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  args.width = std::min<int64_t>(32, power(args.inner));
  // A few rows for each thread of an average segment; long ones among short ones still
  // get several threads.
  const int64_t average = count / args.segments;
  args.height = std::clamp<int64_t>(power(average / 4 + 1), 1, 256 / args.width);
  if (average > 1) args.height = std::max<int64_t>(args.height, 4);
  const int64_t tasks =
      args.outer * args.segments * ((args.inner + args.width - 1) / args.width);
  launch(f, stream, grid_for(f, tasks * args.width * args.height), args, count);
}

namespace {

struct SegmentPlan {
  Function reduce, check;
  std::string op;
  Shape data;
  SegmentArgs args;
  int64_t ids = 0;    // how many
  int64_t rows = -1;  // of the result; -1: the last id says
  bool sparse = false;
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = 2 * sizeof(int64_t);  // the first and the last id
};

template <bool kSparse>
SegmentPlan prepare_segment(const Signature& s) {
  const size_t prefix = std::string(kSparse ? "SparseSegment" : "Segment").size();
  const int ids = kSparse ? 2 : 1;
  SegmentPlan p;
  p.op = s.op->name;
  p.sparse = kSparse;
  p.data = s.in(0).shape;
  p.ids = s.in(ids).shape[0];
  p.args.n = p.data[0];
  p.args.inner = dim_product(p.data, 1, p.data.rank());
  if (kSparse && s.inputs.size() > 3 && s.in(3).dtype != DType::kInvalid) {
    p.rows = s.in(3).value[0];
  }
  const std::string text =
      segments_text(p.op.substr(prefix), s.in(0).dtype, s.in(ids).dtype, s.in(1).dtype);
  p.reduce = find_function(s.device, p.op, text, "reduce_segments");
  p.check = find_function(s.device, p.op, text, "check_segments");
  p.site = std::make_shared<ErrorSite>([op = p.op](const Report& r) {
    if (r.code == 2) {
      return fmt::format("{}: Bad: indices[{}] == {} out of range [0, {})", op,
                         r.position, r.value, r.extra);
    }
    return fmt::format(
        "{}: segment ids are not increasing: {} comes before {} at {}. Sort them, or use "
        "the unsorted form.",
        op, r.value, r.extra, r.position);
  });
  return p;
}

/// The rows of the result; throws when ids are not as they must be.
int64_t checked_rows(const SegmentPlan& p, const LaunchArgs& a) {
  if (p.ids == 0) return std::max<int64_t>(p.rows, 0);
  auto* ends = static_cast<int64_t*>(a.workspace);
  const void* rows = p.sparse ? a.inputs[1] : nullptr;
  launch(p.check, *a.stream, grid_for(p.check, p.ids), a.inputs[p.sparse ? 2 : 1], p.ids,
         rows, p.data[0], ends, flags_of(a), p.site->id());
  int64_t known[2];
  read_words(*a.stream, ends, known);
  const auto [first, last] = known;
  if (p.rows >= 0 && last >= p.rows) {
    throw InvalidArgumentError(
        fmt::format("{}: segment ids must be < num_segments, but {} is not below {}",
                    p.op, last, p.rows));
  }
  const int64_t result = p.rows >= 0 ? p.rows : last + 1;
  if (first < 0) {
    throw InvalidArgumentError(
        fmt::format("{}: Segment id {} out of range [0, {}), possibly because "
                    "'segment_ids' input is not sorted.",
                    p.op, first, result));
  }
  return result;
}

void launch_segment(const SegmentPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  SegmentArgs args = p.args;
  args.segments = checked_rows(p, a);
  Shape shape = p.data;
  shape.set(0, args.segments);
  args.out = outputs.allocate(0, shape);
  args.x = a.inputs[0];
  args.ids = a.inputs[p.sparse ? 2 : 1];
  args.rows = p.sparse ? a.inputs[1] : nullptr;
  run_segments(p.reduce, *a.stream, args, p.ids);
}

}  // namespace

void register_sorted_segments(Kernels& kernels) {
  for (const char* kind : {"Sum", "Mean", "Prod", "Min", "Max"}) {
    const std::string name = std::string("Segment") + kind;
    const bool extreme = name == "SegmentMin" || name == "SegmentMax";
    kernels.add(make_kernel<prepare_segment<false>, launch_segment>(
        name, "cuda." + name, extreme ? kReals : kNumbers));
  }
  for (const char* name : {"SparseSegmentSum", "SparseSegmentMean"}) {
    kernels.add(make_kernel<prepare_segment<true>, launch_segment>(
        name, std::string("cuda.") + name, kFloats));
  }
}

}  // namespace tandem::cuda
