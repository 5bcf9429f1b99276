#include "support/random_graph.h"

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "device/runtime.h"
#include "op/emitter.h"
#include "run/graph_interpreter.h"
#include "support/layouts.h"
#include "tandem/tandem.h"

namespace tandem::testing {

namespace {

constexpr int64_t kBatch = 3;

// A step of the program: works on symbolic and on concrete tensors alike.
using Step = std::function<Tensor(const Tensor&, const Tensor&)>;

Tensor calm(const Tensor& x) { return tanh(x); }

Tensor rows(const Tensor& x) { return squeeze(slice(shape(x), {0}, {1})); }

// Columns as channels of images with channels first, which differ from pixel to pixel.
Tensor images(const Tensor& x) {
  const Tensor pixels = expand_dims(expand_dims(x, 2), 3);
  return tile(pixels, {1, 1, 3, 2}) * constant({{1.f, -1.f}, {0.5f, 2.f}, {0.25f, -2.f}});
}
// The inverse, more or less.
Tensor columns(const Tensor& image) { return reduce_mean(image, {.axis = {2, 3}}); }
Tensor filters(const Tensor& x) {
  const int64_t n = x.shape()[1];
  std::vector<float> data;
  for (int64_t i = 0; i < 4 * n * n; ++i) {
    data.push_back(static_cast<float>(i % 7 - 3) * 0.125f);
  }
  return constant(data, Shape{2, 2, n, n});
}
Tensor convolved(const Tensor& x, const Tensor& image) {
  return nn::conv2d(
      image, filters(x),
      {.padding = nn::Padding::kSame, .data_format = nn::DataFormat::kNCHW});
}

// Steps from a tensor to one of the same shape.
const std::vector<Step>& same_shape_steps() {
  static const std::vector<Step> steps = {
      [](const Tensor& x, const Tensor&) { return x + 0.f; },
      [](const Tensor& x, const Tensor&) { return x * 1.f; },
      [](const Tensor& x, const Tensor&) { return x / 4.f; },
      [](const Tensor& x, const Tensor&) { return negative(negative(x)); },
      [](const Tensor& x, const Tensor&) { return sigmoid(x); },
      [](const Tensor& x, const Tensor&) { return nn::relu(x); },
      [](const Tensor& x, const Tensor&) { return calm(square(x)); },
      [](const Tensor& x, const Tensor&) { return calm(pow(x, scalar(2.f, float32))); },
      [](const Tensor& x, const Tensor&) { return identity(x); },
      [](const Tensor& x, const Tensor&) { return cast(cast(x, float64), float32); },
      [](const Tensor& x, const Tensor&) {
        return transpose(transpose(x, {{1, 0}}), {{1, 0}});
      },
      [](const Tensor& x, const Tensor&) { return reshape_like(reshape(x, {-1}), x); },
      [](const Tensor& x, const Tensor&) { return x + zeros_like(x); },
      [](const Tensor& x, const Tensor&) {
        return x * broadcast_like(constant(0.5f), x);
      },
      [](const Tensor& x, const Tensor&) {
        return x - reduce_mean(x, {.axis = {1}, .keepdims = true});
      },
      [](const Tensor& x, const Tensor&) { return where(x > 0.f, x, x * 0.25f); },
      [](const Tensor& x, const Tensor&) {
        return reduce_sum(expand_dims(x, 0), {.axis = {0}});
      },
      [](const Tensor& x, const Tensor&) {
        return broadcast_like(reduce_max(x, {.axis = {0}}), x);
      },
      [](const Tensor& x, const Tensor&) {
        return x + cast(rows(x) * 2 - rows(x), float32) * 0.125f;
      },
      [](const Tensor& x, const Tensor&) {
        return concat({slice(x, {0, 0}, {-1, 1}), slice(x, {0, 1}, {-1, -1})}, {1});
      },
      [](const Tensor& x, const Tensor&) {
        return transpose(calm(transpose(x, {{1, 0}}) * 2.f) + 0.25f, {{1, 0}});
      },
      [](const Tensor& x, const Tensor&) {
        const Tensor image = convolved(x, images(x));
        return columns(calm(convolved(x, nn::relu(image)) + image));
      },
      [](const Tensor& x, const Tensor&) {
        const Tensor last = to_last(images(x));
        const Tensor pooled = nn::max_pool2d(
            to_first(calm(last)),
            {.ksize = {2}, .strides = {1}, .data_format = nn::DataFormat::kNCHW});
        return columns(pooled) + reduce_max(last, {.axis = {1, 2}});
      },
      [](const Tensor& x, const Tensor&) {
        const Tensor last = pad(to_last(images(x)), {{0, 0}, {1, 0}, {0, 2}, {0, 0}});
        const Tensor first = to_first(slice(last, {0, 1, 0, 0}, {-1, 3, 3, -1}));
        return columns(concat({first, images(x)}, {3}));
      },
  };
  return steps;
}

// Steps from two tensors of one shape.
const std::vector<Step>& pair_steps() {
  static const std::vector<Step> steps = {
      [](const Tensor& x, const Tensor& y) { return x + y; },
      [](const Tensor& x, const Tensor& y) { return y + x; },
      [](const Tensor& x, const Tensor& y) { return x - y; },
      [](const Tensor& x, const Tensor& y) { return x * y; },
      [](const Tensor& x, const Tensor& y) { return maximum(x, y); },
      [](const Tensor& x, const Tensor& y) { return add_n({x, y}); },
      [](const Tensor& x, const Tensor& y) { return x + negative(y); },
      [](const Tensor& x, const Tensor& y) { return where(x > y, x, y); },
      [](const Tensor& x, const Tensor& y) {
        return calm(matmul(matmul(x, transpose(y, {{1, 0}})), y));
      },
      [](const Tensor& x, const Tensor& y) {
        return sum_like(stack({x, y}, {.axis = 0}), x);
      },
  };
  return steps;
}

}  // namespace

// Every step is taken twice: traced, and eagerly on a shadow of each value.
class RandomGraph::Generator {
 public:
  Generator(RandomGraph& made, uint64_t seed, const RandomGraphOptions& options)
      : made_(made), random_(seed), options_(options), tracer_(made.graph_, nullptr) {}

