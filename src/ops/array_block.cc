// Blocks: SpaceToDepth, DepthToSpace, SpaceToBatchND, BatchToSpaceND.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// Dimensions of an image batch by what they are.
struct ImageAxes {
  int height, width, channels;
};
ImageAxes image_axes(ImageFormat format) {
  return format == ImageFormat::kNHWC ? ImageAxes{1, 2, 3} : ImageAxes{2, 3, 1};
}

// Blocks of more pixels have a square that 32 bits do not hold; TensorFlow's limit.
constexpr int64_t kMaxBlock = 46340;

// Sizes and what is asked to be done with them are the user's: their products and sums
// may go past 64 bits.
int64_t product(const InferContext& c, int64_t n, int64_t by) {
  int64_t result;
  if (__builtin_mul_overflow(n, by, &result)) {
    c.fail(fmt::format("{} times {} does not fit in 64 bits. Check the sizes.", n, by));
  }
  return result;
}
int64_t sum(const InferContext& c, int64_t n, int64_t more) {
  int64_t result;
  if (__builtin_add_overflow(n, more, &result)) {
    c.fail(
        fmt::format("{} and {} more do not fit in 64 bits. Check the sizes.", n, more));
  }
  return result;
}
int64_t multiplied(const InferContext& c, int64_t n, int64_t by) {
  return n == kUnknownDim ? n : product(c, n, by);
}
int64_t divided(int64_t n, int64_t by) { return n == kUnknownDim ? n : n / by; }

void check_block(const InferContext& c, const BlockAttrs& a) {
  if (a.block_size < 2) {
    c.fail(fmt::format("Value for attr 'block_size' of {} must be at least minimum 2",
                       a.block_size));
  }
  if (a.block_size > kMaxBlock) {
    c.fail(fmt::format("Block size should be > 1 and <= {}, got {}", kMaxBlock,
                       a.block_size));
  }
  c.rank(0, 4);
}

void infer_space_to_depth(InferContext& c) {
  const auto& a = c.attrs<BlockAttrs>();
  check_block(c, a);
  Shape s = c.shape(0).has_rank() ? c.shape(0) : Shape::unknown_of_rank(4);
  const ImageAxes x = image_axes(a.data_format);
  const int64_t b = a.block_size;
  if ((s[x.height] != kUnknownDim && s[x.height] % b != 0) ||
      (s[x.width] != kUnknownDim && s[x.width] % b != 0)) {
    c.fail(
        fmt::format("Image width {} and height {} should be divisible by block_size: {}",
                    s[x.width], s[x.height], b));
  }
  s.set(x.height, divided(s[x.height], b));
  s.set(x.width, divided(s[x.width], b));
  s.set(x.channels, multiplied(c, s[x.channels], b * b));
  c.add_output(c.dtype(0), s);
}
void infer_depth_to_space(InferContext& c) {
  const auto& a = c.attrs<BlockAttrs>();
  check_block(c, a);
  Shape s = c.shape(0).has_rank() ? c.shape(0) : Shape::unknown_of_rank(4);
  const ImageAxes x = image_axes(a.data_format);
  const int64_t b = a.block_size;
  if (s[x.channels] != kUnknownDim && s[x.channels] % (b * b) != 0) {
    c.fail(fmt::format("Input depth dimension {} should be divisible by: {}",
                       s[x.channels], b * b));
  }
  s.set(x.height, multiplied(c, s[x.height], b));
  s.set(x.width, multiplied(c, s[x.width], b));
  s.set(x.channels, divided(s[x.channels], b * b));
  c.add_output(c.dtype(0), s);
}
void grad_space_to_depth(GradContext& c) {
  c.set(0, depth_to_space(c.grad(), c.attrs<BlockAttrs>()));
}
void grad_depth_to_space(GradContext& c) {
  c.set(0, space_to_depth(c.grad(), c.attrs<BlockAttrs>()));
}

int64_t check_space_batch(const InferContext& c, const Ints& block, const Ints& edges,
                          const char* edge_name) {
  int64_t all = 1;
  for (size_t i = 0; i < block.size(); ++i) {
    if (block[i] < 1) {
      c.fail(fmt::format(
          "All values in block_shape must be positive, got value, {} at index {}.",
          block[i], i));
    }
    all = product(c, all, block[i]);
  }
  if (edges.size() != 2 * block.size()) {
    c.fail(fmt::format("{} should have shape [{}, 2], got {} values", edge_name,
                       block.size(), edges.size()));
  }
  for (int64_t e : edges) {
    if (e < 0) c.fail(fmt::format("{} must be non-negative", edge_name));
  }
  const int wanted = static_cast<int>(block.size()) + 1;
  if (c.shape(0).has_rank() && c.shape(0).rank() < wanted) {
    c.fail(fmt::format("input rank should be >= {} instead of {}", wanted,
                       c.shape(0).rank()));
  }
  return all;
}

