// CTCLossDense: float32 and float64, computed in float64; CTCGreedyDecode: the same.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "tandem/ops/nn_ctc.h"

namespace tandem::cuda {

std::string ctc_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("ctc.cuh"));
}

namespace {

/// The layout is known to device/ctc.cuh.
struct Ctc {
  int64_t time = 0, batch = 0, classes = 0, blank = 0, width = 0, states = 0, doubles = 0;
};
struct CtcPlan {
  Function function;
  Ctc args;
  int32_t merge_repeated = 0;
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = 0;
};

CtcPlan plan_ctc(const Signature& s, int64_t blank, const char* entry) {
  const Shape& x = s.in(0).shape;
  CtcPlan p;
  p.args.time = x[0];
  p.args.batch = x[1];
  p.args.classes = x[2];
  p.args.blank = blank < 0 ? blank + x[2] : blank;
  p.function = find_function(s.device, s.op->name, ctc_text(s.in(0).dtype), entry);
  return p;
}

ReportWords length_words(const std::string& op, const char* of, const Report& r) {
  return {fmt::format(
              "{}: {}({}) <= {} is wanted, and not below 0, but it is {}. Give lengths "
              "of at most the padded size.",
              op, of, r.position, r.extra, r.value),
          ErrorCode::kFailedPrecondition};
}

CtcPlan prepare_loss(const Signature& s) {
  CtcPlan p = plan_ctc(s, s.attrs.as<nn::CtcAttrs>().blank_index, "ctc_loss");
  Ctc& c = p.args;
  c.width = s.in(1).shape[1];
  c.states = 2 * c.width + 1;
  // Log-probabilities and forward sums of all steps; two rows of backward sums, shares,
  // and where equal labels are.
  c.doubles = c.time * (c.classes + c.states) + 5 * c.states;
  p.workspace_bytes = static_cast<size_t>(c.batch * c.doubles) * sizeof(double);
  const int64_t width = std::max<int64_t>(c.width, 1);
  p.site = std::make_shared<ErrorSite>([width](const Report& r) -> ReportWords {
    if (r.code < 3) {
      return length_words("CTCLossDense", r.code == 1 ? "logit_length" : "label_length",
                          r);
    }
    return fmt::format(
        "CTCLossDense: label {} of example {} is {}, which is not in "
        "[0, {}).",
        r.position % width, r.position / width, r.value, r.extra);
  });
  return p;
}
void launch_loss(const CtcPlan& p, const LaunchArgs& a) {
  if (p.args.batch == 0) return;
  const Grid grid{.x = static_cast<unsigned>(std::min<int64_t>(p.args.batch, 1 << 20)),
                  .threads = 256};
  launch(p.function, *a.stream, grid, a.inputs[0], a.inputs[1], a.inputs[2], a.inputs[3],
         a.outputs[0], a.outputs[1], a.workspace, p.args, flags_of(a), p.site->id());
}

CtcPlan prepare_greedy(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::CtcGreedyAttrs>();
  CtcPlan p = plan_ctc(s, attrs.blank_index, "ctc_greedy");
  p.merge_repeated = attrs.merge_repeated;
  p.site = std::make_shared<ErrorSite>([](const Report& r) {
    return length_words("CTCGreedyDecode", "sequence_length", r);
  });
  return p;
}
void launch_greedy(const CtcPlan& p, const LaunchArgs& a) {
  if (p.args.batch == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, 32 * p.args.batch), a.inputs[0],
         a.inputs[1], a.outputs[0], a.outputs[1], p.merge_repeated, p.args, flags_of(a),
         p.site->id());
}

}  // namespace

void register_ctc(Kernels& kernels) {
  constexpr DTypeMask kWide = mask(DType::kFloat32, DType::kFloat64);
  kernels.add(
      make_kernel<prepare_loss, launch_loss>("CTCLossDense", "cuda.ctc_loss", kWide));
  kernels.add(make_kernel<prepare_greedy, launch_greedy>("CTCGreedyDecode",
                                                         "cuda.ctc_greedy", kWide));
}

}  // namespace tandem::cuda
