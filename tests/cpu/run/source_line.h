// Pieces of a user's program that are compiled differently from the rest of the test.
#pragma once

#include "tandem/tandem.h"

namespace td = tandem;

namespace user {

/// With optimisation: one product, at kOptimisedLine of its file.
td::Tensor optimised_body(const td::Tensor& x);
extern const int kOptimisedLine;

/// Without debug information: one exponential.
td::Tensor bare_body(const td::Tensor& x);

}  // namespace user
