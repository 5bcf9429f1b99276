// Text of JSON that anybody may have written. What reads or writes JSON includes this in
// place of the library's header: integers are checked. Any thread.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace nlohmann {

/// An integer of a program is read from a number that is one and that fits; the library
/// would cut it, and what it makes of a fraction that does not fit is undefined.
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct adl_serializer<T, void> {
  template <class Json>
  static void from_json(const Json& j, T& value) {
    using Unsigned = typename Json::number_unsigned_t;
    using Integer = typename Json::number_integer_t;
    const auto take = [&](auto number) {
      if (!std::in_range<T>(number)) {
        throw detail::out_of_range::create(
            406, "number out of range: " + std::to_string(number), nullptr);
      }
      value = static_cast<T>(number);
    };
    if (j.is_number_unsigned()) {
      take(j.template get_ref<const Unsigned&>());
    } else if (j.is_number_integer()) {
      take(j.template get_ref<const Integer&>());
    } else {
      throw detail::type_error::create(
          302, std::string("type must be integer, but is ") + j.type_name(), nullptr);
    }
  }
  template <class Json>
  static void to_json(Json& j, T value) {
    ::nlohmann::to_json(j, value);
  }
};

}  // namespace nlohmann

namespace tandem {

/// Parses a text. Throws json::exception, also for values nested more than
/// kMostJsonLevels deep: whoever copies or prints a value goes down by recursion.
nlohmann::json parse_json(std::string_view text);

/// Above what the deepest graph takes: graph/stored_graph.h bounds the graphs in graphs,
/// each of which adds four levels.
inline constexpr int kMostJsonLevels = 512;

}  // namespace tandem
