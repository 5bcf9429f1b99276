// What the image kernels share on the host. Pure; any thread.
#pragma once

#include <string>

#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// A program over images of elements of the type `type`, from a file under device/.
std::string image_text(const char* type, const char* file);

}  // namespace tandem::cuda
