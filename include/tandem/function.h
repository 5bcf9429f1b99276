// Compiled functions: td::function turns a callable into one that is traced once per
// signature, optimised, planned and replayed (tf.function). Tensors generalise over their
// contents; numbers, strings and variables specialise. Any thread may call one; calls run
// side by side unless they write the same variables.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem {

/// What a function accepts at one place; unknown dimensions take any size. Dimensions
/// that have one name (`dims`: one per dimension, empty ones are free) agree in a call.
struct TensorSpec {
  Shape shape = Shape::unknown();
  DType dtype = DType::kFloat32;
  std::string name = {};
  std::vector<std::string> dims = {};
};

struct FunctionOptions {
  std::string name = "function";
  /// One trace for all calls that fit; others are refused with a ValueError.
  std::optional<std::vector<TensorSpec>> input_signature = {};
  /// A call whose shapes differ from those before is traced with unknown dimensions
  /// where they differ.
  bool reduce_retracing = false;
  /// Traces that are kept, and plans for different shapes of each; the one that has not
  /// been used for longest goes first.
  int64_t max_traces = 64;
  int64_t max_plans = 64;
  /// Off: the graph runs as it was traced. For comparisons.
  bool optimize = true;
};

/// An argument: a tensor, a variable (by identity), a number or a string (by value), or a
/// list of arguments.
class Argument {
 public:
  using List = std::vector<Argument>;
  Argument(Tensor t) : value_(std::move(t)) {}
  Argument(Variable v) : value_(std::move(v)) {}
  Argument(Scalar s) : value_(s) {}
  Argument(std::string s) : value_(std::move(s)) {}
  Argument(List list) : value_(std::move(list)) {}
  using Value = std::variant<Tensor, Variable, Scalar, std::string, List>;
  const Value& value() const { return value_; }

 private:
  Value value_;
};

/// The untyped function; td::function() makes typed ones around it. Copies share it.
class Function {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Argument>&)>;
  explicit Function(Body body, FunctionOptions options = {});

  /// Traces when the signature is new, then runs the plan. On a tape the call is one
  /// node, whose gradient is a compiled function too. Inside another trace the body is
  /// traced into it.
  std::vector<Tensor> operator()(const std::vector<Argument>& arguments) const;
  /// The same for tensors alone: the path of a training loop.
  std::vector<Tensor> call(std::span<const Tensor> arguments) const;
  /// The same with a place for each result: nothing is allocated for the list of them.
  void call(std::span<const Tensor> arguments, std::span<Tensor> results) const;

  /// How often the body was traced.
  int64_t tracing_count() const;
  /// What the last call became: passes, steps with their kernels, lanes, memory, copies,
  /// and why. Empty before the first call.
  std::string explain() const;
  /// The optimised graph of the last call as text, and for Graphviz.
  std::string dump() const;
  std::string dot() const;
  /// Traces for tensors like these without running (get_concrete_function). The first
  /// call with concrete shapes makes the plan.
  void prepare(const std::vector<TensorSpec>& specs) const;

 private:
  friend struct FunctionAccess;  // src/run/function_access.h
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

inline Argument to_argument(const Tensor& t) { return t; }
inline Argument to_argument(const Variable& v) { return v; }
inline Argument to_argument(const std::string& s) { return s; }
template <class T>
  requires std::is_arithmetic_v<T>
Argument to_argument(T v) {
  return Scalar(v);
}
template <class T>
Argument to_argument(const std::vector<T>& list) {
  Argument::List values;
  for (const T& v : list) values.push_back(to_argument(v));
  return values;
}

template <class T>
const T& argument_as(const Argument& a) {
  if (const T* value = std::get_if<T>(&a.value())) return *value;
  throw ValueError(
      "An argument is of another kind (tensor, variable, number, string, list) than the "
      "parameter it is for.");
}
template <class T>
struct FromArgument {
  static T get(const Argument& a) {
    if constexpr (std::is_same_v<T, bool>) {
      return argument_as<Scalar>(a).as_int() != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(argument_as<Scalar>(a).as_int());
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(argument_as<Scalar>(a).as_double());
    } else {
      return argument_as<T>(a);
    }
  }
};
template <class T>
struct FromArgument<std::vector<T>> {
  static std::vector<T> get(const Argument& a) {
    std::vector<T> list;
    for (const Argument& item : argument_as<Argument::List>(a)) {
      list.push_back(FromArgument<T>::get(item));
    }
    return list;
  }
};

