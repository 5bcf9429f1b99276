// Runs stretches of tiles: for each block of elements one indirect call per instruction.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/fused_expand.h"
#include "kernels/cpu/fused_groups.h"

namespace tandem::cpu {

namespace {

using StepKind = FusedStep::Kind;
using Place = FusedSlot::Place;
using Form = FusedOutput::Form;

constexpr int kLaneRows = 64;  // rows that column sums add up in float

// How an output that has a block register gets to memory.
enum class Write : uint8_t { kDirect, kCopied, kStreamed };

class Runner {
 public:
  Runner(const FusedPlan& plan, const LaunchArgs& args, std::byte* store)
      : plan_(plan), args_(args), store_(store) {}

  void run(const FusedItem& item) {
    start(item);
    const FusedGroup& group = *group_;
    const int64_t block = code_->block, columns = geometry_->columns;
    if (group.tiles_per_row > 1) {
      int64_t row = item.begin / group.tiles_per_row;
      int64_t column = item.begin % group.tiles_per_row * block;
      for (int64_t t = item.begin; t < item.end; ++t) {
        tile(row, 1, column, std::min(block, columns - column));
        column += block;
        if (column < columns) continue;
        column = 0;
        ++row;
      }
    } else {
      const int64_t step = code_->rows_per_tile, rows = geometry_->rows;
      for (int64_t t = item.begin; t < item.end; ++t) {
        tile(t * step, std::min(step, rows - t * step), 0, columns);
      }
    }
    if (plan_.reduces) flush_lanes();
  }

  // From the first tile of one item to the last of another, whose groups lie end to end.
  void run_joined(const FusedItem& from, const FusedItem& to) {
    const FusedJoin& join = *plan_.join;
    const int64_t origin = join.first[from.group];
    const int64_t end = join.first[to.group] + element(to.group, to.end) - origin;
    enter(join.whole, from.group);
    for (int64_t at = element(from.group, from.begin); at < end; at += code_->block) {
      tile(0, 1, at, std::min(code_->block, end - at));
    }
  }

 private:
  // Where a tile of a group of one row begins.
  int64_t element(size_t group, int64_t tile) const {
    const FusedGroup& g = plan_.groups[group];
    return std::min(tile * plan_.codes[g.code].block, g.geometry.elements());
  }
  std::byte* input(size_t i) const { return static_cast<std::byte*>(inputs_[i]); }
  std::byte* output(size_t o) const { return static_cast<std::byte*>(outputs_[o]); }

  // ---- Groups
  // --------------------------------------------------------------------------
  void start(const FusedItem& item) {
    enter(plan_.groups[item.group], item.group);
    if (item.part == 0 && code_->writes_singles) write_singles();
    if (plan_.reduces) start_parts(item);
  }
  // `number`: of the group whose pointers count.
  void enter(const FusedGroup& group, size_t number) {
    const FusedCode& code = plan_.codes[group.code];
    void* const* inputs = args_.inputs + number * static_cast<size_t>(plan_.inputs);
    if (&group != group_ || inputs != inputs_) {
      // Optimizer steps have hundreds of groups that share their single elements.
      bool prologue = !code_ || &code != code_;
      for (size_t i = 0; !prologue && i < code.prologue_inputs.size(); ++i) {
        prologue = inputs[code.prologue_inputs[i]] != inputs_[code.prologue_inputs[i]];
      }
      if (&code != code_) {
        for (size_t s = 0; s < code.slots.size(); ++s) {
          pointer_[s] = arena_ + code.slots[s].offset;
        }
      }
      group_ = &group;
      code_ = &code;
      geometry_ = &group.geometry;
      inputs_ = inputs;
      outputs_ = args_.outputs + number * static_cast<size_t>(plan_.outputs);
      for (uint16_t s : code.resting) pointer_[s] = input(code.slots[s].index);
      if (prologue) {
        rows_ = width_ = 1;
        steps(0, code.prologue, 1);
      }
      choose_writes();
    }
  }

