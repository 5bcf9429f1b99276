// Which nodes of a captured graph belong to which step. A session knows the nodes that
// each step ended with; the nodes between those and the ends of the steps before are the
// step's own. Looked up only when somebody records what the GPU does.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/capture_session.h"
#include "device/cuda/driver.h"

namespace tandem::cuda {

struct CapturedStep {
  StepLabel label;
  std::vector<CUgraphNode> ends;  // what the next step in order would come after
  CaptureSession::Site site;      // the label's, until somebody asks
};

using LabelledNodes = std::unordered_map<CUgraphNode, StepLabel>;
/// The same by the numbers under which CUPTI knows nodes.
using NumberedNodes = std::vector<std::pair<uint64_t, StepLabel>>;

/// Steps in the order in which they were captured.
LabelledNodes label_nodes(std::span<const CapturedStep> steps);

}  // namespace tandem::cuda
