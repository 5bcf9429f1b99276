// NonMaxSuppressionV5 and NonMaxSuppressionWithOverlaps: float32. How many boxes are
// chosen is read by the host.
#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/host_read.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string suppress_text() {
  return text_prefix(false) + std::string(device_text("image_suppress.cuh"));
}

namespace {

/// The layout is known to device/image_suppress.cuh.
struct Suppression {
  const void *overlaps = nullptr, *scores = nullptr, *most = nullptr;
  const void *threshold = nullptr, *least = nullptr, *sigma = nullptr;
  float* left = nullptr;
  int32_t* chosen = nullptr;
  float* chosen_scores = nullptr;
  int64_t* count = nullptr;
  int64_t n = 0;
  int32_t matrix = 0;
};
struct SuppressionPlan {
  Function function;
  int64_t n = 0;
  int32_t matrix = 0;
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = 0;  // the count; scores left; indices and scores chosen
};

template <bool kMatrix>
SuppressionPlan prepare_suppression(const Signature& s) {
  SuppressionPlan p;
  p.n = s.in(1).shape[0];
  p.matrix = kMatrix;
  p.function = find_function(s.device, s.op->name, suppress_text(), "choose_boxes");
  p.site = std::make_shared<ErrorSite>([](const Report& r) {
    if (r.code == 2) {
      return fmt::format(
          "NonMaxSuppression: max_output_size must be non-negative, got {}", r.value);
    }
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(r.value));
    return r.code == 3
               ? fmt::format(
                     "NonMaxSuppression: soft_nms_sigma must be non-negative, got {}",
                     value)
               : fmt::format("NonMaxSuppression: iou_threshold must be in [0, 1], got {}",
                             value);
  });
  p.workspace_bytes = sizeof(int64_t) + static_cast<size_t>(p.n) * 12;
  return p;
}

void launch_suppression(const SuppressionPlan& p, const LaunchArgs& a,
                        OutputAllocator& outputs) {
  Suppression args;
  args.overlaps = a.inputs[0];
  args.scores = a.inputs[1];
  args.most = a.inputs[2];
  args.threshold = a.inputs[3];
  args.least = a.inputs[4];
  args.sigma = a.inputs[5];
  args.count = static_cast<int64_t*>(a.workspace);
  args.left = reinterpret_cast<float*>(args.count + 1);
  args.chosen = reinterpret_cast<int32_t*>(args.left + p.n);
  args.chosen_scores = reinterpret_cast<float*>(args.chosen + p.n);
  args.n = p.n;
  args.matrix = p.matrix;
  launch(p.function, *a.stream, {.threads = 1024}, args, flags_of(a), p.site->id());
  int64_t count = 0;
  read_words(*a.stream, args.count, {&count, 1});
  const auto bytes = static_cast<size_t>(count) * 4;
  copy_bytes(*a.stream, outputs.allocate(0, Shape{count}), args.chosen, bytes);
  copy_bytes(*a.stream, outputs.allocate(1, Shape{count}), args.chosen_scores, bytes);
}

}  // namespace

void register_image_suppress(Kernels& kernels) {
  kernels.add(make_kernel<prepare_suppression<false>, launch_suppression>(
      "NonMaxSuppressionV5", "cuda.suppress.boxes"));
  kernels.add(make_kernel<prepare_suppression<true>, launch_suppression>(
      "NonMaxSuppressionWithOverlaps", "cuda.suppress.overlaps"));
}

}  // namespace tandem::cuda