/// Results to and from a list of tensors.
template <class R>
struct Results;
template <>
struct Results<void> {
  static void from(std::vector<Tensor>&&) {}
};
template <>
struct Results<Tensor> {
  static constexpr size_t kCount = 1;
  static Tensor take(std::array<Tensor, 1>&& list) { return std::move(list[0]); }
  static std::vector<Tensor> to(Tensor t) { return {std::move(t)}; }
  static Tensor from(std::vector<Tensor>&& list) { return std::move(list[0]); }
};
template <>
struct Results<std::vector<Tensor>> {
  static std::vector<Tensor> to(std::vector<Tensor> list) { return list; }
  static std::vector<Tensor> from(std::vector<Tensor>&& list) { return std::move(list); }
};
template <class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
struct Results<Tuple> {
  static constexpr size_t kCount = std::tuple_size_v<Tuple>;
  static Tuple take(std::array<Tensor, kCount>&& list) {
    return std::apply([](auto&&... t) { return Tuple{std::move(t)...}; },
                      std::move(list));
  }
  static std::vector<Tensor> to(const Tuple& tuple) {
    return std::apply([](const auto&... t) { return std::vector<Tensor>{t...}; }, tuple);
  }
  static Tuple from(std::vector<Tensor>&& list) {
    return unpack(std::move(list), std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }

 private:
  template <size_t... I>
  static Tuple unpack(std::vector<Tensor>&& list, std::index_sequence<I...>) {
    return Tuple{std::move(list[I])...};
  }
};

}  // namespace detail

/// A function with the signature of the callable it was made from.
template <class Signature>
class TypedFunction;
template <class R, class... Args>
class TypedFunction<R(Args...)> : public Function {
 public:
  template <class F>
  TypedFunction(F f, FunctionOptions options)
      : Function(wrap(std::move(f)), std::move(options)) {}

  R operator()(const std::remove_cvref_t<Args>&... args) const {
    if constexpr ((std::is_same_v<std::remove_cvref_t<Args>, Tensor> && ...)) {
      const std::array<Tensor, sizeof...(Args)> tensors{args...};
      if constexpr (requires { detail::Results<R>::kCount; }) {
        std::array<Tensor, detail::Results<R>::kCount> results;
        call(tensors, results);
        return detail::Results<R>::take(std::move(results));
      } else {
        return detail::Results<R>::from(call(tensors));
      }
    } else {
      return detail::Results<R>::from(
          Function::operator()(std::vector<Argument>{detail::to_argument(args)...}));
    }
  }

 private:
  template <class F>
  static Body wrap(F f) {
    return [f = std::move(f)](const std::vector<Argument>& given) mutable {
      if (given.size() != sizeof...(Args)) {
        throw ValueError(
            fmt::format("A function of {} parameters was given {} arguments.",
                        sizeof...(Args), given.size()));
      }
      return invoke(f, given, std::index_sequence_for<Args...>());
    };
  }
  template <class F, size_t... I>
  static std::vector<Tensor> invoke(F& f, const std::vector<Argument>& given,
                                    std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      f(detail::FromArgument<std::remove_cvref_t<Args>>::get(given[I])...);
      return {};
    } else {
      return detail::Results<R>::to(
          f(detail::FromArgument<std::remove_cvref_t<Args>>::get(given[I])...));
    }
  }
};

namespace detail {
template <class F>
struct CallSignature : CallSignature<decltype(&F::operator())> {};
template <class C, class R, class... Args>
struct CallSignature<R (C::*)(Args...) const> {
  using type = R(Args...);
};
template <class C, class R, class... Args>
struct CallSignature<R (C::*)(Args...)> {
  using type = R(Args...);
};
template <class R, class... Args>
struct CallSignature<R (*)(Args...)> {
  using type = R(Args...);
};
}  // namespace detail

/// `auto step = td::function([&](td::Tensor x, td::Tensor y) { …; return loss; });`
/// Parameters: Tensor, Variable, numbers, std::string, std::vector of those. Results:
/// void, Tensor, std::vector<Tensor>, std::pair, std::tuple or std::array of Tensor.
template <class F>
auto function(F f, FunctionOptions options = {}) {
  return TypedFunction<typename detail::CallSignature<F>::type>(std::move(f),
                                                                std::move(options));
}

}  // namespace tandem
