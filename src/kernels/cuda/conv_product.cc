// Convolutions with single taps and channels last, and their gradients, as the matrix
// products that they are: [places, input channels] × [input channels, output channels],
// through cuBLASLt. Nothing is moved or padded. A candidate beside tiles and cuDNN.
#include "kernels/cuda/conv_case.h"
#include "kernels/cuda/ended_product.h"
#include "kernels/cuda/families.h"

namespace tandem::cuda {

namespace {

struct ConvProduct {
  ConvDirection direction = ConvDirection::kForward;
  EndedProduct product;
  size_t workspace_bytes = 0;
};

constexpr int64_t kFewest =
    1 << 20;  // multiplications that are worth a library's product

bool conv_product_fits(const Signature& s) {
  const nn::ConvShape conv = conv_case(s).shape;
  if (conv.taps() != 1 || conv.groups != 1 || conv.channels_first) return false;
  for (int d = 0; d < conv.spatial; ++d) {
    const nn::WindowDim& w = conv.dims[d];
    if (w.stride != 1 || w.before != 0 || w.after != 0) return false;
  }
  const double work = static_cast<double>(conv.batch * conv.in_positions()) *
                      static_cast<double>(conv.in_channels * conv.out_channels);
  return work >= static_cast<double>(kFewest);
}

ConvProduct prepare_conv_product(const Signature& s) {
  const ConvCase c = conv_case(s);
  const int64_t places = c.shape.batch * c.shape.in_positions();
  const Shape input{places, c.shape.in_channels}, output{places, c.shape.out_channels},
      filter{c.shape.in_channels, c.shape.out_channels};
  TensorInfo a, b, result;
  a.dtype = b.dtype = result.dtype = c.dtype;
  a.shape = input;
  b.shape = filter;
  result.shape = output;
  MatMulAttrs attrs;
  if (c.direction == ConvDirection::kByInput) {  // gradient × filterᵀ
    attrs.transpose_b = true;
    a.shape = output;
    result.shape = input;
  } else if (c.direction == ConvDirection::kByFilter) {  // inputᵀ × gradient
    attrs.transpose_a = true;
    b.shape = output;
    result.shape = filter;
  }
  const TensorInfo operands[] = {a, b};
  Signature product = s;
  product.inputs = operands;
  product.outputs = {&result, 1};
  ConvProduct p{.direction = c.direction, .product = plan_ended(product, attrs, c.end)};
  p.workspace_bytes = p.product.workspace_bytes;
  return p;
}

void launch_conv_product(const ConvProduct& p, const LaunchArgs& a) {
  LaunchArgs product = a;
  void* operands[] = {a.inputs[0], a.inputs[1], nullptr};
  switch (p.direction) {
    case ConvDirection::kForward:  // input, filter, perhaps a bias
      return run_ended(p.product, a);
    case ConvDirection::kByInput:  // sizes, filter, gradient
      operands[0] = a.inputs[2];
      break;
    case ConvDirection::kByFilter:  // input, sizes, gradient
      operands[1] = a.inputs[2];
      break;
  }
  product.inputs = operands;
  run_ended(p.product, product);
}

}  // namespace

void register_conv_product(Kernels& kernels) {
  for (const std::string& op : conv_ops()) {
    if (op.starts_with("Depthwise")) continue;
    kernels.add(make_kernel<prepare_conv_product, launch_conv_product>(
        op, "cuda.product." + op, kFloats, conv_product_fits));
  }
}

}  // namespace tandem::cuda
