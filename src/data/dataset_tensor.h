// Datasets as values: among the components of an element (windows), and as values of a
// traced function. dataset_tensor() and dataset_of() are in tandem/data.h.
#pragma once

#include "data/stage.h"
#include "device/runtime.h"

namespace tandem::data {

/// A dataset that stands for a symbolic tensor of dtype kVariant.
StagePtr make_traced(const Tensor& tensor, std::vector<Component> components);

}  // namespace tandem::data
