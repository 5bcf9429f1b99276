// Collective ops: what the replicas of a group (tandem/replica.h) compute together. Every
// replica runs the same collectives in the same order, on tensors of one dtype and shape;
// otherwise all of them get an InvalidArgumentError. Results do not depend on which
// replica comes first. With one replica each op is the identity.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin };
inline constexpr std::array<std::string_view, 4> kReductionNames = {"sum", "mean", "max",
                                                                    "min"};
constexpr const auto& attr_names(Reduction) { return kReductionNames; }

struct CollectiveAttrs {
  Reduction reduction = Reduction::kSum;
  /// The dimension along which tensors are joined or cut.
  int64_t axis = 0;
  /// The replica whose value counts, or which gets the result.
  int64_t root = 0;
  /// Empty and 0: those of the scope that the call is made in.
  std::string group = {};
  int64_t replicas = 0;
  TANDEM_ATTRS(CollectiveAttrs, reduction, axis, root, group, replicas)
};

/// The values of all replicas, reduced, on every replica.
Tensor all_reduce(const Tensor& x, CollectiveAttrs attrs = {});
/// The value of replica `root`, on every replica.
Tensor broadcast_from(const Tensor& x, CollectiveAttrs attrs = {});
/// The values of all replicas, reduced (sum or mean), on replica `root`; zeros elsewhere.
Tensor reduce_to(const Tensor& x, CollectiveAttrs attrs = {});
/// The values of all replicas, joined along `axis` in the order of replicas.
Tensor all_gather(const Tensor& x, CollectiveAttrs attrs = {});
/// The values of all replicas, reduced; of the result each replica gets its part along
/// `axis`.
Tensor reduce_scatter(const Tensor& x, CollectiveAttrs attrs = {});
/// The number of the replica that runs, as an int32 scalar.
Tensor replica_id(CollectiveAttrs attrs = {});

}  // namespace tandem
