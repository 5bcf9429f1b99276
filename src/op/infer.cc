#include "op/infer.h"

#include <string_view>

#include <fmt/format.h>

#include "op/host_function.h"
#include "op/input_count.h"
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

void check_present(const InferContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.dtype(i) != DType::kInvalid || c.op().input_def(i).optional) continue;
    c.fail(fmt::format("input #{} is not a tensor. Give it a value.", i));
  }
}

// Kernels compute numbers and strings; other values are host functions' and views'.
bool hands_on(const InferContext& c, DType dtype) {
  if (host_function(c.op())) return true;
  for (const TensorInfo& in : c.inputs()) {
    if (in.dtype == dtype) return true;
  }
  return false;
}
void check_values(const InferContext& c) {
  if (c.op().view || host_function(c.op())) return;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const InputDef& def = c.op().input_def(i);
    if (c.dtype(i) < DType::kResource || def.resource || def.shape_only) continue;
    c.fail(fmt::format("input '{}' is a {}, not a tensor of numbers or strings", def.name,
                       dtype_name(c.dtype(i))));
  }
}

// Inference adds up sizes, and multiplies them by attributes; no memory has so many
// bytes.
constexpr int64_t kMostDim = int64_t{1} << 56;
void check_sizes(const InferContext& c, const Shape& shape, std::string_view whose) {
  if (!shape.has_rank()) return;
  for (int64_t dim : shape) {
    if (dim <= kMostDim) continue;
    c.fail(fmt::format("{} has shape {}: a size of more than 2^56 is not supported",
                       whose, shape.debug_str()));
  }
}
void check_sizes(const InferContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    check_sizes(c, c.shape(i), c.op().input_def(i).name);
  }
}

// Sizes that cannot be: products of sizes and attributes that went past 64 bits, windows
// that do not fit. Kernels compute with what passes here.
void check_outputs(InferContext& c) {
  for (const TensorInfo& out : c.outputs()) {
    if (out.dtype == DType::kInvalid || static_cast<int>(out.dtype) >= kDTypeCount) {
      c.fail(fmt::format("an output would have dtype {}, which is none. Name a dtype.",
                         static_cast<int>(out.dtype)));
    }
    if (out.dtype >= DType::kResource && !hands_on(c, out.dtype)) {
      c.fail(fmt::format("there are no elements of dtype {}", dtype_name(out.dtype)));
    }
    if (!out.shape.has_rank()) continue;
    for (int64_t dim : out.shape) {
      if (dim >= 0 || dim == kUnknownDim) continue;
      c.fail(
          fmt::format("its output would have the size {} in shape {}. Check the sizes.",
                      dim, out.shape.debug_str()));
    }
    if (out.shape.num_elements() < 0 || out.dtype == DType::kInvalid) continue;
    int64_t bytes;
    if (__builtin_mul_overflow(out.shape.num_elements(),
                               static_cast<int64_t>(dtype_size(out.dtype)), &bytes)) {
      c.fail(fmt::format(
          "its output of shape {} and dtype {} has more bytes than fit in 64 bits. Check "
          "the sizes.",
          out.shape.debug_str(), dtype_name(out.dtype)));
    }
  }
}

// The least integer stands for values that are not known; as a size, an axis or a count
// it is none. Range, which computes with its bounds, reads the contents.
void check_host_values(const InferContext& c) {
  if (c.op().name == "Range") return;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const TensorInfo& in = c.input(i);
    if (!in.data || !in.has_value || !c.op().input_def(i).host) continue;
    for (int64_t v : in.value) {
      if (v != kUnknownValue) continue;
      c.fail(fmt::format("input '{}' has the value {}, which is out of range",
                         c.op().input_def(i).name, v));
    }
  }
}

void infer_call(InferContext& c) {
  check_input_count(c.op(), static_cast<size_t>(c.num_inputs()));
  check_present(c);
  check_types(c);
  check_values(c);
  check_host_values(c);
  check_sizes(c);
  c.op().infer(c);
  check_outputs(c);
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
