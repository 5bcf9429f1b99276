// Compiled fused programs: a list of steps over slots. A slot is a pointer that the
// runner sets: to a block register (in an arena small enough for the L1 cache), to a
// place in an input or output that moves from tile to tile, or to a row's worth of
// scratch memory. Code depends on how inputs are walked, not on sizes; immutable, any
// thread.
//
// A tile is `rows_per_tile` whole rows, or a piece of one row. Where rows are reduced and
// longer than a block, a tile is one row that every phase walks in chunks. Each phase
// ends with the reductions that the next one needs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/elementwise_blocks.h"
#include "kernels/cpu/fused_geometry.h"
#include "kernels/cpu/fused_micro.h"
#include "kernels/cpu/reduce_loops.h"
#include "op/fused_program.h"

namespace tandem::cpu {

inline constexpr size_t kFusedSlots = 512;
inline constexpr size_t kFusedArena = size_t{96} << 10;  // bytes, on the runner's stack

struct FusedStep {
  enum class Kind : uint8_t {
    kBlock,       // out = block(in...)
    kFill,        // out = the single element of in[0], n times
    kRepeat,      // out = element r of in[0] for all columns of row r of the tile
    kTile,        // out = the columns of in[0] for every row of a tile
    kGather,      // out = elements of input `index`, by strides
    kRowStart,    // out = accumulators of row reduction `index`, empty
    kRowFold,     // accumulators out take in in[0]
    kRowFinish,   // out = results of the accumulators in[0]
    kColumnFold,  // column reduction `index` takes in in[0]
    kAllFold,     // all reduction `index` takes in in[0]
    kMicro,       // run `index`
  };
  Kind kind = Kind::kBlock;
  bool per_row = false;  // one element per row of the tile instead of one per element
  uint8_t size = 0;      // bytes of an element, where bytes are moved
  uint16_t index = 0;
  uint16_t in[kMaxOperands] = {};
  uint16_t out = 0;
  int32_t count = 0;  // elements, where it is neither one per element nor one per row
  Block block = nullptr;
  BlockParams params = {};
  const MicroEntry* micro = nullptr;  // part of a run, until runs are made
};

/// Steps [head, chunk) run once per tile, [chunk, tail) per chunk, [tail, end) after
/// them.
struct FusedPhase {
  uint32_t head, chunk, tail, end;
};

/// A slot in the arena has a fixed offset; the others move.
struct FusedSlot {
  enum class Place : uint8_t {
    kArena,
    kInput,   // by the input's Access
    kOutput,  // like a full input; `offset`: its block register when it is not written
              // directly
    kStore,   // a row of scratch memory
  };
  Place place = Place::kArena;
  uint8_t size = 0;     // bytes of an element
  uint16_t index = 0;   // input or output
  uint32_t offset = 0;  // bytes in the arena; for kStore elements times `size` bytes
};

struct FusedReduction {
  enum class Kind : uint8_t { kRow, kColumn, kAll };
  Kind kind = Kind::kRow;
  const ReduceLoops* loops = nullptr;
  bool of_rows = false;  // an all reduction over one element per row
  /// Column sums of floats add up rows here first; `loops` collects many of them.
  Block lanes = nullptr;
};

struct FusedOutput {
  enum class Form : uint8_t {
    kFull,  // slot of place kOutput
    kCopy,  // a full value that is an output already
    kLate,  // kept in the row store until its row is done
    kRow,
    kSingle,
    kReduced,
  };
  Form form = Form::kFull;
  uint8_t size = 0;
  uint16_t slot = 0;  // for kReduced the reduction
  /// Full inputs that are read after the output was computed: over their memory it cannot
  /// be written directly.
  std::vector<uint16_t> later_reads;
};

struct FusedCode {
  int64_t block = 0;  // most elements of a tile or chunk
  int64_t rows_per_tile = 1;
  bool chunked = false;  // rows are walked in chunks, phase by phase
  uint32_t arena_bytes = 0;
  uint32_t micro_scratch = 0;  // offset in the arena
  uint32_t store_size = 0;     // bytes of row store per column
  double cost = 0;             // per element, relative to an addition
  uint32_t prologue = 0;       // steps [0, prologue): once per group
  uint32_t tile_head = 0;      // steps [prologue, tile_head): once per tile
  std::vector<FusedStep> steps;
  std::vector<FusedPhase> phases;
  std::vector<MicroRun> runs;
  std::vector<FusedSlot> slots;
  std::vector<uint16_t> moving;   // slots whose pointers depend on the tile
  std::vector<uint16_t> resting;  // slots of inputs that do not
  bool writes_rows = false, writes_singles = false;  // there are outputs of such forms
  std::vector<uint16_t> prologue_inputs;             // inputs that the prologue reads
  std::vector<FusedReduction> reductions;
  std::vector<FusedOutput> outputs;
};

/// How a domain is cut for blocks of at most `block` elements.
struct FusedTiling {
  int64_t block, rows_per_tile;
  bool chunked;
};
FusedTiling fused_tiling(const FusedProgram& program, const FusedGeometry& geometry,
                         int64_t block);

/// Row or column reductions fix what the rows of a domain are.
bool fused_has_rows(const FusedProgram& program);

/// Nothing when an instruction has no block functions or needs too many registers. The
/// shapes must be fit to be run (fused_shapes_fit).
std::optional<FusedCode> compile_fused(const FusedProgram& program,
                                       const FusedGeometry& geometry,
                                       const FusedTiling& tiling);

/// Outputs and reduced values are full or one element per row or single: what is computed
/// of other broadcast inputs alone has too few elements.
bool fused_shapes_fit(const FusedProgram& program, const FusedGeometry& geometry,
                      std::span<const Shape> value_shapes);

}  // namespace tandem::cpu
