// Random ops are pure functions of a key and a counter (TensorFlow's StatelessRandom…V2);
// the functions with sequences take those from ops/random_seed.h.
#include <cmath>

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/random_draw.h"
#include "ops/random_seed.h"
#include "ops/register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

struct FillAttrs {
  DType dtype = DType::kFloat32;
  TANDEM_ATTRS(FillAttrs, dtype)
};
struct MultinomialAttrs {
  int64_t num_samples = 1;
  DType output_dtype = DType::kInt64;
  TANDEM_ATTRS(MultinomialAttrs, num_samples, output_dtype)
};

// A sampler reserves this many numbers per output where it may reject some, as TensorFlow
// does.
constexpr int64_t kReservedPerOutput = 256;

void check_state(const InferContext& c, int key) {
  c.rank(key, 1);
  c.rank(key + 1, 1);
  const Shape &k = c.shape(key), &n = c.shape(key + 1);
  if (k.is_known() && k[0] != 1) c.fail("key must have shape [1], got " + k.debug_str());
  if (n.is_known() && n[0] < 2) {
    c.fail("counter must have 2 elements, got shape " + n.debug_str());
  }
}

void infer_random(InferContext& c) {
  check_state(c, 1);
  c.add_output(c.attrs<FillAttrs>().dtype, c.shape_from_value(0));
}
void infer_random_int(InferContext& c) {
  check_state(c, 1);
  c.rank(3, 0);
  c.rank(4, 0);
  c.add_output(c.dtype(3), c.shape_from_value(0));
}
void infer_random_like(InferContext& c) {
  check_state(c, 1);
  c.add_output(c.attrs<FillAttrs>().dtype, c.shape(0));
}
void infer_gamma(InferContext& c) {
  check_state(c, 1);
  Shape out = c.shape_from_value(0);
  if (!out.has_rank() || !c.shape(3).has_rank()) {
    c.add_output(c.dtype(3), Shape::unknown());
    return;
  }
  for (int64_t d : c.shape(3)) out.push_back(d);
  c.add_output(c.dtype(3), out);
}
void infer_multinomial(InferContext& c) {
  const auto& a = c.attrs<MultinomialAttrs>();
  c.rank(0, 2);
  check_state(c, 1);
  if (a.num_samples < 0) {
    c.fail(fmt::format("num_samples should be nonnegative, got {}", a.num_samples));
  }
  const Shape& logits = c.shape(0);
  if (logits.is_known() && logits[1] == 0 && logits[0] > 0 && a.num_samples > 0) {
    c.fail("num_classes should be positive, got 0");
  }
  c.add_output(a.output_dtype,
               {logits.has_rank() ? logits[0] : kUnknownDim, a.num_samples});
}
void infer_shuffle(InferContext& c) {
  check_state(c, 1);
  c.add_output(c.dtype(0), c.shape(0));
}

const InputDef kShapeInput = {.name = "shape", .type = 'S', .host = true};
const InputDef kKeyInput = {.name = "key", .type = 'K'};
const InputDef kCounterInput = {.name = "counter", .type = 'K'};
constexpr DTypeMask kStateDType = mask(DType::kUInt64);

OpDef sampler(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'S', kIndices}, {'K', kStateDType}};
  def.inputs = {kShapeInput, kKeyInput, kCounterInput};
  def.attrs = &attrs_type<FillAttrs>();
  def.infer = infer_random;
  def.differentiable = false;
  return def;
}

random::KeyCounter to_tensors(const RandomState& state) {
  return {constant(std::vector<uint64_t>{state.key}),
          constant(std::vector<uint64_t>{state.counter[0], state.counter[1]})};
}

Tensor shape_constant(const Shape& shape) { return make_host_ints(shape.dims()); }

// A whole number of blocks for n outputs of a sampler that never rejects.
int64_t reserved_blocks(int64_t outputs) { return outputs * kReservedPerOutput; }
int64_t reserved_blocks(const Shape& shape) {
  if (!shape.is_known()) {
    throw InvalidArgumentError("Dimension -1 must be >= 0: the shape " +
                               shape.debug_str() + " of random numbers is not known.");
  }
  return reserved_blocks(shape.num_elements());
}

Tensor sample(const OpDef& op, const Shape& shape, const random::KeyCounter& s,
              DType dtype) {
  return emit(op, {shape_constant(shape), s.key, s.counter}, FillAttrs{dtype});
}

void check_floating(const char* what, DType dtype) {
  if (!is_floating(dtype)) {
    throw ValueError(
        fmt::format("{}: dtype {} is not floating. Use float16, bfloat16, float32 or "
                    "float64.",
                    what, dtype_name(dtype)));
  }
}

Tensor scale_and_shift(const Tensor& x, double scale, double shift) {
  Tensor y = x;
  if (scale != 1) y = y * scale;
  if (shift != 0) y = y + shift;
  return y;
}

