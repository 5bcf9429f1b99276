#include "tandem/shape.h"

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t d : dims) push_back(d);
}

void Shape::throw_no_dim(int i) const {
  throw InvalidArgumentError(fmt::format("dim: index {} is not in [{}, {}) for shape {}",
                                         i, -rank_, rank_, str()));
}

Shape Shape::unknown_of_rank(int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(kUnknownDim);
  return s;
}

int64_t Shape::num_elements() const {
  if (rank_ < 0) return -1;
  int64_t n = 1;
  bool zero = false, unknown = false, overflow = false;
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] < 0) {
      unknown = true;
    } else if (dims_[i] == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(n, dims_[i], &n)) {
      overflow = true;
    }
  }
  if (unknown) return -1;
  // Of an empty shape too: what is computed with parts of a shape then fits.
  if (overflow) {
    throw InvalidArgumentError(fmt::format(
        "Shape {} has more elements than fit in 64 bits. Check the sizes.", debug_str()));
  }
  return zero ? 0 : n;
}

void Shape::push_back(int64_t dim) { insert(rank_, dim); }

void Shape::insert(int at, int64_t dim) {
  if (rank_ >= kMaxRank) {
    throw InvalidArgumentError(
        fmt::format("A tensor can have at most {} dimensions. Merge some of {} and {}.",
                    kMaxRank, debug_str(), dim));
  }
  if (dim < kUnknownDim) {
    throw InvalidArgumentError(fmt::format("Dimension {} must be >= 0", dim));
  }
  for (int i = rank_; i > at; --i) dims_[i] = dims_[i - 1];
  dims_[at] = dim;
  ++rank_;
}

void Shape::erase(int at) {
  for (int i = at; i + 1 < rank_; ++i) dims_[i] = dims_[i + 1];
  --rank_;
}

Shape Shape::slice(int from, int to) const {
  Shape s;
  for (int i = from; i < to; ++i) s.push_back(dims_[i]);
  return s;
}

bool Shape::compatible_with(const Shape& other) const {
  if (rank_ < 0 || other.rank_ < 0) return true;
  if (rank_ != other.rank_) return false;
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

Shape Shape::merged_with(const Shape& other) const {
  if (!compatible_with(other)) {
    throw InvalidArgumentError(
        fmt::format("Shapes {} and {} are not compatible", str(), other.str()));
  }
  if (rank_ < 0) return other;
  if (other.rank_ < 0) return *this;
  Shape s = *this;
  for (int i = 0; i < rank_; ++i) {
    if (s.dims_[i] < 0) s.dims_[i] = other.dims_[i];
  }
  return s;
}

std::string Shape::str() const {
  if (rank_ < 0) return "<unknown>";
  std::string s = "(";
  for (int i = 0; i < rank_; ++i) {
    if (i) s += ", ";
    s += dims_[i] < 0 ? "None" : std::to_string(dims_[i]);
  }
  return s + (rank_ == 1 ? ",)" : ")");
}

std::string Shape::debug_str() const {
  if (rank_ < 0) return "<unknown>";
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) s += ",";
    s += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return s + "]";
}

}  // namespace tandem