  void choose_writes() {
    direct_ = true;
    for (size_t o = 0; o < code_->outputs.size(); ++o) {
      const FusedOutput& out = code_->outputs[o];
      if (out.form == Form::kCopy) direct_ = false;
      if (out.form != Form::kFull) continue;
      writes_[o] = choose_write(out, output(o));
      if (writes_[o] == Write::kDirect) continue;
      direct_ = false;
      pointer_[out.slot] = arena_ + code_->slots[out.slot].offset;
    }
  }
  Write choose_write(const FusedOutput& out, const std::byte* to) const {
    for (uint16_t i : out.later_reads) {
      if (input(i) == to) return Write::kCopied;
    }
    if (geometry_->elements() * out.size < kStreamedBytes || !block_table().stream() ||
        reinterpret_cast<uintptr_t>(to) % kStreamAlign != 0) {
      return Write::kDirect;
    }
    // What lies over an input is in the cache already.
    for (size_t i = 0; i < static_cast<size_t>(plan_.inputs); ++i) {
      if (input(i) == to) return Write::kDirect;
    }
    return Write::kStreamed;
  }
  void write_singles() {
    for (size_t o = 0; o < code_->outputs.size(); ++o) {
      const FusedOutput& out = code_->outputs[o];
      if (out.form == Form::kSingle) std::memcpy(output(o), pointer_[out.slot], out.size);
    }
  }

  // ---- Partial results of column and all reductions
  // ------------------------------------
  std::byte* accumulators(size_t r) const {
    return part_ + fused_partial_offset(*code_, *geometry_, r);
  }
  float* lanes(size_t r) const {
    const auto bytes =
        geometry_->columns * static_cast<int64_t>(code_->reductions[r].loops->acc_size);
    return reinterpret_cast<float*>(accumulators(r) + (bytes + 63) / 64 * 64);
  }
  void start_parts(const FusedItem& item) {
    part_ = static_cast<std::byte*>(args_.workspace) + group_->partials +
            item.part * group_->partial_bytes;
    lane_rows_ = 0;
    for (size_t r = 0; r < code_->reductions.size(); ++r) {
      const FusedReduction& red = code_->reductions[r];
      if (red.kind == FusedReduction::Kind::kRow) continue;
      const bool column = red.kind == FusedReduction::Kind::kColumn;
      const int64_t n = column ? geometry_->columns : 1;
      red.loops->init(accumulators(r), n);
      if (red.lanes) std::fill_n(lanes(r), n, 0.0f);
    }
  }
  void flush_lanes() {
    for (size_t r = 0; r < code_->reductions.size(); ++r) {
      if (!code_->reductions[r].lanes) continue;
      fold_columns(code_->reductions[r], lanes(r), 1, geometry_->columns,
                   accumulators(r));
      std::fill_n(lanes(r), geometry_->columns, 0.0f);
    }
  }
  static void fold_columns(const FusedReduction& red, const void* x, int64_t rows,
                           int64_t columns, std::byte* acc) {
    const auto* from = static_cast<const std::byte*>(x);
    const auto in = static_cast<int64_t>(red.loops->in_size);
    const auto each = static_cast<int64_t>(red.loops->acc_size);
    for (int64_t c = 0; c < columns; c += kReduceChunk) {
      const int64_t m = std::min(kReduceChunk, columns - c);
      red.loops->columns(from + c * in, rows, columns, m, acc + c * each);
    }
  }
  void column_fold(size_t r, const std::byte* x, int64_t n) {
    const FusedReduction& red = code_->reductions[r];
    const auto each = static_cast<int64_t>(red.loops->acc_size);
    if (!red.lanes) {
      fold_columns(red, x, rows_, rows_ ? n / rows_ : 0,
                   accumulators(r) + column_ * each);
      return;
    }
    float* to = lanes(r) + column_;
    const int64_t width = rows_ ? n / rows_ : 0;
    for (int64_t row = 0; row < rows_; ++row, x += width * 4) {
      const void* operands[kMaxOperands] = {to, x, x};
      red.lanes(operands, to, width, {});
    }
  }

