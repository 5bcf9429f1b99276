// The parts of the reduce cases, and what their references are written with: values are
// complex numbers whatever the dtype, as in Ref.
#pragma once

#include "ops/case_parts.h"

namespace tandem::testing {

using Value = std::complex<double>;
using Values = std::vector<Value>;

inline const std::vector<DType> kNumberTypes = [] {
  std::vector<DType> all = kRealTypes;
  all.push_back(DType::kComplex64);
  all.push_back(DType::kComplex128);
  return all;
}();

void add_scan_cases(CaseList& cases);
void add_segment_cases(CaseList& cases);
void add_count_cases(CaseList& cases);

}  // namespace tandem::testing