void infer_space_to_batch(InferContext& c) {
  const auto& a = c.attrs<SpaceBatchAttrs>();
  const int64_t blocks = check_space_batch(c, a.block_shape, a.paddings, "Paddings");
  Shape s = c.shape(0);
  for (size_t i = 0; s.has_rank() && i < a.block_shape.size(); ++i) {
    const int d = static_cast<int>(i) + 1;
    if (s[d] == kUnknownDim) continue;
    const int64_t padded = sum(c, sum(c, s[d], a.paddings[2 * i]), a.paddings[2 * i + 1]);
    if (padded % a.block_shape[i] != 0) {
      c.fail(fmt::format("padded_shape[{0}]={1} is not divisible by block_shape[{0}]={2}",
                         i, padded, a.block_shape[i]));
    }
    s.set(d, padded / a.block_shape[i]);
  }
  if (s.has_rank()) s.set(0, multiplied(c, s[0], blocks));
  c.add_output(c.dtype(0), s);
}
void infer_batch_to_space(InferContext& c) {
  const auto& a = c.attrs<BatchSpaceAttrs>();
  const int64_t blocks = check_space_batch(c, a.block_shape, a.crops, "Crops");
  Shape s = c.shape(0);
  if (s.has_rank() && s[0] != kUnknownDim && s[0] % blocks != 0) {
    c.fail(fmt::format(
        "Input batch dimension ({}) is not divisible by product of block sizes ({})",
        s[0], blocks));
  }
  for (size_t i = 0; s.has_rank() && i < a.block_shape.size(); ++i) {
    const int d = static_cast<int>(i) + 1;
    if (s[d] == kUnknownDim) continue;
    const int64_t cropped =
        product(c, s[d], a.block_shape[i]) - sum(c, a.crops[2 * i], a.crops[2 * i + 1]);
    if (cropped < 0) {
      c.fail(fmt::format("cropped_shape[{}]={} must be non-negative", i, cropped));
    }
    s.set(d, cropped);
  }
  if (s.has_rank()) s.set(0, divided(s[0], blocks));
  c.add_output(c.dtype(0), s);
}
void grad_space_to_batch(GradContext& c) {
  const auto& a = c.attrs<SpaceBatchAttrs>();
  c.set(0, batch_to_space(c.grad(), {a.block_shape, a.paddings}));
}
void grad_batch_to_space(GradContext& c) {
  const auto& a = c.attrs<BatchSpaceAttrs>();
  c.set(0, space_to_batch(c.grad(), {a.block_shape, a.crops}));
}

OpDef block_op(const char* name, const char* doc, const AttrsType& attrs,
               void (*infer)(InferContext&), void (*gradient)(GradContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kPlain}};
  def.inputs = {{.name = "input"}};
  def.attrs = &attrs;
  def.infer = infer;
  def.gradient = gradient;
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  return def;
}

}  // namespace

void register_array_block_ops(OpTable& table) {
  table.add(block_op("SpaceToDepth", "Moves blocks of pixels into channels.",
                     attrs_type<BlockAttrs>(), infer_space_to_depth,
                     grad_space_to_depth));
  table.add(block_op("DepthToSpace", "Moves channels into blocks of pixels.",
                     attrs_type<BlockAttrs>(), infer_depth_to_space,
                     grad_depth_to_space));
  table.add(
      block_op("SpaceToBatchND", "Moves blocks of the spatial dimensions into the batch.",
               attrs_type<SpaceBatchAttrs>(), infer_space_to_batch, grad_space_to_batch));
  table.add(block_op(
      "BatchToSpaceND", "Moves batch entries into blocks of the spatial dimensions.",
      attrs_type<BatchSpaceAttrs>(), infer_batch_to_space, grad_batch_to_space));
}

Tensor space_to_depth(const Tensor& x, BlockAttrs attrs) {
  static const OpHandle op("SpaceToDepth");
  return emit(op, {x}, attrs);
}
Tensor depth_to_space(const Tensor& x, BlockAttrs attrs) {
  static const OpHandle op("DepthToSpace");
  return emit(op, {x}, attrs);
}
Tensor space_to_batch(const Tensor& x, SpaceBatchAttrs attrs) {
  static const OpHandle op("SpaceToBatchND");
  return emit(op, {x}, attrs);
}
Tensor batch_to_space(const Tensor& x, BatchSpaceAttrs attrs) {
  static const OpHandle op("BatchToSpaceND");
  return emit(op, {x}, attrs);
}

}  // namespace tandem
