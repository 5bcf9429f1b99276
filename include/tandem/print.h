// Printing and asserting as ops: eagerly at once, in a traced function when it runs, in
// program order with each other (tf.print, tf.strings.format, tf.debugging.Assert).
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/attrs.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

/// Text, or a tensor whose contents are printed.
class PrintItem {
 public:
  PrintItem(const char* text) : text_(text) {}
  PrintItem(std::string text) : text_(std::move(text)) {}
  PrintItem(Tensor tensor) : tensor_(std::move(tensor)) {}
  PrintItem(const Variable& variable) : tensor_(variable.read()) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  PrintItem(T number) : tensor_(constant(number)) {}
  const Tensor& tensor() const { return tensor_; }
  const std::string& text() const { return text_; }

 private:
  Tensor tensor_;
  std::string text_;
};

struct PrintOptions {
  /// "stderr", "stdout", "log(info)", "log(warning)", "log(error)", or "file://" and a
  /// path that lines are appended to.
  std::string output_stream = "stderr";
  /// So many first and last elements of each dimension; -1: all.
  int64_t summarize = 3;
  std::string sep = " ";
  std::string end = "\n";
};
void print_items(const std::vector<PrintItem>& items, const PrintOptions& options = {});
/// `print("loss", loss)`: "loss 0.25" on stderr.
template <class... Items>
void print(const Items&... items) {
  print_items({PrintItem(items)...});
}

struct StringFormatAttrs {
  std::string text = "{}";
  std::string placeholder = "{}";
  int64_t summarize = 3;
  TANDEM_ATTRS(StringFormatAttrs, text, placeholder, summarize)
};
/// A string scalar: the text with placeholders replaced by tensors, in order.
Tensor string_format(const std::vector<Tensor>& tensors, StringFormatAttrs attrs = {});

struct AssertAttrs {
  int64_t summarize = 3;  // elements of each tensor that are printed
  TANDEM_ATTRS(AssertAttrs, summarize)
};
/// Throws InvalidArgumentError with the data when the condition (a bool scalar) is false.
void Assert(const Tensor& condition, const std::vector<Tensor>& data,
            AssertAttrs attrs = {});

}  // namespace tandem
