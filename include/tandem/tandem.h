// Tandem's C++ API in one header.
#pragma once

#include "tandem/control_flow.h"
#include "tandem/device.h"
#include "tandem/dtype.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"
#include "tandem/precision.h"
#include "tandem/print.h"
#include "tandem/record.h"
#include "tandem/shape.h"
#include "tandem/tensor.h"
#include "tandem/tensor_array.h"
#include "tandem/variable.h"