  // ---- Tiles
  // ---------------------------------------------------------------------------
  void move(int64_t row, int64_t column) {
    const int64_t element = row * geometry_->columns + column;
    for (uint16_t s : code_->moving) {
      const FusedSlot& slot = code_->slots[s];
      const auto size = static_cast<int64_t>(slot.size);
      switch (slot.place) {
        case Place::kInput:
          pointer_[s] = input(slot.index) + input_offset(slot.index, row, column) * size;
          break;
        case Place::kOutput:
          if (writes_[slot.index] == Write::kDirect) {
            pointer_[s] = output(slot.index) + element * size;
          }
          break;
        default: {
          const int64_t padded = (geometry_->columns + 63) / 64 * 64;
          pointer_[s] = store_ + padded * slot.offset + column * size;
        }
      }
    }
    column_ = column;
  }
  int64_t input_offset(size_t i, int64_t row, int64_t column) const {
    switch (geometry_->access[i]) {
      case Access::kFull:
        return row * geometry_->columns + column;
      case Access::kRow:
        return row;
      case Access::kColumn:
        return column;
      case Access::kOuter:
        return geometry_->outer_offset(i, row);
      case Access::kInner:
        return geometry_->outer_offset(i, row) + column;
      default:
        return 0;
    }
  }

  void tile(int64_t row, int64_t rows, int64_t column, int64_t width) {
    row_ = row;
    rows_ = rows;
    if (column == 0 && plan_.reduces) {
      if (lane_rows_ + rows > kLaneRows) {
        flush_lanes();
        lane_rows_ = 0;
      }
      lane_rows_ += rows;
    }
    if (!code_->chunked) {
      width_ = width;
      move(row, column);
      const int64_t n = rows * width;
      // Nothing between phases when a tile is one chunk.
      steps(code_->prologue, static_cast<uint32_t>(code_->steps.size()), n);
      if (!direct_) write_full(row * geometry_->columns + column, n);
    } else {
      move(row, 0);
      steps(code_->prologue, code_->tile_head, 1);
      for (const FusedPhase& phase : code_->phases) chunks(phase);
    }
    if (code_->writes_rows) write_rows(row, rows, column);
  }

  void chunks(const FusedPhase& phase) {
    const int64_t columns = geometry_->columns;
    const bool last = phase.end == code_->steps.size();
    steps(phase.head, phase.chunk, 1);
    for (int64_t c = 0; c < columns; c += code_->block) {
      width_ = std::min(code_->block, columns - c);
      move(row_, c);
      steps(phase.chunk, phase.tail, width_);
      if (last && !direct_) write_full(row_ * columns + c, width_);
    }
    column_ = 0;  // the row as a whole
    steps(phase.tail, phase.end, 1);
  }

  void steps(uint32_t from, uint32_t to, int64_t n) {
    const FusedStep* step = code_->steps.data() + from;
    const FusedStep* const end = code_->steps.data() + to;
    for (; step != end; ++step) {
      const int64_t m = step->per_row ? rows_ : step->count ? step->count : n;
      if (step->kind == StepKind::kBlock) {
        const void* in[kMaxOperands] = {pointer_[step->in[0]], pointer_[step->in[1]],
                                        pointer_[step->in[2]]};
        step->block(in, pointer_[step->out], m, step->params);
      } else {
        other_step(*step, m);
      }
    }
  }

