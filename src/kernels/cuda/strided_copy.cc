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

std::string copy_prefix(size_t element, bool wide_index, StridedCopy::Change change) {
  const char* moved = change == StridedCopy::Change::kNone ? ""
                      : element == 8                       ? "x ^= 1ull << 63;"
                                                           : "x.high ^= 1ull << 63;";
  return std::string(device_text("prelude.cuh")) +
         fmt::format(
             "typedef {} E;\ntypedef {} I;\ninline E moved(E x) {{ {} return x; }}\n",
             bits_text(element), wide_index ? "u64" : "u32", moved);
}

std::string move_text(size_t element, int rank, bool wide_index,
                      StridedCopy::Change change) {
  return copy_prefix(element, wide_index, change) +
         fmt::format("#define RANK {}\n", rank) + std::string(device_text("move.cuh"));
}

StridedCopy StridedCopy::flat(Device* device, size_t element, int64_t n,
                              int64_t in_offset, int64_t out_offset) {
  const CopyDim dims[] = {{n, 1, 1}};
  return StridedCopy(device, element, dims, in_offset, out_offset);
}

StridedCopy::StridedCopy(Device* device, size_t element, std::span<const CopyDim> given,
                         int64_t in_offset, int64_t out_offset, Change change) {
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
  const bool run =
      dims.empty() || (dims.size() == 1 && dims[0].in == 1 && dims[0].out == 1);
  if (run && change == Change::kNone) {
    bytes_ = (dims.empty() ? 1 : dims[0].n) * size;
    in_offset_ = in_offset * size;
    out_offset_ = out_offset * size;
    return;
  }
  const Box narrow{element, dims, in_offset, out_offset};
  if (change != Change::kNone || dims.back().in != 1 || dims.back().out != 1) {
    add_forms(device, narrow, change);
    return;
  }
  // Twice the width while every step, offset and the inner size allow it.
  int64_t times = 1;
  const auto divides = [&](int64_t t) {
    if (in_offset % t || out_offset % t || dims.back().n % t) return false;
    return std::all_of(dims.begin(), dims.end() - 1,
                       [t](const CopyDim& d) { return d.in % t == 0 && d.out % t == 0; });
  };
  while (size * times < 16 && divides(times * 2)) times *= 2;
  if (times > 1) {
    for (CopyDim& d : dims) {
      if (&d == &dims.back()) {
        d.n /= times;
      } else {
        d.in /= times;
        d.out /= times;
      }
    }
    add_forms(device,
              {element * static_cast<size_t>(times), merged(dims), in_offset / times,
               out_offset / times},
              change);
  }
  forms_.push_back(plain_form(device, narrow, change));
}

void StridedCopy::add_forms(Device* device, const Box& box, Change change) {
  const int64_t v = tile_vector(box.element);
  const bool vectors = box.in_offset % v == 0 && box.out_offset % v == 0;
  if (const auto best = find_planes(box.element, box.dims, vectors)) {
    forms_.push_back(plane_form(device, box, *best, change));
    if (best->tile.vector > 1) {
      forms_.push_back(
          plane_form(device, box, *find_planes(box.element, box.dims, false), change));
    }
  } else {
    forms_.push_back(plain_form(device, box, change));
  }
}

StridedCopy::Form StridedCopy::plain_form(Device* device, const Box& box, Change change) {
  Form f;
  f.alignment = box.element;
  f.n = 1;
  std::vector<CopyDim> dims = box.dims;
  if (dims.empty()) dims.push_back({1, 1, 1});
  for (const CopyDim& d : dims) f.n *= d.n;
  const size_t rank = dims.size();
  f.word[2] = static_cast<uint64_t>(f.n);
  f.word[3] = static_cast<uint64_t>(box.in_offset);
  f.word[4] = static_cast<uint64_t>(box.out_offset);
  for (size_t d = 0; d < rank; ++d) {
    f.word[5 + d] = static_cast<uint64_t>(dims[d].n);
    f.word[5 + rank + d] = static_cast<uint64_t>(dims[d].in);
    f.word[5 + 2 * rank + d] = static_cast<uint64_t>(dims[d].out);
  }
  f.function = find_function(
      device, "move",
      move_text(box.element, static_cast<int>(rank), f.n > UINT32_MAX, change), "move");
  return f;
}

StridedCopy::Form StridedCopy::plane_form(Device* device, const Box& box,
                                          const PlaneCopy& planes, Change change) {
  Form f;
  f.alignment = box.element * static_cast<size_t>(planes.tile.vector);
  f.tiled = true;
  f.n = planes.tiles();
  const int64_t words[] = {box.in_offset, box.out_offset, f.n,           planes.rows,
                           planes.cols,   planes.row_in,  planes.col_out};
  for (size_t i = 0; i < std::size(words); ++i) {
    f.word[2 + i] = static_cast<uint64_t>(words[i]);
  }
  const size_t rank = planes.batch.size();
  for (size_t d = 0; d < rank; ++d) {
    f.word[9 + d] = static_cast<uint64_t>(planes.batch[d].n);
    f.word[9 + rank + d] = static_cast<uint64_t>(planes.batch[d].in);
    f.word[9 + 2 * rank + d] = static_cast<uint64_t>(planes.batch[d].out);
  }
  f.function =
      find_function(device, "transpose",
                    transpose_text(copy_prefix(box.element, f.n > UINT32_MAX, change),
                                   static_cast<int>(rank), planes.tile),
                    "transpose");
  return f;
}

void StridedCopy::run(const StreamContext& stream, const void* in, void* out) const {
  if (bytes_) {
    copy_bytes(stream, static_cast<std::byte*>(out) + out_offset_,
               static_cast<const std::byte*>(in) + in_offset_,
               static_cast<size_t>(bytes_));
    return;
  }
  if (forms_.empty()) return;
  const auto from = reinterpret_cast<uint64_t>(in), to = reinterpret_cast<uint64_t>(out);
  const Form* f = &forms_.front();
  while (f != &forms_.back() && (from % f->alignment || to % f->alignment)) ++f;
  auto words = f->word;
  words[0] = from;
  words[1] = to;
  void* arguments[] = {words.data()};
  // A tile has a block to itself.
  const Grid grid =
      f->tiled ? grid_for(f->function, f->n * 256) : grid_for(f->function, f->n);
  launch_raw(f->function, stream, grid, arguments);
}

}  // namespace tandem::cuda
