// All op functions. Each runs at once on the device of the current scope, or becomes a
// node of the function being traced.
#pragma once

#include "tandem/ops/activations.h"
#include "tandem/ops/array.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/indexing.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/nn.h"
#include "tandem/ops/random.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/sort.h"
