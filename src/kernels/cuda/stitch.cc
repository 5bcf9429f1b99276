// DynamicStitch: any dtype but strings, by element size.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/host_read.h"
#include "kernels/cuda/index_words.h"
#include "kernels/cuda/strided_copy.h"
#include "kernels/cuda/wide_elements.h"
#include "tensor/buffer.h"

namespace tandem::cuda {

std::string stitch_text(size_t element) {
  return copy_prefix(element, true) + std::string(device_text("stitch.cuh"));
}

namespace {

struct StitchPlan {
  Function count, claim;
  WideFunction write;
  std::shared_ptr<ErrorSite> site;
  Shape slice;
  int64_t row = 0;
  size_t element = 0;
  std::vector<int64_t> counts;               // indices of each list
  size_t workspace_bytes = sizeof(int64_t);  // the number of rows
};

StitchPlan prepare_stitch(const Signature& s) {
  StitchPlan p;
  const int lists = static_cast<int>(s.inputs.size()) / 2;
  const Shape& data = s.in(lists).shape;
  p.element = dtype_size(s.in(lists).dtype);
  p.slice = data.slice(s.in(0).shape.rank(), data.rank());
  p.row = p.slice.num_elements();
  for (int i = 0; i < lists; ++i) p.counts.push_back(s.in(i).shape.num_elements());
  const std::string text = stitch_text(p.element);
  p.count = find_function(s.device, s.op->name, text, "count_rows");
  p.claim = find_function(s.device, s.op->name, text, "claim_rows");
  p.write = WideFunction::find(s, p.element, p.row, "write_rows", stitch_text);
  p.site = std::make_shared<ErrorSite>([op = s.op->name](const Report& r) {
    return fmt::format("{}: indices[{}] is out of range: it holds {}", op, r.position,
                       r.value);
  });
  return p;
}

int64_t read_rows(const StitchPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  fill_zeros(*a.stream, rows, sizeof(int64_t));
  for (size_t k = 0; k < p.counts.size(); ++k) {
    if (p.counts[k] == 0) continue;
    launch(p.count, *a.stream, grid_for(p.count, p.counts[k]), a.inputs[k], p.counts[k],
           rows, static_cast<int32_t>(k), flags_of(a), p.site->id());
  }
  int64_t known = 0;
  read_words(*a.stream, rows, {&known, 1});
  return known;
}

void launch_stitch(const StitchPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const int64_t rows = read_rows(p, a);
  Shape shape = p.slice;
  shape.insert(0, rows);
  void* out = outputs.allocate(0, shape);
  if (rows * p.row == 0) return;
  const StreamContext& stream = *a.stream;
  // Rows without an index are zero.
  fill_zeros(stream, out, static_cast<size_t>(rows * p.row) * p.element);
  // Who writes each row: as many as the data say, so no workspace can be prepared.
  const size_t bytes = static_cast<size_t>(rows) * sizeof(int64_t);
  const Ref<Buffer> memory = Buffer::allocate(*stream.device, bytes);
  LeaseSet leases;
  auto* owner = static_cast<int64_t*>(leases.address(memory));
  fill_bytes(stream, owner, 0xff, bytes);
  int64_t base = 0;
  for (size_t k = 0; k < p.counts.size(); base += p.counts[k++]) {
    if (p.counts[k] == 0) continue;
    launch(p.claim, stream, grid_for(p.claim, p.counts[k]), a.inputs[k], p.counts[k],
           base, owner);
  }
  base = 0;
  for (size_t k = 0; k < p.counts.size(); base += p.counts[k++]) {
    if (p.counts[k] == 0) continue;
    const void* data = a.inputs[p.counts.size() + k];
    const bool wide = p.write.fits(data, out);
    const Function& f = wide ? p.write.wide : p.write.narrow;
    const int64_t row = p.row / (wide ? p.write.times : 1);
    launch(f, stream, grid_for(f, p.counts[k] * row), a.inputs[k], data, p.counts[k], row,
           base, owner, out);
  }
  wait_for_work(stream);
}

}  // namespace

void register_stitch(Kernels& kernels) {
  kernels.add(make_kernel<prepare_stitch, launch_stitch>("DynamicStitch",
                                                         "cuda.dynamic_stitch", kPlain));
}

}  // namespace tandem::cuda
