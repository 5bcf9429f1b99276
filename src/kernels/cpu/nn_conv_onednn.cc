// Convolutions on oneDNN: float32, and float16/bfloat16 where the machine computes them
// (else through float32, converted on the way into the workspace). Activations keep the
// user's layout when the channels are last, which oneDNN's fastest kernels want; weights
// take the layout that it chooses.
#include <cstring>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/nn_conv_problem.h"
#include "kernels/cpu/nn_onednn.h"
#include "kernels/cpu/nn_register.h"
#include "ops/fused_products.h"

namespace tandem::cpu {

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

struct ConvPlan {
  onednn::Call call;
  size_t zero_bytes = 0;  // nothing to compute: the result is that many zero bytes
  Epilogue rest;          // of a fused convolution: what the primitive does not do
  EpilogueShape result;
  size_t workspace_bytes = 0;
};

/// Dimensions and layouts in oneDNN's terms.
struct Layouts {
  memory::dims src, weights, dst, strides, dilations, before, after;
  memory::desc user_src, user_weights, user_dst;
  bool channels_first = false;
};

memory::dims packed_strides(const memory::dims& dims, bool channels_first) {
  memory::dims strides(dims.size());
  memory::dim step = channels_first ? 1 : dims[1];
  for (size_t i = dims.size() - 1; i >= 2; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[1] = channels_first ? step : 1;
  strides[0] = channels_first ? step * dims[1] : step;
  return strides;
}

Layouts layouts_of(const ConvProblem& p) {
  const nn::ConvShape& c = p.shape;
  const auto type = onednn::data_type(p.dtype);
  Layouts l;
  l.channels_first = c.channels_first;
  l.src = {c.batch, c.in_channels};
  l.dst = {c.batch, c.out_channels};
  if (c.groups > 1) l.weights.push_back(c.groups);
  l.weights.push_back(c.out_per_group());
  l.weights.push_back(c.in_per_group());
  for (int i = 0; i < c.spatial; ++i) {
    const nn::WindowDim& d = c.dims[i];
    l.src.push_back(d.in);
    l.dst.push_back(d.out);
    l.weights.push_back(d.size);
    l.strides.push_back(d.stride);
    l.dilations.push_back(d.dilation - 1);
    l.before.push_back(d.before);
    l.after.push_back(d.after);
  }
  // The filter is [spatial…, in / groups, out], whose last dimension is (group, out /
  // groups).
  memory::dims w_strides(l.weights.size());
  const size_t at = c.groups > 1 ? 1 : 0;
  if (at) w_strides[0] = c.out_per_group();
  w_strides[at] = 1;
  w_strides[at + 1] = c.out_channels;
  memory::dim step = c.out_channels * c.in_per_group();
  for (size_t i = l.weights.size() - 1; i >= at + 2; --i) {
    w_strides[i] = step;
    step *= l.weights[i];
  }
  l.user_src = memory::desc(l.src, type, packed_strides(l.src, c.channels_first));
  l.user_dst = memory::desc(l.dst, type, packed_strides(l.dst, c.channels_first));
  l.user_weights = memory::desc(l.weights, type, w_strides);
  return l;
}

/// The call with arithmetic in `type`; throws dnnl::error when oneDNN has no such
/// primitive.
onednn::Call make_call(const ConvProblem& p, const Layouts& l, memory::data_type type,
                       const onednn::End& end) {
  const auto activation = [&](const memory::dims& dims) {
    return l.channels_first ? memory::desc(dims, type, memory::format_tag::any)
                            : memory::desc(dims, type, packed_strides(dims, false));
  };
  const memory::desc src = activation(l.src), dst = activation(l.dst);
  const memory::desc weights(l.weights, type, memory::format_tag::any);
  const dnnl::primitive_attr attr = end.attr();
  onednn::Call call;
  onednn::WorkspaceLayout layout;
  const auto slot = [&](int arg, int index, bool output, const memory::desc& user,
                        const memory::desc& inner) {
    call.slots.push_back(onednn::make_slot(arg, index, output, user, inner, layout));
  };
  using Forward = dnnl::convolution_forward::primitive_desc;
  const auto bias = [&](memory::data_type t) {
    return memory::desc({p.shape.out_channels}, t, memory::format_tag::a);
  };
  const Forward forward =
      end.bias ? Forward(onednn::engine(), prop_kind::forward_training,
                         algorithm::convolution_direct, src, weights, bias(type), dst,
                         l.strides, l.dilations, l.before, l.after, attr)
               : Forward(onednn::engine(), prop_kind::forward_training,
                         algorithm::convolution_direct, src, weights, dst, l.strides,
                         l.dilations, l.before, l.after, attr);
  if (p.direction == ConvDirection::kForward) {
    call.primitive = dnnl::convolution_forward(forward);
    call.scratch = forward.scratchpad_desc();
    slot(DNNL_ARG_SRC, p.input, false, l.user_src, forward.src_desc());
    slot(DNNL_ARG_WEIGHTS, p.filter, false, l.user_weights, forward.weights_desc());
    slot(DNNL_ARG_DST, p.output, true, l.user_dst, forward.dst_desc());
    if (end.bias) {
      slot(DNNL_ARG_BIAS, 2, false, bias(onednn::data_type(p.dtype)),
           forward.bias_desc());
    }
  } else if (p.direction == ConvDirection::kByInput) {
    const dnnl::convolution_backward_data::primitive_desc pd(
        onednn::engine(), algorithm::convolution_direct, src, weights, dst, l.strides,
        l.dilations, l.before, l.after, forward, attr);
    call.primitive = dnnl::convolution_backward_data(pd);
    call.scratch = pd.scratchpad_desc();
    slot(DNNL_ARG_DIFF_SRC, p.input, true, l.user_src, pd.diff_src_desc());
    slot(DNNL_ARG_WEIGHTS, p.filter, false, l.user_weights, pd.weights_desc());
    slot(DNNL_ARG_DIFF_DST, p.output, false, l.user_dst, pd.diff_dst_desc());
  } else {
    const dnnl::convolution_backward_weights::primitive_desc pd(
        onednn::engine(), algorithm::convolution_direct, src, weights, dst, l.strides,
        l.dilations, l.before, l.after, forward, attr);
    call.primitive = dnnl::convolution_backward_weights(pd);
    call.scratch = pd.scratchpad_desc();
    slot(DNNL_ARG_SRC, p.input, false, l.user_src, pd.src_desc());
    slot(DNNL_ARG_DIFF_WEIGHTS, p.filter, true, l.user_weights, pd.diff_weights_desc());
    slot(DNNL_ARG_DIFF_DST, p.output, false, l.user_dst, pd.diff_dst_desc());
  }
  call.scratch_at = layout.take(call.scratch.get_size());
  call.workspace_bytes = layout.total();
  return call;
}

ConvPlan prepare_with(const Signature& s, const onednn::End& end) {
  const ConvProblem p = conv_problem(s);
  ConvPlan plan;
  if (p.empty()) {
    plan.zero_bytes = static_cast<size_t>(p.result_elements) * dtype_size(p.dtype);
    return plan;
  }
  // The library sums the parts of its threads, so that their number shows in the bits.
  const bool one = s.deterministic && p.direction == ConvDirection::kByFilter;
  const int count = one ? 1 : s.threads;
  const onednn::LibraryThreads threads(count);
  const Layouts l = layouts_of(p);
  const auto type = onednn::data_type(p.dtype);
  try {
    try {
      plan.call = make_call(p, l, type, end);
    } catch (const dnnl::error&) {
      if (type == memory::data_type::f32) throw;
      plan.call = make_call(p, l, memory::data_type::f32, end);
    }
  } catch (const dnnl::error& e) {
    throw InternalError(fmt::format(
        "{}: oneDNN has no primitive for input {} and filter {}: {}", s.op->name,
        s.in(p.input).shape.debug_str(), s.in(p.filter).shape.debug_str(), e.message));
  }
  plan.call.threads = count;
  plan.workspace_bytes = plan.call.workspace_bytes;
  return plan;
}

ConvPlan prepare_conv(const Signature& s) { return prepare_with(s, {}); }

ConvPlan prepare_fused_conv(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedConvAttrs>();
  const onednn::End end{has_bias(s), attrs.activation, attrs.alpha};
  ConvPlan plan = prepare_with(s, end);
  plan.rest = plan_epilogue(s.out().dtype, end.complete() ? "" : end.activation,
                            end.alpha, false);
  plan.result = {1, s.out().shape.num_elements(), 1};
  return plan;
}
bool fused_supported(const Signature& s) { return !conv_problem(s).empty(); }

void launch_conv(const ConvPlan& plan, const LaunchArgs& a) {
  if (!plan.call.primitive) {
    if (plan.zero_bytes) std::memset(a.outputs[0], 0, plan.zero_bytes);
    return;
  }
  onednn::execute(plan.call, a);
  apply_epilogue(plan.rest, plan.result, a.outputs[0], nullptr);
}

}  // namespace

void register_nn_conv_onednn_kernels(KernelRegistry& registry) {
  constexpr DTypeMask kTypes = kFloats & ~mask(DType::kFloat64);
  Kernel fused = make_kernel<prepare_fused_conv, launch_conv>(
      "FusedConv2D", "cpu.FusedConv2D.onednn", kTypes, fused_supported);
  fused.library_threads = true;
  registry.add(std::move(fused));
  for (const auto direction :
       {ConvDirection::kForward, ConvDirection::kByInput, ConvDirection::kByFilter}) {
    for (const char* op : conv_ops(direction)) {
      Kernel k = make_kernel<prepare_conv, launch_conv>(
          op, fmt::format("cpu.{}.onednn", op), kTypes);
      k.library_threads = true;
      registry.add(std::move(k));
    }
  }
}

}  // namespace tandem::cpu
