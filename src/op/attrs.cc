#include "op/attrs.h"

#include <bit>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json.h"
#include "tandem/error.h"

namespace tandem {

using nlohmann::json;

namespace attr_field {

void key(KeyWords& k, bool v) { k.push_back(v); }
void key(KeyWords& k, int64_t v) { k.push_back(static_cast<uint64_t>(v)); }
void key(KeyWords& k, double v) { k.push_back(std::bit_cast<uint64_t>(v)); }
void key(KeyWords& k, DType v) { k.push_back(static_cast<uint64_t>(v)); }
// Strings go in whole, not as a hash: equal keys must mean equal attributes.
void key(KeyWords& k, const std::string& v) {
  k.push_back(v.size());
  for (size_t i = 0; i < v.size(); i += 8) {
    uint64_t w = 0;
    std::memcpy(&w, v.data() + i, std::min<size_t>(8, v.size() - i));
    k.push_back(w);
  }
}
void key(KeyWords& k, const Ints& v) {
  k.push_back(v.size());
  for (int64_t x : v) k.push_back(static_cast<uint64_t>(x));
}
void key(KeyWords& k, const Shape& v) {
  k.push_back(static_cast<uint64_t>(v.rank()));
  for (int64_t x : v) k.push_back(static_cast<uint64_t>(x));
}
void key(KeyWords& k, const std::vector<std::string>& v) {
  k.push_back(v.size());
  for (const auto& s : v) key(k, s);
}
void key(KeyWords& k, const std::vector<double>& v) {
  k.push_back(v.size());
  for (double x : v) key(k, x);
}

namespace {
template <class List, class Print>
std::string bracketed(const List& list, Print&& print) {
  std::string s = "[";
  for (const auto& x : list) {
    if (s.size() > 1) s += ", ";
    s += print(x);
  }
  return s + "]";
}
}  // namespace

std::string text(bool v) { return v ? "True" : "False"; }
std::string text(int64_t v) { return std::to_string(v); }
std::string text(double v) { return fmt::format("{}", v); }
std::string text(const std::string& v) {
  std::string out = "'";
  for (char c : v) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}
std::string text(DType v) {
  return v == DType::kInvalid ? "None" : "tf." + std::string(dtype_name(v));
}
std::string text(const Ints& v) {
  return bracketed(v, [](int64_t x) { return std::to_string(x); });
}
std::string text(const Shape& v) { return v.str(); }
std::string text(const std::vector<std::string>& v) {
  return bracketed(v, [](const std::string& x) { return text(x); });
}
std::string text(const std::vector<double>& v) {
  return bracketed(v, [](double x) { return text(x); });
}

std::string json(bool v) { return v ? "true" : "false"; }
std::string json(int64_t v) { return std::to_string(v); }
std::string json(double v) {
  // JSON has no infinities or NaN; they travel as strings.
  if (v != v) return "\"nan\"";
  if (v > 1.7976931348623157e308) return "\"inf\"";
  if (v < -1.7976931348623157e308) return "\"-inf\"";
  return fmt::format("{}", v);
}
std::string json(const std::string& v) { return nlohmann::json(v).dump(); }
std::string json(DType v) { return "\"" + std::string(dtype_name(v)) + "\""; }
std::string json(const Ints& v) {
  return bracketed(v, [](int64_t x) { return std::to_string(x); });
}
std::string json(const Shape& v) {
  if (!v.has_rank()) return "null";
  return bracketed(v, [](int64_t x) { return std::to_string(x); });
}
std::string json(const std::vector<std::string>& v) {
  return bracketed(v, [](const std::string& x) { return json(x); });
}
std::string json(const std::vector<double>& v) {
  return bracketed(v, [](double x) { return json(x); });
}

namespace {
const nlohmann::json* field(const void* node, const char* name) {
  const auto& object = *static_cast<const nlohmann::json*>(node);
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}
double to_double(const nlohmann::json& j) {
  if (j.is_string()) {
    const auto s = j.get<std::string>();
    if (s == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (s == "inf") return std::numeric_limits<double>::infinity();
    if (s == "-inf") return -std::numeric_limits<double>::infinity();
  }
  return j.get<double>();
}
template <class T>
void parse_plain(const void* node, const char* name, T& v) {
  if (const auto* j = field(node, name)) v = j->get<T>();
}
}  // namespace

void parse(const void* node, const char* name, bool& v) { parse_plain(node, name, v); }
void parse(const void* node, const char* name, int64_t& v) { parse_plain(node, name, v); }
void parse(const void* node, const char* name, double& v) {
  if (const auto* j = field(node, name)) v = to_double(*j);
}
void parse(const void* node, const char* name, std::string& v) {
  parse_plain(node, name, v);
}
void parse(const void* node, const char* name, DType& v) {
  if (const auto* j = field(node, name)) {
    const auto s = j->get<std::string>();
    v = s == dtype_name(DType::kInvalid) ? DType::kInvalid : dtype_from_name(s);
  }
}
void parse(const void* node, const char* name, Ints& v) {
  if (const auto* j = field(node, name)) {
    v.clear();
    for (int64_t x : j->get<std::vector<int64_t>>()) v.push_back(x);
  }
}
void parse(const void* node, const char* name, Shape& v) {
  const auto* j = field(node, name);
  if (!j) return;
  v = j->is_null() ? Shape::unknown() : Shape(j->get<std::vector<int64_t>>());
}
void parse(const void* node, const char* name, std::vector<std::string>& v) {
  parse_plain(node, name, v);
}
void parse(const void* node, const char* name, std::vector<double>& v) {
  if (const auto* j = field(node, name)) {
    v.clear();
    for (const auto& x : j->get<std::vector<nlohmann::json>>()) v.push_back(to_double(x));
  }
}

const char* type_name(bool) { return "bool"; }
const char* type_name(int64_t) { return "int"; }
const char* type_name(double) { return "float"; }
const char* type_name(const std::string&) { return "str"; }
const char* type_name(DType) { return "dtype"; }
const char* type_name(const Ints&) { return "list(int)"; }
const char* type_name(const Shape&) { return "shape"; }
const char* type_name(const std::vector<std::string>&) { return "list(str)"; }
const char* type_name(const std::vector<double>&) { return "list(float)"; }

int64_t parse_enum(const void* node, const char* name, int64_t value,
                   std::span<const std::string_view> names) {
  const auto* j = field(node, name);
  if (!j) return value;
  const auto s = j->get<std::string>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == s) return static_cast<int64_t>(i);
  }
  throw InvalidArgumentError(
      fmt::format("attribute {}: '{}' is not one of {}", name, s, enum_type_name(names)));
}

std::string enum_type_name(std::span<const std::string_view> names) {
  std::string s;
  for (auto n : names) {
    if (!s.empty()) s += " | ";
    s += "'" + std::string(n) + "'";
  }
  return s;
}

}  // namespace attr_field

void with_json(const std::string& text, const std::string& what,
               void (*body)(const void* node, void* out), void* out) {
  try {
    const json node = parse_json(text);
    if (!node.is_object()) throw InvalidArgumentError(what + ": not a JSON object");
    body(&node, out);
  } catch (const json::exception& e) {
    throw InvalidArgumentError(fmt::format("{}: {}", what, e.what()));
  }
}

}  // namespace tandem
