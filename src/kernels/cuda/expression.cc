#include "kernels/cuda/expression.h"

#include <array>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/json.h"
#include "kernels/cuda/program.h"
#include "tandem/error.h"
#include "tandem/ops/attrs.h"

namespace tandem::cuda {
namespace {

// Forms that hold for integers that wrap and for complex numbers too.
const char* form_of(const std::string& op) {
  static constexpr std::array<std::array<const char*, 2>, 10> kForms{{
      {"AddV2", "add(x, y)"},
      {"Sub", "sub(x, y)"},
      {"Mul", "mul(x, y)"},
      {"Neg", "neg(x)"},
      {"Square", "square(x)"},
      {"SigmoidGrad", "y * conj(x) * (1 - conj(x))"},
      {"TanhGrad", "y * (1 - conj(x) * conj(x))"},
      {"SqrtGrad", "y * 0.5 / conj(x)"},
      {"RsqrtGrad", "y * (-0.5 * conj(x)) * (conj(x) * conj(x))"},
      {"ReciprocalGrad", "-y * (conj(x) * conj(x))"},
  }};
  for (const auto& form : kForms) {
    if (op == form[0]) return form[1];
  }
  return nullptr;
}

bool function_may_fail(const std::string& function) {
  return function == "floordiv" || function == "floormod" || function == "truncatediv" ||
         function == "truncatemod" || function == "pow";
}

std::string compute_text(DType dtype) {
  return fmt::format("compute_of<{}>::type", type_text(dtype));
}

/// The text of an attribute's value, in type C where it is a number.
std::string attribute_text(AttrsRef attrs, const std::string& name) {
  const auto values = nlohmann::json::parse(attrs.type->to_json(attrs.data));
  const auto& value = values.at(name);
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string()) {  // no number of JSON (op/attrs.cc)
    const auto text = value.get<std::string>();
    if (text == "nan") return "C(kNotANumber)";
    return text == "inf" ? "C(kInfinity)" : "C(-kInfinity)";
  }
  return fmt::format("C({:.17g})", value.get<double>());
}

bool word_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool word_part(char c) {
  return word_start(c) || std::isdigit(static_cast<unsigned char>(c));
}

/// Puts operands for x, y and z, f_ before functions, C() around numbers.
class Translator {
 public:
  Translator(AttrsRef attrs, const std::vector<Operand>& operands)
      : attrs_(attrs), operands_(operands) {}

  std::string translate(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (word_start(c)) {
        size_t end = i;
        while (end < text.size() && word_part(text[end])) ++end;
        const std::string word = text.substr(i, end - i);
        if (end < text.size() && text[end] == '(') {
          // A function that may fail gets `fail` behind its arguments.
          const size_t close = matching(text, end);
          const std::string arguments = translate(text.substr(end + 1, close - end - 1));
          out +=
              "f_" + word + "(" + arguments + (function_may_fail(word) ? ", fail)" : ")");
          i = close + 1;
        } else {
          out += operand(word);
          i = end;
        }
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        size_t end = i;
        while (end < text.size() &&
               (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.' ||
                text[end] == 'e')) {
          ++end;
        }
        out += "C(" + text.substr(i, end - i) + ")";
        i = end;
      } else if (c == '{') {
        const size_t close = text.find('}', i);
        out += attribute_text(attrs_, text.substr(i + 1, close - i - 1));
        i = close + 1;
      } else {
        out += c;
        ++i;
      }
    }
    return out;
  }

 private:
  static size_t matching(const std::string& text, size_t open) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i;
    }
    throw InternalError("an expression without a closing parenthesis: " + text);
  }
  std::string operand(const std::string& word) const {
    const size_t at = word == "x" ? 0 : word == "y" ? 1 : word == "z" ? 2 : 3;
    if (at >= operands_.size()) {
      throw InternalError("an expression names '" + word + "', which it has not");
    }
    return operands_[at].name;
  }

  AttrsRef attrs_;
  const std::vector<Operand>& operands_;
};

}  // namespace

std::string instruction_text(const OpDef& op, AttrsRef attrs,
                             const std::vector<Operand>& operands, DType result) {
  if (op.name == "Cast") {
    const bool truncate = attrs.data && attrs.as<CastAttrs>().truncate;
    return fmt::format("get({}<{}, {}>({}))", truncate ? "f_cast_truncate" : "f_cast",
                       type_text(operands[0].dtype), type_text(result), operands[0].name);
  }
  std::string text;
  if (op.name == "AddN") {
    text = operands[0].name;
    for (size_t i = 1; i < operands.size(); ++i) {
      text = fmt::format("rounded<{}>(f_add({}, {}))", type_text(result), text,
                         operands[i].name);
    }
  } else {
    const char* form = form_of(op.name);
    const std::string expression = form ? form : op.expression;
    if (expression.empty()) {
      throw InternalError(op.name + " has no expression and cannot be part of a program");
    }
    text = Translator(attrs, operands).translate(expression);
  }
  // C: what numbers in the text are made to, the type of the op's T.
  const DType c = operands.size() > 1 ? operands[1].dtype : operands[0].dtype;
  const std::string name = compute_text(c);
  std::string typed;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone = i == 0 || !word_part(text[i - 1]);
    if (alone && text.compare(i, 2, "C(") == 0) {
      typed += name + "(";
      ++i;
    } else {
      typed += text[i];
    }
  }
  return fmt::format("rounded<{}>({})", type_text(result), typed);
}

bool needs_special_functions(const OpDef& op) {
  static const std::set<std::string> kSpecial = {
      "Lgamma",    "Digamma",     "Zeta",     "Polygamma", "Igamma",
      "Igammac",   "IgammaGradA", "Betainc",  "Erfinv",    "Ndtri",
      "BesselI0e", "BesselI1e",   "BesselI0", "BesselI1",  "BesselK0e",
      "BesselK1e", "BesselK0",    "BesselK1", "BesselJ0",  "BesselJ1",
      "BesselY0",  "BesselY1",    "Dawsn",    "Expint",    "Spence"};
  return kSpecial.count(op.name) > 0;
}

std::string text_prefix(bool special) {
  std::string text(device_text("prelude.cuh"));
  text += device_text("functions.cuh");
  if (!special) return text;
  text += device_text("special.cuh");
  text += device_text("special_gamma.cc");
  text += device_text("special_functions.cc");
  text += device_text("special_names.cuh");
  return text;
}

}  // namespace tandem::cuda
