// Attributes: an op's parameters as a plain struct that lists its fields once:
//
//   struct MatMulAttrs {
//     bool transpose_a = false;
//     bool transpose_b = false;
//     TANDEM_ATTRS(MatMulAttrs, transpose_a, transpose_b)
//   };
//
// Equality, call keys, printing, JSON, Python keywords and docs derive from that list.
// Field types: bool, int64_t, double, std::string, DType, Ints, Shape,
// std::vector<std::string>, std::vector<double>, and enums with an `attr_names(Enum)`
// overload (array of names by value). Public op headers use the same structs as
// arguments: matmul(a, b, {.transpose_b = true}).
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/attrs.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem {

/// Collects the words of a call key.
using KeyWords = SmallVec<uint64_t, 40>;

struct AttrField {
  std::string name;
  std::string
      type;  // "bool", "int", "float", "str", "dtype", "ints", "shape", an enum's names
  std::string fallback;  // printed default
};

/// The description of an attribute struct, one static object per type.
struct AttrsType {
  std::string name;
  size_t size;
  const void* defaults;  // a default-constructed instance that lives for ever
  std::vector<AttrField> fields;
  void (*append_key)(const void* attrs, KeyWords& key);
  bool (*equal)(const void* a, const void* b);
  std::string (*print)(const void* attrs);      // "transpose_a=False, transpose_b=True"
  std::string (*to_json)(const void* attrs);    // {"transpose_a": false, …}
  void* (*from_json)(const std::string& json);  // new; throws InvalidArgumentError
  void* (*clone)(const void* attrs);
  void (*destroy)(void* attrs);
};

/// A borrowed attribute struct with its description. Empty for ops without attributes.
struct AttrsRef {
  const void* data = nullptr;
  const AttrsType* type = nullptr;
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(data);
  }
};

/// An owned copy.
class Attrs {
 public:
  Attrs() = default;
  explicit Attrs(AttrsRef ref) : type_(ref.type) {
    if (ref.data) data_ = {ref.type->clone(ref.data), ref.type->destroy};
  }
  AttrsRef ref() const { return {data_.get(), type_}; }

 private:
  const AttrsType* type_ = nullptr;
  std::shared_ptr<void> data_;
};

/// For ops that have none.
struct NoAttrs {
  TANDEM_ATTRS(NoAttrs)
};

template <class A>
const AttrsType& attrs_type();

template <class A>
AttrsRef attrs_ref(const A& attrs) {
  return {&attrs, &attrs_type<A>()};
}

}  // namespace tandem

#include "op/attrs_inl.h"
