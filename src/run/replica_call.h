// Calls of a program by several replicas, inside a trace: the program is traced once, and
// the trace gets one node in which all replicas run it (see graph/replicate.h). One
// thread, as all tracing.
#pragma once

#include <functional>
#include <vector>

#include "graph/replicate.h"

namespace tandem {

using ReplicaBody = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Asked after the body was traced: which of the variables that it uses have copies.
using FindCopies = std::function<std::vector<Tensor>(const Tensor& handle)>;

/// `arguments[r]`: what replica r is called with; the same number and dtypes for each.
/// `copies` gives the handles of a variable's copies by replica, or nothing for a
/// variable that replicas share. Gives the results by replica.
std::vector<std::vector<Tensor>> call_replicas(
    const std::vector<std::string>& devices, const FindCopies& copies,
    const std::vector<std::vector<Tensor>>& arguments, const ReplicaBody& body);

}  // namespace tandem