  void other_step(const FusedStep& s, int64_t n) {
    std::byte* const in = pointer_[s.in[0]];
    std::byte* const out = pointer_[s.out];
    switch (s.kind) {
      case StepKind::kFill:
        return expand_fill(in, out, n, s.size);
      case StepKind::kRepeat:
        return expand_repeat(in, out, rows_, width_, s.size);
      case StepKind::kTile:
        return expand_tile(in, out, code_->rows_per_tile, geometry_->columns * s.size);
      case StepKind::kGather:
        return fused_gather(*geometry_, s.index, s.per_row, input(s.index),
                            s.per_row ? row_ : row_ * geometry_->columns + column_, n,
                            out, s.size);
      case StepKind::kRowStart:
        return code_->reductions[s.index].loops->init(out, rows_);
      case StepKind::kRowFold:
        return code_->reductions[s.index].loops->rows(in, rows_, width_, width_, out);
      case StepKind::kRowFinish:
        return code_->reductions[s.index].loops->finish(in, rows_, geometry_->columns,
                                                        out, nullptr);
      case StepKind::kColumnFold:
        return column_fold(s.index, in, n);
      case StepKind::kMicro:
        return run_micro(code_->runs[s.index], pointer_, arena_ + code_->micro_scratch,
                         n);
      case StepKind::kAllFold:
        // A row cut into tiles counts once.
        if (s.per_row && column_ != 0) return;
        return code_->reductions[s.index].loops->rows(in, 1, n, n, accumulators(s.index));
      default:
        return;
    }
  }

  // ---- Outputs
  // -------------------------------------------------------------------------
  void write_full(int64_t element, int64_t n) {
    for (size_t o = 0; o < code_->outputs.size(); ++o) {
      const FusedOutput& out = code_->outputs[o];
      const bool copy = out.form == Form::kCopy;
      if (!copy && (out.form != Form::kFull || writes_[o] == Write::kDirect)) continue;
      std::byte* to = output(o) + element * out.size;
      const std::byte* from = pointer_[out.slot];
      int64_t bytes = n * out.size;
      if (!copy && writes_[o] == Write::kStreamed &&
          reinterpret_cast<uintptr_t>(to) % kStreamAlign == 0) {
        const int64_t whole = bytes / kStreamAlign * kStreamAlign;
        block_table().stream()(to, from, whole);
        to += whole, from += whole, bytes -= whole;
      }
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
  }
  void write_rows(int64_t row, int64_t rows, int64_t column) {
    for (size_t o = 0; o < code_->outputs.size(); ++o) {
      const FusedOutput& out = code_->outputs[o];
      if (out.form == Form::kRow && column == 0) {
        std::memcpy(output(o) + row * out.size, pointer_[out.slot],
                    static_cast<size_t>(rows * out.size));
      } else if (out.form == Form::kLate) {
        const int64_t columns = geometry_->columns;
        const int64_t padded = (columns + 63) / 64 * 64;
        std::memcpy(output(o) + row * columns * out.size,
                    store_ + padded * code_->slots[out.slot].offset,
                    static_cast<size_t>(columns * out.size));
      }
    }
  }

  const FusedPlan& plan_;
  const LaunchArgs& args_;
  std::byte* const store_;
  const FusedGroup* group_ = nullptr;
  const FusedCode* code_ = nullptr;
  const FusedGeometry* geometry_ = nullptr;
  void* const* inputs_ = nullptr;
  void* const* outputs_ = nullptr;
  std::byte* part_ = nullptr;
  int64_t row_ = 0, rows_ = 0, column_ = 0, width_ = 0;
  int64_t lane_rows_ = 0;
  bool direct_ = true;  // every full output is written as it is computed
  Write writes_[kFusedSlots];
  std::byte* pointer_[kFusedSlots];
  alignas(64) std::byte arena_[kFusedArena];
};

}  // namespace

void run_fused_items(const FusedPlan& plan, const LaunchArgs& args, size_t first,
                     size_t last, std::byte* store) {
  Runner runner(plan, args, store);
  for (size_t i = first; i < last;) {
    const size_t end = plan.join ? joined_items(plan, args, i, last) : i + 1;
    if (end > i + 1) {
      runner.run_joined(plan.items[i], plan.items[end - 1]);
    } else {
      runner.run(plan.items[i]);
    }
    i = end;
  }
}

}  // namespace tandem::cpu