  void run() {
    arguments();
    if (options_.variables) make_variables();
    for (int i = 0; i < options_.steps; ++i) step();
    finish();
  }

 private:
  struct Value {
    Tensor traced, eager;
  };

  size_t below(size_t n) { return random_() % n; }
  const Value& any() { return values_[below(values_.size())]; }
  // Another value of the same shape, possibly the same one.
  const Value& like(const Value& v) {
    for (int tries = 0; tries < 8; ++tries) {
      const Value& other = any();
      if (other.eager.shape() == v.eager.shape()) return other;
    }
    return v;
  }

  template <class F>
  void both(F&& f) {
    {
      EmitterScope scope(nullptr);
      f(false);
    }
    EmitterScope scope(&tracer_);
    f(true);
  }

  Tensor random_tensor(const Shape& shape) {
    std::uniform_real_distribution<float> numbers(-1, 1);
    std::vector<float> data(static_cast<size_t>(shape.num_elements()));
    for (float& x : data) x = numbers(random_);
    return constant(data, shape);
  }

  void arguments() {
    for (int64_t columns : {4, 4, 2}) {
      Value v;
      v.eager = random_tensor({kBatch, columns});
      made_.arguments_.push_back(v.eager);
      EmitterScope scope(&tracer_);
      v.traced = tracer_.parameter(
          float32, {options_.unknown_batch ? kUnknownDim : kBatch, columns}, "x");
      values_.push_back(v);
    }
    const Tensor fixed = random_tensor({kBatch, 4});
    values_.push_back({fixed, fixed});
  }

  void make_variables() {
    for (int i = 0; i < 2; ++i) {
      const Tensor initial = random_tensor({kBatch, 4});
      made_.initial_.push_back(initial);
      made_.variables_.emplace_back(initial);
      shadows_.emplace_back(initial);
    }
  }

  void apply(const Value& x, const Value& y, const Step& f) {
    Value v;
    both([&](bool traced) {
      (traced ? v.traced : v.eager) =
          traced ? f(x.traced, y.traced) : f(x.eager, y.eager);
    });
    values_.push_back(v);
  }

  void step() {
    const size_t kind = below(10);
    const Value x = any(), y = like(x);
    if (kind < 4) {
      apply(x, y, same_shape_steps()[below(same_shape_steps().size())]);
    } else if (kind < 7) {
      apply(x, y, pair_steps()[below(pair_steps().size())]);
    } else if (kind == 7 && options_.variables) {
      variable_step(x);
    } else if (kind == 8 && options_.control_flow) {
      below(2) ? branch(x, y) : loop(x, y);
    } else {
      // Twice the same: work for merging.
      const Step& f = same_shape_steps()[below(same_shape_steps().size())];
      apply(x, y, [&f](const Tensor& a, const Tensor& b) { return f(a, b) + f(a, b); });
    }
  }

  void variable_step(const Value& x) {
    const size_t which = below(2), what = below(5);
    const bool fits = x.eager.shape() == made_.initial_[which].shape();
    Value read;
    both([&](bool traced) {
      Variable& v = (traced ? made_.variables_ : shadows_)[which];
      const Tensor& value = traced ? x.traced : x.eager;
      update(v, fits ? what : 4, value);
      (traced ? read.traced : read.eager) = v.read();
    });
    values_.push_back(read);
  }
  static void update(Variable& v, size_t what, const Tensor& value) {
    if (what == 0) v.assign(value);
    if (what == 1) v.assign_add(value * 0.5f);
    if (what == 2) v.assign_sub(calm(value));
    if (what == 3) v.scatter_add(constant({0, 2}), slice(value, {0, 0}, {2, -1}));
  }

