#include "kernels/cuda/strided_copy.h"

#include <algorithm>

#include <fmt/format.h>

namespace tandem::cuda {
namespace {

/// Drops dimensions of size 1 and merges neighbours that are one run on both sides.
std::vector<CopyDim> merged(std::span<const CopyDim> dims) {
  std::vector<CopyDim> out;
  for (const CopyDim& d : dims) {
    if (d.n == 1) continue;
    if (!out.empty() && out.back().in == d.in * d.n && out.back().out == d.out * d.n) {
      out.back() = {out.back().n * d.n, d.in, d.out};
    } else {
      out.push_back(d);
    }
  }
  return out;
}

}  // namespace

std::string move_text(size_t element, int rank, bool wide_index) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} E;\ntypedef {} I;\n#define RANK {}\n",
                     bits_text(element), wide_index ? "u64" : "u32", rank) +
         std::string(device_text("move.cuh"));
}

StridedCopy StridedCopy::flat(Device* device, size_t element, int64_t n,
                              int64_t in_offset, int64_t out_offset) {
  const CopyDim dims[] = {{n, 1, 1}};
  return StridedCopy(device, element, dims, in_offset, out_offset);
}

StridedCopy::StridedCopy(Device* device, size_t element, std::span<const CopyDim> given,
                         int64_t in_offset, int64_t out_offset) {
  for (const CopyDim& d : given) {
    if (d.n == 0) return;
  }
  std::vector<CopyDim> dims = merged(given);
  // Threads walk the output: its smallest step innermost.
  std::stable_sort(dims.begin(), dims.end(), [](const CopyDim& a, const CopyDim& b) {
    return std::abs(a.out) > std::abs(b.out);
  });
  dims = merged(dims);
  const auto size = static_cast<int64_t>(element);
  if (dims.empty() || (dims.size() == 1 && dims[0].in == 1 && dims[0].out == 1)) {
    bytes_ = (dims.empty() ? 1 : dims[0].n) * size;
    in_offset_ = in_offset * size;
    out_offset_ = out_offset * size;
    return;
  }
  narrow_ = form(device, element, dims, in_offset, out_offset);
  if (dims.back().in != 1 || dims.back().out != 1) return;
  // Twice the width while every step, offset and the inner size allow it.
  int64_t times = 1;
  const auto divides = [&](int64_t t) {
    if (in_offset % t || out_offset % t || dims.back().n % t) return false;
    return std::all_of(dims.begin(), dims.end() - 1,
                       [t](const CopyDim& d) { return d.in % t == 0 && d.out % t == 0; });
  };
  while (size * times < 16 && divides(times * 2)) times *= 2;
  if (times == 1) return;
  for (CopyDim& d : dims) {
    if (&d == &dims.back()) {
      d.n /= times;
    } else {
      d.in /= times;
      d.out /= times;
    }
  }
  wide_ = form(device, element * static_cast<size_t>(times), merged(dims),
               in_offset / times, out_offset / times);
}

StridedCopy::Form StridedCopy::form(Device* device, size_t element,
                                    std::vector<CopyDim> dims, int64_t in_offset,
                                    int64_t out_offset) const {
  Form f;
  f.element = element;
  f.n = 1;
  if (dims.empty()) dims.push_back({1, 1, 1});
  for (const CopyDim& d : dims) f.n *= d.n;
  const size_t rank = dims.size();
  f.words = static_cast<int>(5 + 3 * rank);
  f.word[2] = static_cast<uint64_t>(f.n);
  f.word[3] = static_cast<uint64_t>(in_offset);
  f.word[4] = static_cast<uint64_t>(out_offset);
  for (size_t d = 0; d < rank; ++d) {
    f.word[5 + d] = static_cast<uint64_t>(dims[d].n);
    f.word[5 + rank + d] = static_cast<uint64_t>(dims[d].in);
    f.word[5 + 2 * rank + d] = static_cast<uint64_t>(dims[d].out);
  }
  f.function =
      find_function(device, "move",
                    move_text(element, static_cast<int>(rank), f.n > UINT32_MAX), "move");
  return f;
}

void StridedCopy::run(const StreamContext& stream, const void* in, void* out) const {
  if (bytes_) {
    copy_bytes(stream, static_cast<std::byte*>(out) + out_offset_,
               static_cast<const std::byte*>(in) + in_offset_,
               static_cast<size_t>(bytes_));
    return;
  }
  if (narrow_.n == 0) return;
  const auto from = reinterpret_cast<uint64_t>(in), to = reinterpret_cast<uint64_t>(out);
  const bool wide = wide_.n > 0 && from % wide_.element == 0 && to % wide_.element == 0;
  const Form& f = wide ? wide_ : narrow_;
  auto words = f.word;
  words[0] = from;
  words[1] = to;
  void* arguments[] = {words.data()};
  launch_raw(f.function, stream, grid_for(f.function, f.n), arguments);
}

}  // namespace tandem::cuda