Tensor uniform_int(const Shape& shape, const random::KeyCounter& s,
                   const random::UniformAttrs& a) {
  static const OpHandle op("StatelessRandomUniformIntV2");
  if (a.minval != std::floor(a.minval) || a.maxval != std::floor(a.maxval)) {
    throw ValueError("uniform: integer dtypes need whole minval and maxval");
  }
  if (!(a.minval < a.maxval)) {
    throw InvalidArgumentError(
        fmt::format("Need minval < maxval, got {} >= {}", a.minval, a.maxval));
  }
  return emit(op, {shape_constant(shape), s.key, s.counter,
                   scalar(static_cast<int64_t>(a.minval), a.dtype),
                   scalar(static_cast<int64_t>(a.maxval), a.dtype)});
}

Tensor uniform_from(const Shape& shape, const random::KeyCounter& s,
                    const random::UniformAttrs& a) {
  static const OpHandle op("StatelessRandomUniformV2");
  if (is_integer(a.dtype)) return uniform_int(shape, s, a);
  check_floating("uniform", a.dtype);
  return scale_and_shift(sample(op, shape, s, a.dtype), a.maxval - a.minval, a.minval);
}

Tensor normal_from(const OpDef& op, const Shape& shape, const random::KeyCounter& s,
                   const random::NormalAttrs& a) {
  check_floating("normal", a.dtype);
  return scale_and_shift(sample(op, shape, s, a.dtype), a.stddev, a.mean);
}

Tensor gamma_from(const Shape& shape, const random::KeyCounter& s, const Tensor& alpha) {
  static const OpHandle op("StatelessRandomGammaV3");
  return emit(op, {shape_constant(shape), s.key, s.counter, alpha});
}

Tensor categorical_from(const Tensor& logits, int64_t samples,
                        const random::KeyCounter& s, DType dtype) {
  static const OpHandle op("StatelessMultinomialV2");
  return emit(op, {logits, s.key, s.counter}, MultinomialAttrs{samples, dtype});
}

Tensor shuffle_from(const Tensor& x, const random::KeyCounter& s) {
  static const OpHandle op("StatelessShuffleV2");
  return emit(op, {x, s.key, s.counter});
}

std::string sequence_name(const char* op, DType dtype) {
  return std::string(op) + "/" + std::string(dtype_name(dtype));
}

}  // namespace

void register_random_ops(OpTable& table) {
  register_random_state_ops(table);
  table.add(sampler("StatelessRandomUniformV2", "Uniform numbers in [0, 1)."));
  table.add(
      sampler("StatelessRandomNormalV2", "Numbers of the standard normal distribution."));
  table.add(sampler("StatelessTruncatedNormalV2",
                    "Standard normal numbers within two standard deviations."));
  table.add(sampler("StatelessRandomUniformFullIntV2", "Integers with all bits random."));
  OpDef like = sampler("RandomUniformLike",
                       "Uniform numbers in [0, 1) with the shape of another tensor.");
  like.types = {{'S', kAnyDType}, {'K', kStateDType}};
  like.inputs[0] = {.name = "like", .type = 'S', .shape_only = true};
  like.infer = infer_random_like;
  table.add(like);
  table.add({.name = "StatelessRandomUniformIntV2",
             .doc = "Uniform integers in [minval, maxval).",
             .types = {{'T', mask(DType::kInt32, DType::kInt64, DType::kUInt32,
                                  DType::kUInt64)},
                       {'S', kIndices},
                       {'K', kStateDType}},
             .inputs = {kShapeInput,
                        kKeyInput,
                        kCounterInput,
                        {.name = "minval"},
                        {.name = "maxval"}},
             .infer = infer_random_int,
             .differentiable = false,
             .effects = kMayFail});
  table.add({.name = "StatelessRandomGammaV3",
             .doc = "Samples of the gamma distribution for each alpha.",
             .types = {{'T', kFloats}, {'S', kIndices}, {'K', kStateDType}},
             .inputs = {kShapeInput, kKeyInput, kCounterInput, {.name = "alpha"}},
             .infer = infer_gamma,
             .differentiable = false});
  table.add({.name = "StatelessMultinomialV2",
             .doc = "Class indices drawn from rows of unnormalised log-probabilities.",
             .types = {{'T', kFloats}, {'K', kStateDType}},
             .inputs = {{.name = "logits"}, kKeyInput, kCounterInput},
             .attrs = &attrs_type<MultinomialAttrs>(),
             .infer = infer_multinomial,
             .differentiable = false});
  table.add({.name = "StatelessShuffleV2",
             .doc = "Rows in random order.",
             .types = {{'T', kAnyDType}, {'K', kStateDType}},
             .inputs = {{.name = "value"}, kKeyInput, kCounterInput},
             .infer = infer_shuffle,
             .differentiable = false});
}

