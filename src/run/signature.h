// Signatures of calls: what decides whether a trace may serve a call. Tensors by dtype
// and shape, variables by identity, numbers and strings by value. A plain value.
#pragma once

#include <string>
#include <vector>

#include "tandem/function.h"

namespace tandem {

struct SignatureItem {
  enum class Kind : uint8_t {
    kTensor,
    kVariable,
    kNumber,
    kString,
    kListBegin,
    kListEnd
  };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
  Shape shape;            // tensors; dimensions may be unknown
  uint64_t identity = 0;  // variables
  uint64_t number = 0;    // the bits of a number: NaN equals itself, -0.0 is not 0.0
  bool is_float = false;
  std::string text;

  std::string str() const;
  friend bool operator==(const SignatureItem&, const SignatureItem&) = default;
};
using CallSignature = std::vector<SignatureItem>;

CallSignature signature_of(const std::vector<Argument>& arguments);
/// The tensors among the arguments, in order.
void collect_tensors(const std::vector<Argument>& arguments, std::vector<Tensor>& into);
/// The arguments with their tensors replaced, in order.
std::vector<Argument> replace_tensors(const std::vector<Argument>& arguments,
                                      const std::vector<Tensor>& tensors, size_t& next);

/// Whether a call of signature `call` may use what was traced for `traced`.
bool accepts(const CallSignature& traced, const CallSignature& call);
/// The signature that accepts both, or empty when they differ in more than shapes.
CallSignature generalize(const CallSignature& a, const CallSignature& b);
/// "argument 1: shape (32, 10) then (16, 10)".
std::string difference(const CallSignature& before, const CallSignature& now);

}  // namespace tandem