  void branch(const Value& x, const Value& y) {
    const Step then_step = same_shape_steps()[below(same_shape_steps().size())];
    const Step else_step = pair_steps()[below(pair_steps().size())];
    const size_t which = below(2), decided = below(3);
    const bool writes =
        options_.variables && x.eager.shape() == Shape{kBatch, 4} && below(2);
    std::vector<Value> made(2);
    both([&](bool traced) {
      const Tensor &a = traced ? x.traced : x.eager, &b = traced ? y.traced : y.eager;
      // A constant, a condition on shapes, or one on contents.
      const Tensor predicate = decided == 0 ? logical_and(constant(true), constant(false))
                               : decided == 1 ? rows(a) > 2
                                              : reduce_sum(a) > 0.f;
      const auto yes = [&] {
        if (writes) (traced ? made_.variables_ : shadows_)[which].assign_add(a);
        return Tensors{then_step(a, b), b};
      };
      const auto no = [&] { return Tensors{else_step(a, b), b}; };
      const Tensors r = traced                   ? trace_if(predicate, yes, no)
                        : predicate.item<bool>() ? yes()
                                                 : no();
      for (size_t k = 0; k < 2; ++k) (traced ? made[k].traced : made[k].eager) = r[k];
    });
    for (const Value& v : made) values_.push_back(v);
  }

  void loop(const Value& x, const Value& y) {
    const Step f = same_shape_steps()[below(same_shape_steps().size())];
    const Step invariant = same_shape_steps()[below(same_shape_steps().size())];
    const auto turns = static_cast<int32_t>(below(4));
    const size_t which = below(2);
    const bool writes =
        options_.variables && x.eager.shape() == Shape{kBatch, 4} && below(2);
    Value made;
    both([&](bool traced) {
      const Tensor &a = traced ? x.traced : x.eager, &b = traced ? y.traced : y.eager;
      const auto condition = [&](const Tensors& c) { return c[0] < turns; };
      const auto body = [&](const Tensors& c) {
        if (writes) (traced ? made_.variables_ : shadows_)[which].assign(calm(c[1]));
        return Tensors{c[0] + 1, calm(f(c[1], b) + invariant(b, b)), c[2], c[3] + c[1]};
      };
      // The third value never changes, nobody asks for the fourth.
      Tensors carried = {constant(int32_t{0}), a, b, a};
      if (traced) {
        carried = trace_while(condition, body, carried);
      } else {
        while (condition(carried).item<bool>()) carried = body(carried);
      }
      (traced ? made.traced : made.eager) = carried[1] + carried[2];
    });
    values_.push_back(made);
  }

  // Some of the last values are results, the others are dead.
  void finish() {
    EmitterScope scope(&tracer_);
    for (size_t i = values_.size() - std::min<size_t>(values_.size(), 6);
         i < values_.size(); i += 2) {
      made_.graph_.results().push_back(tracer_.value_of(values_[i].traced));
      made_.expected_.push_back(values_[i].eager);
    }
    tracer_.finish();
    EmitterScope eager(nullptr);
    for (const Variable& v : shadows_) made_.expected_.push_back(v.read());
  }

  RandomGraph& made_;
  std::mt19937_64 random_;
  const RandomGraphOptions options_;
  Tracer tracer_;
  std::vector<Value> values_;
  std::vector<Variable> shadows_;
};

RandomGraph::RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  Generator(*this, seed, options).run();
}

Tensors RandomGraph::run(
    const Graph& graph, const std::function<Tensors(const Graph&, const Tensors&)>& run) {
  for (size_t i = 0; i < variables_.size(); ++i) variables_[i].assign(initial_[i]);
  Tensors results = run(graph, arguments_);
  for (const Variable& v : variables_) results.push_back(v.read());
  return results;
}

Graph scattered(const Graph& graph, std::mt19937_64& random) {
  Graph made = graph;
  const auto devices = Runtime::get().devices();
  for (int32_t i = 0; i < made.size(); ++i) {
    Node& n = made.node(i);
    if (n.kind != Node::Kind::kOp) continue;
    const size_t k = random() % (devices.size() + 1);
    n.device = k < devices.size() ? devices[k]->full_name() : "";
  }
  return made;
}

std::string difference_of(const Tensors& got, const Tensors& expected, double tolerance) {
  if (got.size() != expected.size()) {
    return fmt::format("{} tensors instead of {}", got.size(), expected.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].dtype() != expected[i].dtype() || got[i].shape() != expected[i].shape()) {
      return fmt::format("tensor {}: {} instead of {}", i, got[i].str(),
                         expected[i].str());
    }
    const auto a = cast(got[i], float64).to_vector<double>();
    const auto b = cast(expected[i], float64).to_vector<double>();
    for (size_t k = 0; k < a.size(); ++k) {
      const bool nan = std::isnan(a[k]) && std::isnan(b[k]);
      if (nan || a[k] == b[k]) continue;
      if (std::abs(a[k] - b[k]) <= tolerance * std::max(1.0, std::abs(b[k]))) continue;
      return fmt::format("tensor {}, element {}: {} instead of {}", i, k, a[k], b[k]);
    }
  }
  return {};
}

}  // namespace tandem::testing
