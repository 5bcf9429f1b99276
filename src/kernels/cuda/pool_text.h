// The text of pools; see device/pool.cuh and device/max_pool.cuh. Pure; any thread.
#pragma once

#include <string>

#include "ops/nn_geometry.h"

namespace tandem::cuda {

/// Storage type T and the sizes as constants, of three spatial dimensions each.
std::string pool_constants(const nn::PoolShape& pool, DType dtype);
std::string pool_text(const nn::PoolShape& pool, DType dtype);
/// Maxima with channels last, a vector of channels per thread.
std::string max_pool_text(const nn::PoolShape& pool, DType dtype);

}  // namespace tandem::cuda
