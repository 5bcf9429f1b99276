#include "run/signature.h"

#include <bit>

#include <fmt/format.h>

#include "op/emitter.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

void append(const Argument& a, CallSignature& into) {
  std::visit(Overloaded{[&](const Tensor& t) {
                          if (!t.defined()) {
                            throw ValueError(
                                "An argument of a function is not a tensor. Give "
                                "it a value.");
                          }
                          if (t.impl()->symbolic && !current_emitter().tracing()) {
                            throw InvalidArgumentError(
                                "An argument is a tensor of a function that is being "
                                "traced and cannot be used outside of it. Return it from "
                                "the function.");
                          }
                          SignatureItem item;
                          item.dtype = t.dtype();
                          item.shape = t.shape();
                          into.push_back(std::move(item));
                        },
                        [&](const Variable& v) {
                          SignatureItem item;
                          item.kind = SignatureItem::Kind::kVariable;
                          item.identity = v.handle().impl()->id;
                          item.text = v.name();
                          into.push_back(std::move(item));
                        },
                        [&](const Scalar& s) {
                          SignatureItem item;
                          item.kind = SignatureItem::Kind::kNumber;
                          item.is_float = s.is_float();
                          item.number = s.is_float()
                                            ? std::bit_cast<uint64_t>(s.as_double())
                                            : static_cast<uint64_t>(s.as_int());
                          into.push_back(std::move(item));
                        },
                        [&](const std::string& s) {
                          SignatureItem item;
                          item.kind = SignatureItem::Kind::kString;
                          item.text = s;
                          into.push_back(std::move(item));
                        },
                        [&](const Argument::List& list) {
                          SignatureItem begin, end;
                          begin.kind = SignatureItem::Kind::kListBegin;
                          end.kind = SignatureItem::Kind::kListEnd;
                          into.push_back(begin);
                          for (const Argument& item : list) append(item, into);
                          into.push_back(end);
                        }},
             a.value());
}

}  // namespace

std::string SignatureItem::str() const {
  switch (kind) {
    case Kind::kTensor:
      return fmt::format("{} tensor of shape {}", dtype_name(dtype), shape.str());
    case Kind::kVariable:
      return fmt::format("variable '{}'", text);
    case Kind::kNumber:
      return is_float ? fmt::format("number {}", std::bit_cast<double>(number))
                      : fmt::format("number {}", static_cast<int64_t>(number));
    case Kind::kString:
      return fmt::format("string '{}'", text);
    case Kind::kListBegin:
      return "a list";
    case Kind::kListEnd:
      return "the end of a list";
  }
  return {};
}

CallSignature signature_of(const std::vector<Argument>& arguments) {
  CallSignature s;
  for (const Argument& a : arguments) append(a, s);
  return s;
}

void collect_tensors(const std::vector<Argument>& arguments, std::vector<Tensor>& into) {
  for (const Argument& a : arguments) {
    if (const auto* t = std::get_if<Tensor>(&a.value())) into.push_back(*t);
    if (const auto* l = std::get_if<Argument::List>(&a.value()))
      collect_tensors(*l, into);
  }
}

std::vector<Argument> replace_tensors(const std::vector<Argument>& arguments,
                                      const std::vector<Tensor>& tensors, size_t& next) {
  std::vector<Argument> result;
  for (const Argument& a : arguments) {
    if (std::holds_alternative<Tensor>(a.value())) {
      result.emplace_back(tensors[next++]);
    } else if (const auto* l = std::get_if<Argument::List>(&a.value())) {
      result.emplace_back(replace_tensors(*l, tensors, next));
    } else {
      result.push_back(a);
    }
  }
  return result;
}

namespace {
bool covers(const Shape& wide, const Shape& shape) {
  if (!wide.has_rank()) return true;
  if (!shape.has_rank() || wide.rank() != shape.rank()) return false;
  for (int i = 0; i < wide.rank(); ++i) {
    if (wide[i] >= 0 && wide[i] != shape[i]) return false;
  }
  return true;
}
}  // namespace

bool accepts(const CallSignature& traced, const CallSignature& call) {
  if (traced.size() != call.size()) return false;
  for (size_t i = 0; i < traced.size(); ++i) {
    if (traced[i].kind == SignatureItem::Kind::kTensor &&
        call[i].kind == SignatureItem::Kind::kTensor) {
      if (traced[i].dtype != call[i].dtype || !covers(traced[i].shape, call[i].shape)) {
        return false;
      }
    } else if (!(traced[i] == call[i])) {
      return false;
    }
  }
  return true;
}

CallSignature generalize(const CallSignature& a, const CallSignature& b) {
  if (a.size() != b.size()) return {};
  CallSignature result = a;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != SignatureItem::Kind::kTensor ||
        b[i].kind != SignatureItem::Kind::kTensor) {
      if (!(a[i] == b[i])) return {};
      continue;
    }
    if (a[i].dtype != b[i].dtype) return {};
    const Shape &x = a[i].shape, &y = b[i].shape;
    if (!x.has_rank() || x.rank() != y.rank()) {
      result[i].shape = Shape::unknown();
      continue;
    }
    for (int d = 0; d < x.rank(); ++d) {
      if (x[d] != y[d]) result[i].shape.set(d, kUnknownDim);
    }
  }
  return result;
}

std::string difference(const CallSignature& before, const CallSignature& now) {
  std::string text;
  for (size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const std::string was = i < before.size() ? before[i].str() : "nothing";
    const std::string is = i < now.size() ? now[i].str() : "nothing";
    if (was == is) continue;
    text +=
        fmt::format("{}argument {}: {} then {}", text.empty() ? "" : "; ", i, was, is);
  }
  return text;
}

}  // namespace tandem
