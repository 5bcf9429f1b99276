// Random numbers: Philox, the same numbers as TensorFlow for the same seeds where its
// algorithm is Philox, whatever the device and thread count.
//
// Functions without "stateless" draw from sequences that tf.random.set_seed and `seed`
// start, by TensorFlow's rules; without any seed they differ from run to run. Stateless
// functions depend on their seed alone.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::random {

/// All sequences start over from this seed (tf.random.set_seed).
void set_seed(int64_t seed);
/// Without a seed again, as before the first set_seed.
void clear_seed();

struct UniformAttrs {
  double minval = 0;
  double maxval = 1;
  DType dtype = DType::kFloat32;
  int64_t seed = -1;  // -1: none given
  TANDEM_ATTRS(UniformAttrs, minval, maxval, dtype, seed)
};
/// Uniform in [minval, maxval); integers too (whole bounds).
Tensor uniform(const Shape& shape, UniformAttrs attrs = {});

struct NormalAttrs {
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::kFloat32;
  int64_t seed = -1;  // -1: none given
  TANDEM_ATTRS(NormalAttrs, mean, stddev, dtype, seed)
};
Tensor normal(const Shape& shape, NormalAttrs attrs = {});
/// Normal, with values beyond two standard deviations drawn again.
Tensor truncated_normal(const Shape& shape, NormalAttrs attrs = {});

struct SeedAttrs {
  int64_t seed = -1;  // -1: none given
  TANDEM_ATTRS(SeedAttrs, seed)
};
/// Samples of Gamma(alpha, beta): shape + shape of alpha and beta broadcast.
Tensor gamma(const Shape& shape, const Tensor& alpha, const Tensor& beta,
             SeedAttrs attrs = {});
Tensor gamma(const Shape& shape, const Tensor& alpha, SeedAttrs attrs = {});

struct CategoricalAttrs {
  DType dtype = DType::kInt64;
  int64_t seed = -1;  // -1: none given
  TANDEM_ATTRS(CategoricalAttrs, dtype, seed)
};
/// `samples` class indices per row of unnormalised log-probabilities [batch, classes].
Tensor categorical(const Tensor& logits, int64_t samples, CategoricalAttrs attrs = {});

/// The rows of x (dimension 0) in random order.
Tensor shuffle(const Tensor& x, SeedAttrs attrs = {});

/// Two numbers that decide everything.
struct Seed2 {
  int64_t first = 0;
  int64_t second = 0;
};
Tensor stateless_uniform(const Shape& shape, Seed2 seed, UniformAttrs attrs = {});
/// All bits random; integer dtypes of 32 or 64 bits.
Tensor stateless_uniform_full_int(const Shape& shape, Seed2 seed, DType dtype);
Tensor stateless_normal(const Shape& shape, Seed2 seed, NormalAttrs attrs = {});
Tensor stateless_truncated_normal(const Shape& shape, Seed2 seed, NormalAttrs attrs = {});
Tensor stateless_gamma(const Shape& shape, Seed2 seed, const Tensor& alpha);
Tensor stateless_categorical(const Tensor& logits, int64_t samples, Seed2 seed,
                             DType dtype = DType::kInt64);
Tensor stateless_shuffle(const Tensor& x, Seed2 seed);

/// A place in the stream of one generator, as tensors for the V2 stateless ops.
struct KeyCounter {
  Tensor key;      // uint64 [1]
  Tensor counter;  // uint64 [2]
};
/// Uniform in [0, 1) from an explicit key and counter, with the shape of `like` (dropout
/// masks).
Tensor uniform_like(const Tensor& like, const KeyCounter& state);
/// The next place for an op that draws from a sequence, e.g. dropout: up to `elements`
/// numbers.
KeyCounter next_state(const char* op, int64_t seed, int64_t elements);

}  // namespace tandem::random
