#include "op/infer.h"

#include <fmt/format.h>

#include "op/op_def.h"
#include "tandem/error.h"

namespace tandem {

void InferContext::fail(const std::string& message) const {
  throw InvalidArgumentError(fmt::format("{}: {}", op_.name, message));
}

DType InferContext::type(char name) const {
  for (int i = 0; i < num_inputs(); ++i) {
    if (op_.input_def(i).type == name && dtype(i) != DType::kInvalid) return dtype(i);
  }
  return DType::kInvalid;
}

void check_types(const InferContext& c) {
  const OpDef& op = c.op();
  for (const TypeVar& var : op.types) {
    int first = -1;
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (op.input_def(i).type != var.name || c.dtype(i) == DType::kInvalid) continue;
      if (first >= 0) {
        c.same_dtype(first, i);
        continue;
      }
      first = i;
      if (var.allowed & mask(c.dtype(i))) continue;
      std::string names;
      for (int t = 1; t < kDTypeCount; ++t) {
        if (!(var.allowed & 1u << t)) continue;
        if (!names.empty()) names += ", ";
        names += dtype_name(static_cast<DType>(t));
      }
      c.fail(fmt::format(
          "Value for input '{}' of dtype {} is not in the list of allowed values: "
          "{}. Cast it.",
          op.input_def(i).name, dtype_name(c.dtype(i)), names));
    }
  }
}

void infer_call(InferContext& c) {
  check_types(c);
  c.op().infer(c);
}

void InferContext::same_dtype(int i, int j) const {
  if (dtype(i) == dtype(j)) return;
  throw InvalidArgumentError(
      fmt::format("cannot compute {0} as input #{1}(zero-based) was expected to be a {2} "
                  "tensor but is a {3} "
                  "tensor [Op:{0}]. Cast one of them.",
                  op_.name, j, dtype_short_name(dtype(i)), dtype_short_name(dtype(j))));
}

void InferContext::dtype_in(int i, std::initializer_list<DType> allowed) const {
  std::string names;
  for (DType t : allowed) {
    if (t == dtype(i)) return;
    if (!names.empty()) names += ", ";
    names += dtype_name(t);
  }
  fail(fmt::format("input '{}' has dtype {}, expected one of {}", op_.input_def(i).name,
                   dtype_name(dtype(i)), names));
}

namespace {
[[noreturn]] void wrong_class(const InferContext& c, int i, const char* expected) {
  c.fail(fmt::format("input '{}' has dtype {}, expected {}", c.op().input_def(i).name,
                     dtype_name(c.dtype(i)), expected));
}
}  // namespace

void InferContext::floating(int i) const {
  if (!is_floating(dtype(i))) wrong_class(*this, i, "a floating-point dtype");
}
void InferContext::floating_or_complex(int i) const {
  if (!is_floating(dtype(i)) && !is_complex(dtype(i))) {
    wrong_class(*this, i, "a floating-point or complex dtype");
  }
}
void InferContext::numeric(int i) const {
  if (!is_numeric(dtype(i))) wrong_class(*this, i, "a numeric dtype");
}
void InferContext::integer(int i) const {
  if (!is_integer(dtype(i))) wrong_class(*this, i, "an integer dtype");
}

void InferContext::rank(int i, int wanted) const {
  if (shape(i).has_rank() && shape(i).rank() != wanted) {
    fail(fmt::format("input '{}' must have rank {}, but its shape is {}",
                     op_.input_def(i).name, wanted, shape(i).debug_str()));
  }
}
void InferContext::rank_at_least(int i, int wanted) const {
  if (shape(i).has_rank() && shape(i).rank() < wanted) {
    fail(fmt::format("input '{}' must have rank {} or more, but its shape is {}",
                     op_.input_def(i).name, wanted, shape(i).debug_str()));
  }
}

int InferContext::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    fail(fmt::format("axis {} is out of range [{}, {}) for a tensor of rank {}", axis,
                     -rank, rank, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape InferContext::shape_from_value(int i) const {
  const TensorInfo& info = input(i);
  integer(i);
  if (info.shape.has_rank() && info.shape.rank() > 1) {
    fail(fmt::format("'{}' must be a vector of dimensions, but its shape is {}",
                     op_.input_def(i).name, info.shape.debug_str()));
  }
  if (!info.has_value) {
    if (!info.shape.has_rank() || !info.shape.is_known()) return Shape::unknown();
    return Shape::unknown_of_rank(
        info.shape.rank() == 0 ? 1 : static_cast<int>(info.shape[0]));
  }
  if (info.value.size() > static_cast<size_t>(kMaxRank)) {
    fail(fmt::format("'{}' asks for rank {}; at most {} are supported",
                     op_.input_def(i).name, info.value.size(), kMaxRank));
  }
  Shape result;
  for (int64_t v : info.value) {
    if (v == kUnknownValue) {
      result.push_back(kUnknownDim);
      continue;
    }
    if (v < -1) {
      fail(fmt::format("'{}' has the negative dimension {}", op_.input_def(i).name, v));
    }
    result.push_back(v);
  }
  return result;
}

bool broadcast_shapes(const Shape& a, const Shape& b, Shape* out) {
  if (!a.has_rank() || !b.has_rank()) {
    *out = Shape::unknown();
    return true;
  }
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Shape::unknown_of_rank(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    int64_t d;
    if (da == db) {
      d = da;
    } else if (da == 1) {
      d = db;
    } else if (db == 1) {
      d = da;
    } else if (da == kUnknownDim) {
      d = db;  // an unknown dimension must be 1 or db; either way the result is db
    } else if (db == kUnknownDim) {
      d = da;
    } else {
      return false;
    }
    result.set(i, d);
  }
  *out = result;
  return true;
}

Shape InferContext::broadcast(const Shape& a, const Shape& b) const {
  Shape out;
  if (!broadcast_shapes(a, b, &out)) {
    throw InvalidArgumentError(
        fmt::format("Incompatible shapes: {} vs. {} "
                    "[Op:{}]. Dimensions must be equal or 1, counted from the last.",
                    a.debug_str(), b.debug_str(), op_.name));
  }
  return out;
}

}  // namespace tandem
