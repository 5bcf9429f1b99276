#include "ops/effects.h"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "base/file.h"
#include "base/log.h"
#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "ops/print_format.h"
#include "tandem/ops/array.h"
#include "tandem/print.h"

namespace tandem {

namespace {

struct PrintAttrs {
  std::string output_stream = "stderr";
  std::string end = "\n";
  TANDEM_ATTRS(PrintAttrs, output_stream, end)
};

constexpr const char* kFilePrefix = "file://";

size_t count_of(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++n;
  }
  return n;
}

void infer_format(InferContext& c) {
  const auto& a = c.attrs<StringFormatAttrs>();
  c.require(!a.placeholder.empty(), "the placeholder must not be empty");
  const size_t wanted = count_of(a.text, a.placeholder);
  if (wanted != static_cast<size_t>(c.num_inputs())) {
    c.fail(
        fmt::format("num placeholders in template and num inputs must match: {} vs. {}",
                    wanted, c.num_inputs()));
  }
  c.add_output(DType::kString, Shape{});
}

void infer_print(InferContext& c) {
  c.rank(0, 0);
  const std::string& s = c.attrs<PrintAttrs>().output_stream;
  const bool known = s == "stderr" || s == "stdout" || s == "log(info)" ||
                     s == "log(warning)" || s == "log(error)" ||
                     s.starts_with(kFilePrefix);
  if (!known) {
    c.fail(fmt::format(
        "Unknown output stream: {}, Valid streams are: stdout, stderr, log(info), "
        "log(warning), log(error), file://<path>",
        s));
  }
}

void infer_assert(InferContext& c) { c.rank(0, 0); }

// Another tensor may be given: nothing is known of the contents.
void infer_default(InferContext& c) {
  const Shape& wanted = c.attrs<EnsureShapeAttrs>().shape;
  if (!wanted.compatible_with(c.shape(0))) {
    c.fail(fmt::format("the default has shape {}, which does not fit {}",
                       c.shape(0).debug_str(), wanted.debug_str()));
  }
  c.add_output(c.dtype(0), wanted);
}

std::vector<Tensor> run_format(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto& a = attrs.as<StringFormatAttrs>();
  std::string text;
  size_t at = 0;
  for (const Tensor& t : inputs) {
    const size_t next = a.text.find(a.placeholder, at);
    text += a.text.substr(at, next - at) + format_rows(t.to_host(), a.summarize);
    at = next + a.placeholder.size();
  }
  return {constant(text + a.text.substr(at))};
}

void append_to_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(checked_path(path).c_str(), "a");
  if (!file) {
    throw NotFoundError(fmt::format("PrintV2: cannot append to {}", path));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = written ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error != 0) throw_file_error(error, "PrintV2 cannot append to it", path);
}

std::vector<Tensor> run_print(AttrsRef attrs, std::span<const Tensor> inputs) {
  const auto& a = attrs.as<PrintAttrs>();
  const std::string text = inputs[0].item<std::string>() + a.end;
  if (a.output_stream == "stdout" || a.output_stream == "stderr") {
    std::FILE* stream = a.output_stream == "stdout" ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  } else if (a.output_stream.starts_with(kFilePrefix)) {
    append_to_file(a.output_stream.substr(std::string_view(kFilePrefix).size()), text);
  } else if (a.output_stream == "log(info)") {
    logging::line(text);
  } else {
    logging::warn(text);
  }
  return {};
}

std::vector<Tensor> run_assert(AttrsRef attrs, std::span<const Tensor> inputs) {
  if (inputs[0].item<bool>()) return {};
  std::string text = "assertion failed:";
  const int64_t summarize = attrs.as<AssertAttrs>().summarize;
  for (const Tensor& t : inputs.subspan(1)) {
    text += " [" + format_first(t.to_host(), summarize) + "]";
  }
  throw InvalidArgumentError(text);
}

}  // namespace

void register_effect_ops(OpTable& table) {
  // Anything printable: each input has a dtype of its own.
  const InputDef any{.name = "inputs", .type = '*', .variadic = true};
  table.add({.name = "StringFormat",
             .doc = "A text with tensors put in at placeholders.",
             .types = {},
             .inputs = {any},
             .attrs = &attrs_type<StringFormatAttrs>(),
             .infer = infer_format,
             .differentiable = false,
             .dynamic = true});
  table.add({.name = "PrintV2",
             .doc = "Prints a string.",
             .types = {{'T', mask(DType::kString)}},
             .inputs = {{.name = "input"}},
             .outputs = {},
             .attrs = &attrs_type<PrintAttrs>(),
             .infer = infer_print,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered});
  table.add({.name = "Assert",
             .doc = "Fails with the data when the condition is false.",
             .types = {{'T', mask(DType::kBool)}},
             .inputs = {{.name = "condition"}, any},
             .outputs = {},
             .attrs = &attrs_type<AssertAttrs>(),
             .infer = infer_assert,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered | kMayFail});
  // Of the graphs of sessions; when a part of one is taken out, values or nothing are put
  // in their place (graph/extract.h).
  table.add({.name = "NoOp",
             .doc = "Does nothing; what it comes after is done.",
             .outputs = {},
             .infer = [](InferContext&) {},
             .differentiable = false,
             .dynamic = true});
  table.add({.name = "PlaceholderWithDefault",
             .doc = "A tensor that is used where no other is given.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<EnsureShapeAttrs>(),
             .infer = infer_default,
             .gradient = [](GradContext& c) { c.set(0, c.raw_grad(0)); },
             .grad_inputs = 0,
             .grad_outputs = 0,
             .dynamic = true});
  table.add({.name = "VariableHasValue",
             .doc = "Whether a variable has a value.",
             .inputs = {{.name = "resource", .resource = true}},
             .infer = [](InferContext& c) { c.add_output(DType::kBool, Shape{}); },
             .differentiable = false,
             .effects = kReadsState});
  add_host_function(
      "NoOp", [](AttrsRef, std::span<const Tensor>) { return std::vector<Tensor>{}; });
  add_host_function("PlaceholderWithDefault",
                    [](AttrsRef, std::span<const Tensor> inputs) {
                      return std::vector<Tensor>{inputs[0]};
                    });
  add_host_function("StringFormat", run_format);
  add_host_function("PrintV2", run_print);
  add_host_function("Assert", run_assert);
}

Tensor string_format(const std::vector<Tensor>& tensors, StringFormatAttrs attrs) {
  static const OpHandle op("StringFormat");
  return emit_list(op, tensors, attrs)[0];
}

void print_items(const std::vector<PrintItem>& items, const PrintOptions& options) {
  static const OpHandle op("PrintV2");
  // A placeholder that no text contains.
  std::string placeholder = "{}";
  for (const PrintItem& item : items) {
    while ((item.text() + options.sep).find(placeholder) != std::string::npos) {
      placeholder += "{}";
    }
  }
  std::string text;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += options.sep;
    if (items[i].tensor().defined()) {
      tensors.push_back(items[i].tensor());
      text += placeholder;
    } else {
      text += items[i].text();
    }
  }
  const Tensor line = string_format(tensors, {text, placeholder, options.summarize});
  emit_all(op, {line}, PrintAttrs{options.output_stream, options.end});
}

void Assert(const Tensor& condition, const std::vector<Tensor>& data, AssertAttrs attrs) {
  static const OpHandle op("Assert");
  std::vector<Tensor> inputs = {condition};
  inputs.insert(inputs.end(), data.begin(), data.end());
  emit_list(op, inputs, attrs);
}

}  // namespace tandem
