// The map with workers: a pass owns its threads, which take inputs in turn, call the
// function side by side and put results where the reader finds them.
#pragma once

#include <memory>

#include "data/element_function.h"
#include "data/stage.h"

namespace tandem::data {

std::unique_ptr<Cursor> open_parallel_map(const Context& context, const Stage& input,
                                          FunctionPtr function, int64_t workers,
                                          bool deterministic);

}  // namespace tandem::data
