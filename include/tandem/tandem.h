// Tandem's C++ API in one header.
#pragma once

#include "tandem/device.h"
#include "tandem/dtype.h"
#include "tandem/error.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"
#include "tandem/record.h"
#include "tandem/shape.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"
