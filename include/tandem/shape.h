// Shape: the dimensions of a tensor, any of which (or their number) may be unknown.
// A plain value; rank is at most kMaxRank.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace tandem {

inline constexpr int kMaxRank = 12;
inline constexpr int64_t kUnknownDim = -1;

class Shape {
 public:
  /// The scalar shape ().
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims)
      : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  /// Throws InvalidArgumentError for rank above kMaxRank or a dimension below -1.
  explicit Shape(std::span<const int64_t> dims);
  explicit Shape(const std::vector<int64_t>& dims)
      : Shape(std::span<const int64_t>(dims)) {}
  /// A shape of which nothing is known.
  static Shape unknown() {
    Shape s;
    s.rank_ = -1;
    return s;
  }
  /// Known rank, all dimensions unknown.
  static Shape unknown_of_rank(int rank);

  /// Number of dimensions, or -1 when unknown.
  int rank() const { return rank_; }
  bool has_rank() const { return rank_ >= 0; }
  /// All dimensions are known.
  bool is_known() const {
    if (rank_ < 0) return false;
    for (int i = 0; i < rank_; ++i) {
      if (dims_[i] < 0) return false;
    }
    return true;
  }
  int64_t operator[](int i) const { return dims_[i]; }
  /// Negative counts from the end; throws InvalidArgumentError when there is no such
  /// dimension.
  int64_t dim(int i) const {
    if (i < -rank_ || i >= rank_) throw_no_dim(i);
    return dims_[i < 0 ? i + rank_ : i];
  }
  void set(int i, int64_t value) { dims_[i] = value; }
  std::span<const int64_t> dims() const {
    return {dims_, static_cast<size_t>(rank_ < 0 ? 0 : rank_)};
  }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + (rank_ < 0 ? 0 : rank_); }

  /// Product of the dimensions; -1 when one is unknown. Throws on overflow.
  int64_t num_elements() const;
  void push_back(int64_t dim);
  void insert(int at, int64_t dim);
  void erase(int at);
  /// Dimensions [from, to) as a shape.
  Shape slice(int from, int to) const;

  /// Same rank and dimensions, unknown equal only to unknown.
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }
  /// Could both describe one tensor?
  bool compatible_with(const Shape& other) const;
  /// What both together say; throws InvalidArgumentError when they disagree.
  Shape merged_with(const Shape& other) const;

  /// TensorFlow's Python form: "(2, 3)", "(None, 3)", "(5,)", "<unknown>".
  std::string str() const;
  /// TensorFlow's C++ form, used in kernel errors: "[2,3]", "[?,3]".
  std::string debug_str() const;

 private:
  [[noreturn]] void throw_no_dim(int i) const;
  int32_t rank_ = 0;
  int64_t dims_[kMaxRank] = {};
};

}  // namespace tandem
