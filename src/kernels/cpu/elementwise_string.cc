// Comparison, selection and joining of strings. Buffers of strings hold constructed
// std::strings.
#include <string>

#include "kernels/cpu/elementwise_families.h"

namespace tandem::cpu {

namespace {

template <bool kEqual, unsigned kScalars>
void compare(const void* const* in, void* out, int64_t n, const BlockParams&) {
  const auto* x = static_cast<const std::string*>(in[0]);
  const auto* y = static_cast<const std::string*>(in[1]);
  auto* o = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) {
    o[i] = (x[(kScalars & 1) ? 0 : i] == y[(kScalars & 2) ? 0 : i]) == kEqual;
  }
}
template <bool kEqual>
ElementwiseBlocks comparison() {
  return {
      2, DType::kBool, 20, {compare<kEqual, 0>, compare<kEqual, 1>, compare<kEqual, 2>}};
}

template <unsigned kScalars>
void join_strings(const void* const* in, void* out, int64_t n, const BlockParams&) {
  const auto* x = static_cast<const std::string*>(in[0]);
  const auto* y = static_cast<const std::string*>(in[1]);
  auto* o = static_cast<std::string*>(out);
  for (int64_t i = 0; i < n; ++i)
    o[i] = x[(kScalars & 1) ? 0 : i] + y[(kScalars & 2) ? 0 : i];
}

template <unsigned kScalars>
void select_strings(const void* const* in, void* out, int64_t n, const BlockParams&) {
  const auto* c = static_cast<const bool*>(in[0]);
  const auto* x = static_cast<const std::string*>(in[1]);
  const auto* y = static_cast<const std::string*>(in[2]);
  auto* o = static_cast<std::string*>(out);
  for (int64_t i = 0; i < n; ++i) {
    o[i] =
        c[(kScalars & 1) ? 0 : i] ? x[(kScalars & 2) ? 0 : i] : y[(kScalars & 4) ? 0 : i];
  }
}

}  // namespace

void add_string_blocks(BlockTable& table) {
  constexpr auto kString = DType::kString;
  table.add("Equal", kString, comparison<true>());
  table.add("NotEqual", kString, comparison<false>());
  table.add("Add", kString,
            {2, kString, 60, {join_strings<0>, join_strings<1>, join_strings<2>}});
  table.add(
      "SelectV2", kString,
      {3,
       kString,
       40,
       {select_strings<0>, select_strings<1>, select_strings<2>, select_strings<3>,
        select_strings<4>, select_strings<5>, select_strings<6>, select_strings<7>}});
}

}  // namespace tandem::cpu
