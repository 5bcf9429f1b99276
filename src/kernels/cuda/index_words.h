// The words for indices out of range, as the CPU's kernels say them.
#pragma once

#include <memory>
#include <string>

#include "device/cuda/error_report.h"
#include "tandem/shape.h"

namespace tandem::cuda {

/// "[1,0]" for the element at flat position `at`; nothing for a scalar.
std::string place_of(const Shape& shape, int64_t at);
/// "GatherV2: indices[2] = 7 is not in [0, 5)"
std::shared_ptr<ErrorSite> index_site(const std::string& op, const Shape& indices);
/// For indices that may count from the end.
std::shared_ptr<ErrorSite> signed_index_site(const std::string& op);
/// "GatherNd: indices[1] has the coordinate 5, which does not index into … [2,3]"
std::shared_ptr<ErrorSite> coordinate_site(const std::string& op, const Shape& indices,
                                           const Shape& params, const std::string& into);

}  // namespace tandem::cuda
