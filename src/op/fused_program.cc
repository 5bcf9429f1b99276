#include "op/fused_program.h"

#include <cctype>
#include <charconv>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

namespace {

using Kind = FusedInstruction::Kind;

constexpr std::string_view kMarks[] = {"", "row ", "column ", "all "};

/// Reads a program from left to right; every failure names the place.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  bool accept(std::string_view word) {
    if (!std::string_view(text_).substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail(fmt::format("expected '{}'", word));
  }
  /// 0 at the end.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  int32_t number() {
    int32_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("expected a number");
    at_ += static_cast<size_t>(end - begin);
    return value;
  }
  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    if (at_ == begin) fail("expected a name");
    return text_.substr(begin, at_ - begin);
  }
  DType dtype() {
    const size_t begin = at_;
    const std::string word = name();
    for (int t = 1; t < kDTypeCount; ++t) {
      if (word == dtype_name(static_cast<DType>(t))) return static_cast<DType>(t);
    }
    at_ = begin;
    fail("expected a dtype");
  }
  /// A JSON object, braces included.
  std::string object() {
    const size_t begin = at_;
    int depth = 0;
    for (bool quoted = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quoted && c == '\\') {
        ++at_;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == '{') {
        ++depth;
      } else if (!quoted && c == '}' && --depth == 0) {
        ++at_;
        return text_.substr(begin, at_ - begin);
      }
    }
    fail("attributes without an end");
  }
  void end() {
    if (at_ != text_.size()) fail("expected the end");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgumentError(
        fmt::format("fused program: {} at character {} of '{}'", what, at_, text_));
  }

 private:
  const std::string& text_;
  size_t at_ = 0;
};

const OpDef& op_of(const FusedInstruction& instruction) {
  const OpDef* op = OpTable::get().find(instruction.op);
  if (op) return *op;
  throw InvalidArgumentError(fmt::format(
      "fused program: there is no op '{}'. `tandem ops` lists them.", instruction.op));
}

Attrs parse_attrs(const OpDef& op, const std::string& json) {
  if (!op.attrs) {
    throw InvalidArgumentError(fmt::format(
        "fused program: {} has no attributes, but {} are given", op.name, json));
  }
  const std::unique_ptr<void, void (*)(void*)> parsed(op.attrs->from_json(json),
                                                      op.attrs->destroy);
  return Attrs(AttrsRef{parsed.get(), op.attrs});
}

FusedInstruction read_instruction(Reader& in) {
  FusedInstruction i;
  for (size_t k = std::size(kMarks) - 1; k > 0; --k) {
    if (!in.accept(kMarks[k])) continue;
    i.kind = static_cast<Kind>(k);
    break;
  }
  i.op = in.name();
  if (in.next() == '{') i.attrs = parse_attrs(op_of(i), in.object());
  in.expect("(");
  if (in.next() != ')') {
    do {
      i.arguments.push_back(in.number());
    } while (in.accept(","));
  }
  in.expect("):");
  i.dtype = in.dtype();
  return i;
}

void append_list(std::string& s, std::span<const int32_t> numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i) s += ',';
    s += std::to_string(numbers[i]);
  }
}

}  // namespace

std::string FusedProgram::text() const {
  std::string s = "in ";
  for (size_t i = 0; i < input_dtypes.size(); ++i) {
    if (i) s += ',';
    s += dtype_name(input_dtypes[i]);
  }
  s += fmt::format(" rows {}", row_axes);
  int32_t value = num_inputs;
  for (const FusedInstruction& i : instructions) {
    s += fmt::format("; {}={}{}", value++, kMarks[static_cast<size_t>(i.kind)], i.op);
    if (i.kind == Kind::kElementwise) {
      const OpDef& op = op_of(i);
      const AttrsRef given = i.attrs.ref();
      if (op.attrs) s += op.attrs->to_json(given.data ? given.data : op.attrs->defaults);
    }
    s += '(';
    append_list(s, i.arguments);
    s += "):";
    s += dtype_name(i.dtype);
  }
  s += "; out ";
  append_list(s, outputs);
  return s;
}

FusedProgram FusedProgram::parse(const std::string& text) {
  FusedProgram p;
  Reader in(text);
  in.expect("in ");
  if (in.next() != ' ') {
    do {
      p.input_dtypes.push_back(in.dtype());
    } while (in.accept(","));
  }
  p.num_inputs = static_cast<int32_t>(p.input_dtypes.size());
  in.expect(" rows ");
  p.row_axes = in.number();
  while (in.accept("; ")) {
    if (in.accept("out ")) {
      do {
        p.outputs.push_back(in.number());
      } while (in.accept(","));
      in.end();
      p.validate();
      return p;
    }
    if (in.number() != p.num_values()) in.fail("values are numbered one after another");
    in.expect("=");
    p.instructions.push_back(read_instruction(in));
  }
  in.fail("expected '; out'");
}

}  // namespace tandem