namespace random {

void clear_seed() {
  clear_global_seed();
  restart_traced_sequences();
}

void set_seed(int64_t seed) {
  set_global_seed(seed);
  restart_traced_sequences();
}

Tensor uniform(const Shape& shape, UniformAttrs a) {
  const char* op = is_integer(a.dtype) ? "RandomUniformInt" : "RandomUniform";
  return uniform_from(
      shape, draw(sequence_name(op, a.dtype), a.seed, reserved_blocks(shape)), a);
}

Tensor normal(const Shape& shape, NormalAttrs a) {
  static const OpHandle op("StatelessRandomNormalV2");
  return normal_from(op, shape,
                     draw(sequence_name("RandomStandardNormal", a.dtype), a.seed,
                          reserved_blocks(shape)),
                     a);
}

Tensor truncated_normal(const Shape& shape, NormalAttrs a) {
  static const OpHandle op("StatelessTruncatedNormalV2");
  return normal_from(
      op, shape,
      draw(sequence_name("TruncatedNormal", a.dtype), a.seed, reserved_blocks(shape)), a);
}

Tensor gamma(const Shape& shape, const Tensor& alpha, SeedAttrs a) {
  return gamma_from(shape,
                    draw_for(sequence_name("RandomGamma", alpha.dtype()), a.seed, alpha,
                             reserved_blocks(shape)),
                    alpha);
}

Tensor gamma(const Shape& shape, const Tensor& alpha, const Tensor& beta, SeedAttrs a) {
  // One alpha per sample even where beta broadcasts it.
  const Tensor wide = alpha + zeros_like(beta);
  return maximum(scalar(2.2250738585072014e-308, wide.dtype()),
                 gamma(shape, wide, a) / beta);
}

Tensor categorical(const Tensor& logits, int64_t samples, CategoricalAttrs a) {
  // Two words per sample: the numbers compared with the distribution are doubles.
  const int64_t per_row = reserved_blocks((samples + 3) / 4 * 4 * 2);
  const std::string op = sequence_name("Multinomial", logits.dtype());
  if (logits.shape().is_known()) {
    const int64_t rows = logits.rank() == 2 ? logits.dim(0) : 0;
    return categorical_from(logits, samples, draw(op, a.seed, rows * per_row), a.dtype);
  }
  const Tensor row = slice(logits, {0, 0}, {-1, 1});
  return categorical_from(logits, samples, draw_for(op, a.seed, row, per_row), a.dtype);
}

Tensor shuffle(const Tensor& x, SeedAttrs a) {
  const std::string op = sequence_name("RandomShuffle", x.dtype());
  // All rows but one draw a number, four of which make a block.
  if (!x.shape().has_rank()) return shuffle_from(x, draw_for(op, a.seed, x, 1));
  if (x.rank() > 0 && x.dim(0) == kUnknownDim) {
    const Tensor rows = slice(tandem::shape(x, {DType::kInt64}), {0}, Ints{1});
    const Tensor blocks = right_shift(rows + int64_t{2}, constant(int64_t{2}));
    return shuffle_from(x, draw_traced(a.seed, reshape(blocks, Shape{})));
  }
  const int64_t rows = x.rank() > 0 ? x.dim(0) : 1;
  return shuffle_from(x, draw(op, a.seed, (rows + 2) / 4));
}

Tensor stateless_uniform(const Shape& shape, Seed2 seed, UniformAttrs a) {
  return uniform_from(shape, to_tensors(stateless_state(seed.first, seed.second)), a);
}

Tensor stateless_uniform_full_int(const Shape& shape, Seed2 seed, DType dtype) {
  static const OpHandle op("StatelessRandomUniformFullIntV2");
  if (!is_integer(dtype) || dtype_size(dtype) < 4) {
    throw ValueError(fmt::format(
        "stateless_uniform_full_int: dtype {} is not an integer of 32 or 64 bits",
        dtype_name(dtype)));
  }
  return sample(op, shape, to_tensors(stateless_state(seed.first, seed.second)), dtype);
}

Tensor stateless_normal(const Shape& shape, Seed2 seed, NormalAttrs a) {
  static const OpHandle op("StatelessRandomNormalV2");
  return normal_from(op, shape, to_tensors(stateless_state(seed.first, seed.second)), a);
}

Tensor stateless_truncated_normal(const Shape& shape, Seed2 seed, NormalAttrs a) {
  static const OpHandle op("StatelessTruncatedNormalV2");
  return normal_from(op, shape, to_tensors(stateless_state(seed.first, seed.second)), a);
}

Tensor stateless_gamma(const Shape& shape, Seed2 seed, const Tensor& alpha) {
  return gamma_from(shape, to_tensors(stateless_state(seed.first, seed.second)), alpha);
}

Tensor stateless_categorical(const Tensor& logits, int64_t samples, Seed2 seed,
                             DType dtype) {
  return categorical_from(logits, samples,
                          to_tensors(stateless_state(seed.first, seed.second)), dtype);
}

Tensor stateless_shuffle(const Tensor& x, Seed2 seed) {
  return shuffle_from(x, to_tensors(stateless_state(seed.first, seed.second)));
}

Tensor uniform_like(const Tensor& like, const KeyCounter& state) {
  static const OpHandle op("RandomUniformLike");
  return emit(op, {like, state.key, state.counter},
              FillAttrs{is_floating(like.dtype()) ? like.dtype() : DType::kFloat32});
}

KeyCounter next_state(const char* op, int64_t seed, int64_t elements) {
  return draw(op, seed, reserved_blocks(elements));
}

}  // namespace random

}  // namespace tandem
