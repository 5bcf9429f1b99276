#include "kernels/common/block_layout.h"

#include "ops/array_common.h"

namespace tandem {
namespace {

// One copy between an image [n, h·b, w·b, c] and its blocks [n, h, w, b·b·c], whichever
// is which: `in` are steps of the image, `out` those of the blocks.
std::vector<CopyDim> block_dims(const Shape& image, const Shape& blocks,
                                const BlockAttrs& attrs) {
  const int64_t b = attrs.block_size;
  const Ints i = row_major(image), o = row_major(blocks);
  if (attrs.data_format == ImageFormat::kNHWC) {
    const int64_t c = image[3];
    return {{image[0], i[0], o[0]},
            {blocks[1], b * i[1], o[1]},
            {blocks[2], b * i[2], o[2]},
            {b, i[1], b * c},
            {b, i[2], c},
            {c, 1, 1}};
  }
  const int64_t c = image[1];
  return {{image[0], i[0], o[0]},      {b, i[2], b * c * o[1]},
          {b, i[3], c * o[1]},         {c, i[1], o[1]},
          {blocks[2], b * i[2], o[2]}, {blocks[3], b * i[3], o[3]}};
}

}  // namespace

CopyLayouts space_to_depth_layout(const Signature& s) {
  return {{block_dims(s.in(0).shape, s.out().shape, s.attrs.as<BlockAttrs>()), 0, 0}};
}

CopyLayouts depth_to_space_layout(const Signature& s) {
  CopyLayout copy{block_dims(s.out().shape, s.in(0).shape, s.attrs.as<BlockAttrs>()), 0,
                  0};
  for (CopyDim& d : copy.dims) std::swap(d.in, d.out);
  return {std::move(copy)};
}

SpaceBatch space_to_batch_sizes(const Signature& s) {
  const auto& a = s.attrs.as<SpaceBatchAttrs>();
  return {s.in(0).shape, s.out().shape, a.block_shape, a.paddings, true};
}

SpaceBatch batch_to_space_sizes(const Signature& s) {
  const auto& a = s.attrs.as<BatchSpaceAttrs>();
  return {s.out().shape, s.in(0).shape, a.block_shape, a.crops, false};
}

}  // namespace tandem
