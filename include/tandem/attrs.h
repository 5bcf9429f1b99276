// The field list of attribute structs (see TANDEM_ATTRS) and the list type Ints.
#pragma once

#include <cstdint>

#include "tandem/ints.h"

#define TANDEM_PARENS ()
#define TANDEM_EXPAND(...) TANDEM_EXPAND3(TANDEM_EXPAND3(TANDEM_EXPAND3(__VA_ARGS__)))
#define TANDEM_EXPAND3(...) TANDEM_EXPAND2(TANDEM_EXPAND2(TANDEM_EXPAND2(__VA_ARGS__)))
#define TANDEM_EXPAND2(...) __VA_ARGS__
#define TANDEM_FOR_EACH(macro, ...) \
  __VA_OPT__(TANDEM_EXPAND(TANDEM_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define TANDEM_FOR_EACH_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(TANDEM_FOR_EACH_AGAIN TANDEM_PARENS(macro, __VA_ARGS__))
#define TANDEM_FOR_EACH_AGAIN() TANDEM_FOR_EACH_STEP
#define TANDEM_VISIT_FIELD(field) visitor(#field, self.field);

/// Lists the fields of an attribute struct, once, in order. Keeps the struct an
/// aggregate.
#define TANDEM_ATTRS(Type, ...)                                                        \
  static constexpr const char* attrs_name() { return #Type; }                          \
  template <class Self, class Visitor>                                                 \
  static void visit([[maybe_unused]] Self& self, [[maybe_unused]] Visitor&& visitor) { \
    TANDEM_FOR_EACH(TANDEM_VISIT_FIELD, __VA_ARGS__)                                   \
  }                                                                                    \
  friend bool operator==(const Type&, const Type&) = default;
