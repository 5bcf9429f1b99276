#include "ops/collective_cases.h"

#include "tandem/ops/collective.h"

namespace tandem::testing {

namespace {

Attrs alone(Reduction reduction, int64_t axis) {
  CollectiveAttrs a;
  a.reduction = reduction;
  a.axis = axis;
  a.group = "alone";
  a.replicas = 1;
  return Attrs(attrs_ref(a));
}

OpCase identity_case(const char* op, const char* name, Reduction reduction) {
  return {.op = op,
          .name = name,
          .inputs = {{.shape = {3, 4}}},
          .attrs = alone(reduction, -1),
          .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16},
          .reference = [](const std::vector<Ref>& in, DType) {
            return std::vector<Ref>{in[0]};
          }};
}

}  // namespace

void add_collective_cases(CaseList& cases) {
  for (const char* op :
       {"AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter"}) {
    cases.push_back(identity_case(op, "alone", Reduction::kSum));
  }
  for (const char* op : {"AllReduce", "Reduce", "ReduceScatter"}) {
    cases.push_back(identity_case(op, "mean", Reduction::kMean));
  }
  for (const char* op : {"AllReduce", "ReduceScatter"}) {
    cases.push_back(identity_case(op, "max", Reduction::kMax));
    cases.push_back(identity_case(op, "min", Reduction::kMin));
  }
  cases.push_back({.op = "ReplicaId",
                   .inputs = {},
                   .attrs = alone(Reduction::kSum, 0),
                   .dtypes = {DType::kInt32},
                   .reference = [](const std::vector<Ref>&, DType) {
                     return std::vector<Ref>{Ref{{}, {0.0}, {}}};
                   }});
}

}  // namespace tandem::testing
