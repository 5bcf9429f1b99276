#include "tensor/format_array.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tensor/format_element.h"

namespace tandem {

namespace {

// NumPy's default print options.
constexpr int64_t kThreshold = 1000;  // above this many elements only the edges are shown
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 75;

bool skips_middle(const Shape& shape, bool summary, int axis) {
  return summary && shape[axis] > 2 * kEdge;
}

/// Flat indices of the elements that are shown, in order.
void collect_shown(const Shape& shape, bool summary, int axis, int64_t base,
                   std::vector<int64_t>& out) {
  if (axis == shape.rank()) {
    out.push_back(base);
    return;
  }
  const int64_t n = shape[axis];
  for (int64_t i = 0; i < n; ++i) {
    if (i == kEdge && skips_middle(shape, summary, axis)) i = n - kEdge;
    collect_shown(shape, summary, axis + 1, base * n + i, out);
  }
}

/// Puts the words of an array into brackets and lines.
class ArrayWriter {
 public:
  struct Style {
    std::string_view separator;  // between the elements of a row
    size_t indent = 0;           // columns before the array, on its continuation lines
    size_t width = kLineWidth;
  };

  ArrayWriter(const Shape& shape, bool summary, Style style,
              std::vector<std::string> words)
      : shape_(shape), summary_(summary), style_(style), words_(std::move(words)) {}

  std::string write() {
    block(0);
    return std::move(out_);
  }

 private:
  size_t indent_inside(int axis) const {
    return style_.indent + 1 + static_cast<size_t>(axis);
  }

  void block(int axis) {
    out_ += '[';
    if (axis == shape_.rank() - 1) {
      row(axis);
    } else {
      const bool comma = style_.separator.front() == ',';
      const int64_t n = shape_[axis];
      for (int64_t i = 0; i < n; ++i) {
        if (i > 0) next_block(axis, comma);
        if (i == kEdge && skips_middle(shape_, summary_, axis)) {
          out_ += "...";
          next_block(axis, comma);
          i = n - kEdge;
        }
        block(axis + 1);
      }
    }
    out_ += ']';
  }

  void next_block(int axis, bool comma) {
    if (comma) out_ += ',';
    out_.append(static_cast<size_t>(shape_.rank() - axis - 1), '\n');
    out_.append(indent_inside(axis), ' ');
  }

  void row(int axis) {
    const size_t indent = indent_inside(axis);
    // One column for the bracket of each outer level, one for what follows the element.
    const size_t width = style_.width - static_cast<size_t>(axis) - 1;
    size_t column = indent;
    const auto put = [&](std::string_view word) {
      if (column > indent) {
        out_ += style_.separator;
        column += style_.separator.size();
        if (column + word.size() > width) {
          out_.erase(out_.find_last_not_of(' ') + 1);
          out_ += '\n';
          out_.append(indent, ' ');
          column = indent;
        }
      }
      out_ += word;
      column += word.size();
    };
    const int64_t n = shape_[axis];
    for (int64_t i = 0; i < n; ++i) {
      if (i == kEdge && skips_middle(shape_, summary_, axis)) {
        put("...");
        i = n - kEdge;
      }
      put(words_[next_word_++]);
    }
  }

  const Shape& shape_;
  bool summary_;
  Style style_;
  std::vector<std::string> words_;
  size_t next_word_ = 0;
  std::string out_;
};

std::string array_text(DType dtype, const Shape& shape, const void* data,
                       ArrayWriter::Style style) {
  const int64_t n = shape.num_elements();
  if (n == 0) return "[]";
  const bool summary = n > kThreshold;
  std::vector<int64_t> shown;
  collect_shown(shape, summary, 0, 0, shown);
  return ArrayWriter(shape, summary, style, element_words(dtype, data, shown)).write();
}

/// Whether NumPy's reader would guess the dtype from the values.
bool is_implied(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kInt64 || dtype == DType::kFloat64 ||
         dtype == DType::kComplex128;
}

std::string on_new_line_if_several(std::string text) {
  if (text.find('\n') != std::string::npos) text.insert(0, 1, '\n');
  return text;
}

}  // namespace

std::string array_str(DType dtype, const Shape& shape, const void* data) {
  if (shape.rank() == 0) return scalar_text(dtype, data, ScalarStyle::kNumpyStr);
  return array_text(dtype, shape, data, {.separator = " "});
}

std::string array_repr(DType dtype, const Shape& shape, const void* data) {
  if (shape.rank() == 0) return scalar_text(dtype, data, ScalarStyle::kPythonRepr);
  constexpr std::string_view kPrefix = "array(";
  std::string text(kPrefix);
  text +=
      array_text(dtype, shape, data,
                 {.separator = ", ", .indent = kPrefix.size(), .width = kLineWidth - 1});

  const int64_t n = shape.num_elements();
  std::string extras;
  if ((n == 0 && shape.rank() > 1) || n > kThreshold) extras = "shape=" + shape.str();
  if (n == 0 || !is_implied(dtype)) {
    if (!extras.empty()) extras += ", ";
    extras += "dtype=";
    extras += dtype == DType::kString ? "object" : dtype_name(dtype);
  }
  if (extras.empty()) return text + ")";
  text += ",";
  extras += ")";
  const size_t last_line = text.size() - (text.rfind('\n') + 1);
  const bool fits = last_line + extras.size() + 1 <= kLineWidth;
  return text + (fits ? " " : "\n" + std::string(kPrefix.size(), ' ')) + extras;
}

std::string eager_str(DType dtype, const Shape& shape, const void* data) {
  return fmt::format("tf.Tensor({}, shape={}, dtype={})",
                     on_new_line_if_several(array_str(dtype, shape, data)), shape.str(),
                     dtype_name(dtype));
}

std::string eager_repr(DType dtype, const Shape& shape, const void* data) {
  return fmt::format("<tf.Tensor: shape={}, dtype={}, numpy={}>", shape.str(),
                     dtype_name(dtype),
                     on_new_line_if_several(array_repr(dtype, shape, data)));
}

}  // namespace tandem
