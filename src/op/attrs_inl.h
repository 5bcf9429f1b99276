// Templates behind op/attrs.h: one AttrsType per struct, from its field list.
// Per-field-type functions are compiled once in attrs.cc.
#pragma once

#include <span>
#include <string_view>

namespace tandem {

namespace attr_field {

void key(KeyWords& k, bool v);
void key(KeyWords& k, int64_t v);
void key(KeyWords& k, double v);
void key(KeyWords& k, const std::string& v);
void key(KeyWords& k, DType v);
void key(KeyWords& k, const Ints& v);
void key(KeyWords& k, const Shape& v);
void key(KeyWords& k, const std::vector<std::string>& v);
void key(KeyWords& k, const std::vector<double>& v);

// Python spelling: True, 'SAME', [1, 2], tf.float32.
std::string text(bool v);
std::string text(int64_t v);
std::string text(double v);
std::string text(const std::string& v);
std::string text(DType v);
std::string text(const Ints& v);
std::string text(const Shape& v);
std::string text(const std::vector<std::string>& v);
std::string text(const std::vector<double>& v);

std::string json(bool v);
std::string json(int64_t v);
std::string json(double v);
std::string json(const std::string& v);
std::string json(DType v);
std::string json(const Ints& v);
std::string json(const Shape& v);
std::string json(const std::vector<std::string>& v);
std::string json(const std::vector<double>& v);

// `node` is a parsed JSON object; a missing field keeps its default.
void parse(const void* node, const char* name, bool& v);
void parse(const void* node, const char* name, int64_t& v);
void parse(const void* node, const char* name, double& v);
void parse(const void* node, const char* name, std::string& v);
void parse(const void* node, const char* name, DType& v);
void parse(const void* node, const char* name, Ints& v);
void parse(const void* node, const char* name, Shape& v);
void parse(const void* node, const char* name, std::vector<std::string>& v);
void parse(const void* node, const char* name, std::vector<double>& v);

const char* type_name(bool);
const char* type_name(int64_t);
const char* type_name(double);
const char* type_name(const std::string&);
const char* type_name(DType);
const char* type_name(const Ints&);
const char* type_name(const Shape&);
const char* type_name(const std::vector<std::string>&);
const char* type_name(const std::vector<double>&);

int64_t parse_enum(const void* node, const char* name, int64_t value,
                   std::span<const std::string_view> names);
std::string enum_type_name(std::span<const std::string_view> names);

template <class E>
concept NamedEnum =
    std::is_enum_v<E> && !std::is_same_v<E, DType> && requires(E e) { attr_names(e); };

template <NamedEnum E>
void key(KeyWords& k, E v) {
  k.push_back(static_cast<uint64_t>(v));
}
template <NamedEnum E>
std::string text(E v) {
  return text(std::string(attr_names(v)[static_cast<size_t>(v)]));
}
template <NamedEnum E>
std::string json(E v) {
  return json(std::string(attr_names(v)[static_cast<size_t>(v)]));
}
template <NamedEnum E>
void parse(const void* node, const char* name, E& v) {
  v = static_cast<E>(parse_enum(node, name, static_cast<int64_t>(v), attr_names(v)));
}
template <NamedEnum E>
std::string type_name(E v) {
  return enum_type_name(attr_names(v));
}

}  // namespace attr_field

/// Calls `body` with the parsed object; throws InvalidArgumentError for text that is not
/// one.
void with_json(const std::string& json, const std::string& what,
               void (*body)(const void* node, void* out), void* out);

template <class A>
const AttrsType& attrs_type() {
  static const AttrsType type = [] {
    AttrsType t;
    t.name = A::attrs_name();
    t.size = sizeof(A);
    t.defaults = new A{};
    A::visit(
        *static_cast<const A*>(t.defaults), [&t](const char* name, const auto& field) {
          t.fields.push_back(
              {name, std::string(attr_field::type_name(field)), attr_field::text(field)});
        });
    t.append_key = [](const void* p, KeyWords& k) {
      A::visit(*static_cast<const A*>(p),
               [&k](const char*, const auto& field) { attr_field::key(k, field); });
    };
    t.equal = [](const void* a, const void* b) {
      return *static_cast<const A*>(a) == *static_cast<const A*>(b);
    };
    t.print = [](const void* p) {
      std::string s;
      A::visit(*static_cast<const A*>(p), [&s](const char* name, const auto& field) {
        if (!s.empty()) s += ", ";
        s += name;
        s += '=';
        s += attr_field::text(field);
      });
      return s;
    };
    t.to_json = [](const void* p) {
      std::string s;
      A::visit(*static_cast<const A*>(p), [&s](const char* name, const auto& field) {
        s += s.empty() ? "{\"" : ", \"";
        s += name;
        s += "\": ";
        s += attr_field::json(field);
      });
      return s.empty() ? std::string("{}") : s + "}";
    };
    t.from_json = [](const std::string& json) -> void* {
      auto a = std::make_unique<A>();
      with_json(
          json, A::attrs_name(),
          [](const void* node, void* out) {
            A::visit(*static_cast<A*>(out), [node](const char* name, auto& field) {
              attr_field::parse(node, name, field);
            });
          },
          a.get());
      return a.release();
    };
    t.clone = [](const void* p) -> void* { return new A(*static_cast<const A*>(p)); };
    t.destroy = [](void* p) { delete static_cast<A*>(p); };
    return t;
  }();
  return type;
}

}  // namespace tandem
