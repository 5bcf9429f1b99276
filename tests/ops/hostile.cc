#include "ops/hostile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/flags.h"
#include "base/hash.h"
#include "base/json.h"
#include "device/cpu/guarded_memory.h"
#include "device/runtime.h"
#include "graph/serialize.h"
#include "graph/trace.h"
#include "op/emitter.h"
#include "op/host_function.h"
#include "op/infer.h"
#include "ops/tensor_list.h"
#include "ops/values.h"
#include "run/graph_function.h"
#include "run/tape.h"
#include "tandem/control_flow.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"
#include "tensor/variable_impl.h"

namespace tandem::testing {

namespace {

using nlohmann::json;
using Random = std::mt19937_64;

constexpr double kMemoryMiB = 48;  // so that a size that is let through costs little
constexpr unsigned kSecondsPerCall = 60;  // on a busy machine, too

// What the process is doing, for whoever reads it after a crash.
struct Progress {
  std::atomic<int64_t> call;
  char text[8000];
};
Progress* g_progress = nullptr;

void note(const std::string& text) {
  const size_t n = std::min(text.size(), sizeof g_progress->text - 1);
  std::memcpy(g_progress->text, text.data(), n);
  g_progress->text[n] = 0;
}

int64_t one_of(Random& random, std::initializer_list<int64_t> list) {
  return list.begin()[random() % list.size()];
}
bool chance(Random& random, int percent) {
  return static_cast<int>(random() % 100) < percent;
}

int64_t hostile_int(Random& random) {
  return one_of(random, {-1,
                         -1,
                         0,
                         0,
                         1,
                         2,
                         3,
                         4,
                         5,
                         7,
                         13,
                         33,
                         64,
                         1000,
                         -2,
                         -3,
                         -7,
                         INT32_MAX,
                         INT32_MIN,
                         int64_t{INT32_MAX} + 1,
                         int64_t{INT32_MIN} - 1,
                         int64_t{1} << 32,
                         (int64_t{1} << 32) + 3,
                         int64_t{1} << 40,
                         int64_t{1} << 62,
                         INT64_MAX,
                         INT64_MIN,
                         INT64_MIN + 1,
                         20000});
}
double hostile_float(Random& random) {
  constexpr double kList[] = {0.0,   -0.0, 1,     -1,    0.5,    2,      -2,
                              1e-30, 1e30, -1e30, 1e300, -1e300, 1e-300, 3e9,
                              -3e9,  1e19, -1e19, 255.5, 7,      1e5};
  switch (random() % 6) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity() * (random() % 2 ? 1 : -1);
    default:
      return kList[random() % std::size(kList)];
  }
}
std::string hostile_string(Random& random) {
  static const std::vector<std::string> kList = {"",
                                                 "x",
                                                 "SAME",
                                                 "VALID",
                                                 "NHWC",
                                                 "NCHW",
                                                 "-1",
                                                 "1e400",
                                                 "0x7fff",
                                                 "%n%s",
                                                 "\xff\xfe\x80",
                                                 "a,b,\"c",
                                                 "\xf0\x9f\x98\x80",
                                                 "UTF-8",
                                                 "REFLECT",
                                                 "[(",
                                                 "\\1",
                                                 "ij,jk->ik",
                                                 "...ij->...ji",
                                                 "i->ii",
                                                 "bilinear",
                                                 "nan",
                                                 "a\tb c"};
  if (chance(random, 5)) return std::string(1000, 'a');
  if (chance(random, 5)) return std::string("a\0b", 3);
  return kList[random() % kList.size()];
}

int64_t small_dim(Random& random) {
  return one_of(random, {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8});
}

// Shapes with at most a few thousand elements; some have none and huge dimensions.
Shape hostile_shape(Random& random) {
  Shape s;
  const auto rank = static_cast<int>(random() % 7);
  for (int i = 0; i < rank; ++i) s.push_back(small_dim(random));
  if (rank > 0 && chance(random, 20)) {
    for (int i = 0; i < rank; ++i) {
      if (chance(random, 40)) {
        s.set(i, one_of(random, {INT32_MAX, int64_t{1} << 31, int64_t{1} << 32,
                                 (int64_t{1} << 32) + 1, int64_t{1} << 40,
                                 int64_t{1} << 62, INT64_MAX}));
      }
    }
    s.set(static_cast<int>(random() % static_cast<size_t>(rank)), 0);
  }
  return s;
}
Shape changed_shape(const Shape& from, Random& random) {
  if (from.rank() == 0 || chance(random, 25)) return hostile_shape(random);
  Shape s = from;
  const auto at = static_cast<int>(random() % static_cast<size_t>(s.rank()));
  switch (random() % 6) {
    case 0:
      s.set(at, s[at] + 1);
      break;
    case 1:
      s.set(at, std::max<int64_t>(s[at] - 1, 0));
      break;
    case 2:
      s.set(at, small_dim(random));
      break;
    case 3:
      s.set(at, 0);
      break;
    case 4:
      s.erase(at);
      break;
    default:
      if (s.rank() < kMaxRank) s.insert(at, one_of(random, {0, 1, 2}));
      break;
  }
  int64_t elements = 0;
  try {
    elements = s.num_elements();
  } catch (const Error&) {
    return Shape{0};
  }
  return elements > 20000 ? Shape{2, 3} : s;
}

void write_int(DType dtype, std::byte* p, int64_t v) {
  std::memcpy(p, &v, dtype_size(dtype));
}
void write_real(DType dtype, std::byte* p, double v) {
  const auto put = [p](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (dtype) {
    case DType::kFloat16:
      return put(float16(static_cast<float>(v)));
    case DType::kBFloat16:
      return put(bfloat16(static_cast<float>(v)));
    case DType::kFloat32:
      return put(static_cast<float>(v));
    case DType::kFloat64:
      return put(v);
    case DType::kComplex64:
      return put(std::complex<float>(static_cast<float>(v), 1));
    case DType::kComplex128:
      return put(std::complex<double>(v, 1));
    default:
      return;
  }
}

// `wild`: contents that no program would give.
Tensor random_tensor(DType dtype, const Shape& shape, Random& random, bool wild) {
  if (dtype == DType::kVariant) {
    static const OpHandle reserve("TensorListReserve");
    const EmitterScope eager(nullptr);
    return emit(reserve, {make_host_ints(Shape{2, 3}.dims()), constant(int32_t{3})},
                TensorListAttrs{.element_dtype = DType::kFloat32});
  }
  if (dtype == DType::kResource) {
    return Variable(random_tensor(DType::kFloat32, shape, random, wild)).handle();
  }
  const Tensor t = make_tensor(Runtime::get().cpu(), dtype, shape);
  const int64_t n = shape.num_elements();
  if (dtype == DType::kString) {
    auto* p = static_cast<std::string*>(t.impl()->data());
    for (int64_t i = 0; i < n; ++i) p[i] = hostile_string(random);
    return t;
  }
  const size_t size = dtype_size(dtype);
  auto* p = static_cast<std::byte*>(t.impl()->data());
  for (int64_t i = 0; i < n; ++i, p += size) {
    if (is_floating(dtype) || is_complex(dtype)) {
      write_real(dtype, p,
                 wild && chance(random, 40)
                     ? hostile_float(random)
                     : static_cast<double>(random() % 4000) / 1000 - 2);
    } else if (dtype == DType::kBool) {
      const bool b = random() % 2;
      std::memcpy(p, &b, 1);
    } else {
      write_int(dtype, p,
                wild && chance(random, 40) ? hostile_int(random)
                                           : static_cast<int64_t>(random() % 4));
    }
  }
  return t;
}

// A copy with some elements replaced.
Tensor spoiled(const Tensor& t, Random& random) {
  const Shape& shape = t.shape();
  const Tensor wild = random_tensor(t.dtype(), shape, random, true);
  const int64_t n = shape.num_elements();
  if (n == 0 || t.dtype() == DType::kVariant || t.dtype() == DType::kResource)
    return wild;
  const int64_t one = static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  const bool single = chance(random, 60);
  for (int64_t i = 0; i < n; ++i) {
    if (single ? i == one : chance(random, 30)) continue;
    if (t.dtype() == DType::kString) {
      static_cast<std::string*>(wild.impl()->data())[i] =
          static_cast<const std::string*>(t.host_data())[i];
    } else {
      const size_t size = dtype_size(t.dtype());
      std::memcpy(
          static_cast<std::byte*>(wild.impl()->data()) + static_cast<size_t>(i) * size,
          static_cast<const std::byte*>(t.host_data()) + static_cast<size_t>(i) * size,
          size);
    }
  }
  return wild;
}

// ---- Attributes, by their stored form, as a loaded graph has them

const std::vector<std::string>& dtype_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"nonsense"};
    for (int i = 0; i < kDTypeCount; ++i) {
      list.emplace_back(dtype_name(static_cast<DType>(i)));
    }
    return list;
  }();
  return names;
}

// A text with a few characters changed, as in a damaged file.
std::string edited(std::string text, Random& random) {
  for (uint64_t n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
    const size_t at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text.erase(at, 1 + random() % 4);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), 1 + random() % 8));
        break;
      case 2:
        text[at] = static_cast<char>('0' + random() % 10);
        break;
      case 3:
        text.insert(at, "2147483648");
        break;
      default:
        text[at] = ",;:(){}= .-abx"[random() % 14];
        break;
    }
  }
  return text;
}

json hostile_field(const AttrField& field, const json& now, Random& random) {
  const auto ints = [&] {
    json list = now.is_array() ? now : json::array();
    const size_t change = random() % 4;
    if (change == 0) {
      list = json::array();
    } else if (change == 1 && !list.empty()) {
      list.erase(list.begin());
    } else if (change == 2) {
      const size_t more = chance(random, 20) ? 40 : 1;
      for (size_t i = 0; i < more; ++i) {
        list.push_back(chance(random, 50) ? hostile_int(random) : int64_t{1});
      }
    }
    for (json& v : list) {
      if (chance(random, 40)) v = hostile_int(random);
    }
    return list;
  };
  const std::string& type = field.type;
  if (type == "bool") return random() % 2 == 0;
  if (type == "int") return hostile_int(random);
  if (type == "float") {
    const double v = hostile_float(random);
    if (v != v) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return v;
  }
  if (type == "dtype") return dtype_names()[random() % dtype_names().size()];
  if (type == "list(int)") return ints();
  if (type == "shape") return chance(random, 15) ? json() : ints();
  if (type == "list(float)") {
    json list = json::array();
    for (uint64_t n = random() % 5; n > 0; --n) list.push_back(random() % 100);
    return list;
  }
  if (type == "list(str)") {
    json list = json::array();
    for (uint64_t n = random() % 5; n > 0; --n) list.push_back(hostile_string(random));
    return list;
  }
  if (type == "str") {
    std::string text = now.is_string() && chance(random, 60)
                           ? edited(now.get<std::string>(), random)
                           : hostile_string(random);
    // JSON is UTF-8.
    for (char& ch : text) ch = static_cast<char>(ch & 0x7f);
    return text;
  }
  // An enum: one of its names, "'A' | 'B'".
  std::vector<std::string> names;
  for (size_t at = 0; (at = type.find('\'', at)) != std::string::npos;) {
    const size_t end = type.find('\'', at + 1);
    names.push_back(type.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names.empty() || chance(random, 5) ? "nonsense" : names[random() % names.size()];
}

// Null attributes and false: the stored form is refused.
bool change_attrs(const OpDef& op, Attrs& attrs, Random& random) {
  if (!op.attrs || op.attrs->fields.empty()) return true;
  const AttrsRef ref = attrs.ref();
  json stored = json::parse(op.attrs->to_json(ref.data));
  const AttrField& field = op.attrs->fields[random() % op.attrs->fields.size()];
  stored[field.name] = hostile_field(field, stored[field.name], random);
  try {
    void* made = op.attrs->from_json(stored.dump());
    attrs = Attrs(AttrsRef{made, op.attrs});
    op.attrs->destroy(made);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// ---- Calls

struct Call {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<Tensor> inputs;
};

DType random_dtype(DTypeMask allowed, Random& random) {
  std::vector<DType> list;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (allowed & (1u << i)) list.push_back(static_cast<DType>(i));
  }
  return list.empty() ? DType::kFloat32 : list[random() % list.size()];
}

class Caller {
 public:
  Caller(const OpDef& op, const std::vector<OpCase>& cases) : op_(op) {
    for (const OpCase& c : cases) {
      if (c.op == op.name) cases_.push_back(&c);
    }
  }

  Call make(Random& random) const {
    Call call;
    call.op = &op_;
    call.attrs = Attrs(default_attrs(op_));
    if (!cases_.empty() && !chance(random, 8)) {
      from_case(call, *cases_[random() % cases_.size()], random);
    } else {
      from_definition(call, random);
    }
    const uint64_t changes = 1 + random() % 3;
    for (uint64_t i = 0; i < changes; ++i) change(call, random);
    return call;
  }

 private:
  void from_case(Call& call, const OpCase& c, Random& random) const {
    const DType t = c.dtypes[random() % c.dtypes.size()];
    if (c.attrs_for) {
      call.attrs = c.attrs_for(t);
    } else if (c.attrs.ref().data) {
      call.attrs = c.attrs;
    }
    for (const In& in : c.inputs) {
      if (in.absent) {
        call.inputs.emplace_back();
        continue;
      }
      const DType dtype = in.dtype == DType::kInvalid ? t : in.dtype;
      if (in.shape.num_elements() > 20000) {
        call.inputs.push_back(random_tensor(dtype, hostile_shape(random), random, false));
      } else {
        call.inputs.push_back(to_tensor(make_values(in, dtype, random), dtype));
      }
    }
  }

  void from_definition(Call& call, Random& random) const {
    std::map<char, DType> types;
    for (const TypeVar& t : op_.types) types[t.name] = random_dtype(t.allowed, random);
    const Shape common = hostile_shape(random);
    for (const InputDef& def : op_.inputs) {
      const uint64_t n = def.variadic ? random() % 4 : 1;
      for (uint64_t i = 0; i < n; ++i) {
        if (def.optional && random() % 2) {
          call.inputs.emplace_back();
          continue;
        }
        const auto known = types.find(def.type);
        const DType dtype =
            known == types.end() ? random_dtype(kAnyDType, random) : known->second;
        const Shape shape =
            def.host ? Shape(std::vector<int64_t>(random() % 2, small_dim(random)))
            : chance(random, 60) ? common
                                 : hostile_shape(random);
        call.inputs.push_back(random_tensor(dtype, shape, random, chance(random, 30)));
      }
    }
  }

  void change(Call& call, Random& random) const {
    const uint64_t what = random() % 100;
    if (what < 30 || call.inputs.empty()) {
      change_attrs(op_, call.attrs, random);
      return;
    }
    const size_t at = random() % call.inputs.size();
    Tensor& t = call.inputs[at];
    if (what < 55) {
      const DType dtype = t.defined() ? t.dtype() : DType::kFloat32;
      const Shape shape = changed_shape(t.defined() ? t.shape() : Shape{}, random);
      t = random_tensor(dtype == DType::kResource ? DType::kFloat32 : dtype, shape,
                        random, chance(random, 20));
    } else if (what < 85) {
      if (t.defined()) t = spoiled(t, random);
    } else if (what < 90) {
      t = random_tensor(static_cast<DType>(1 + random() % (kDTypeCount - 1)),
                        t.defined() ? t.shape() : Shape{2}, random, false);
    } else if (what < 92) {
      t = Tensor();
    } else if (what < 94) {
      call.inputs.pop_back();
    } else if (what < 96) {
      const Tensor copy = t;
      call.inputs.push_back(copy);
    } else if (what < 97) {
      const Tensor copy = t;
      for (int i = 0; i < 33; ++i) call.inputs.push_back(copy);
    } else if (what < 98) {
      call.inputs.clear();
    } else {
      std::swap(t, call.inputs[random() % call.inputs.size()]);
    }
  }

  const OpDef& op_;
  std::vector<const OpCase*> cases_;
};

std::string describe(const Tensor& t) {
  if (!t.defined()) return "absent";
  if (t.dtype() == DType::kResource) return "variable " + t.shape().debug_str();
  std::string s = fmt::format("{}{}", dtype_name(t.dtype()), t.shape().debug_str());
  if (t.dtype() == DType::kVariant) return s;
  const int64_t n = t.num_elements();
  s += "{";
  for (int64_t i = 0; i < std::min<int64_t>(n, 12); ++i) {
    if (i) s += ",";
    if (t.dtype() == DType::kString) {
      const std::string& e = static_cast<const std::string*>(t.host_data())[i];
      s += json(e.substr(0, 20)).dump(-1, ' ', true, json::error_handler_t::replace);
      continue;
    }
    const auto* p = static_cast<const std::byte*>(t.host_data()) +
                    static_cast<size_t>(i) * dtype_size(t.dtype());
    if (is_integer(t.dtype()) || t.dtype() == DType::kBool) {
      s += std::to_string(t.dtype() == DType::kBool ? static_cast<int64_t>(*p)
                                                    : read_ints(t.dtype(), p, 1)[0]);
    } else if (t.dtype() == DType::kFloat32) {
      float v;
      std::memcpy(&v, p, sizeof v);
      s += fmt::format("{:.4g}", v);
    } else if (t.dtype() == DType::kFloat64) {
      double v;
      std::memcpy(&v, p, sizeof v);
      s += fmt::format("{:.4g}", v);
    } else {
      s += "?";
    }
  }
  return s + (n > 12 ? ",…}" : "}");
}
std::string describe(const Call& call) {
  std::string s = call.op->name + "(";
  for (size_t i = 0; i < call.inputs.size() && i < 12; ++i) {
    s += (i ? ", " : "") + describe(call.inputs[i]);
  }
  if (call.inputs.size() > 12) s += fmt::format(", … {} inputs", call.inputs.size());
  s += ")";
  if (call.op->attrs) s += " " + call.op->attrs->print(call.attrs.ref().data);
  return s;
}

// ---- Running

// The bytes of all results that have some.
std::string contents(const std::vector<Tensor>& outputs) {
  std::string all;
  for (const Tensor& t : outputs) {
    if (!t.defined() || t.dtype() == DType::kVariant || t.dtype() == DType::kResource) {
      continue;
    }
    const Tensor host = t.to_host();
    const int64_t n = host.num_elements();
    all += fmt::format("{}{};", dtype_name(t.dtype()), t.shape().debug_str());
    if (t.dtype() == DType::kString) {
      for (int64_t i = 0; i < n; ++i) {
        all += static_cast<const std::string*>(host.host_data())[i] + ";";
      }
    } else if (n > 0) {
      all.append(static_cast<const char*>(host.host_data()),
                 static_cast<size_t>(n) * dtype_size(t.dtype()));
    }
  }
  return all;
}

std::vector<Tensor> run_op(const Call& call, std::vector<Tensor> inputs) {
  // Fresh variables: what a call does to one must not reach the next.
  for (size_t i = 0; i < inputs.size() && !call.op->inputs.empty(); ++i) {
    const InputDef& def = call.op->input_def(static_cast<int>(i));
    const Tensor& t = inputs[i];
    if (def.resource && t.defined() && t.dtype() != DType::kResource &&
        t.dtype() != DType::kVariant && !t.impl()->symbolic) {
      inputs[i] = Variable(t).handle();
    }
  }
  const std::vector<TensorArg> args(inputs.begin(), inputs.end());
  std::vector<Tensor> outputs;
  current_emitter().emit(*call.op, call.attrs.ref(), args, outputs);
  return outputs;
}

std::string eager(const Call& call) { return contents(run_op(call, call.inputs)); }

void with_gradient(const Call& call) {
  GradientTape tape;
  std::vector<Tensor> sources;
  for (const Tensor& t : call.inputs) {
    if (!t.defined() || !(is_floating(t.dtype()) || is_complex(t.dtype()))) continue;
    tape.watch(t);
    sources.push_back(t);
  }
  if (sources.empty()) return;
  const std::vector<Tensor> outputs = run_op(call, call.inputs);
  for (const Tensor& out : outputs) {
    if (!out.defined() || !(is_floating(out.dtype()) || is_complex(out.dtype())))
      continue;
    std::vector<Tensor> results;
    for (const Gradient& g :
         tape.gradient(out, sources, {.unconnected = Unconnected::kZero})) {
      results.push_back(g.dense());
    }
    contents(results);
    return;
  }
}

// The gradients of all results that have one, by all inputs that may have one.
std::vector<Tensor> gradients_in_trace(const Call& call,
                                       const std::vector<Tensor>& given) {
  GradientTape tape;
  std::vector<Tensor> sources;
  for (const Tensor& t : given) {
    if (!t.defined() || !is_floating(t.dtype()) || !t.impl()->symbolic) continue;
    tape.watch(t);
    sources.push_back(t);
  }
  std::vector<Tensor> results;
  const std::vector<Tensor> outputs = run_op(call, given);
  if (sources.empty()) return outputs;
  std::vector<Tensor> targets;
  for (const Tensor& out : outputs) {
    if (out.defined() && is_floating(out.dtype())) targets.push_back(out);
  }
  const std::vector<tandem::Source> by(sources.begin(), sources.end());
  for (const Gradient& g :
       tape.gradient(targets, by, {.unconnected = Unconnected::kZero})) {
    results.push_back(g.dense());
  }
  return results;
}

// The op in a graph whose parameters have the dtypes of the inputs and no known shape:
// stored, loaded, planned and run, as a saved model is.
void loaded(const Call& call, bool gradients) {
  Graph graph;
  std::vector<Tensor> arguments;
  Tracer tracer(graph, [](const OpDef& o, AttrsRef a, std::span<const TensorArg> in,
                          std::span<const Tensor> out) {
    if (recording()) record_op(o, a, in, out);
  });
  {
    const EmitterScope scope(&tracer);
    std::vector<Tensor> given = call.inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      Tensor& t = given[i];
      const bool fixed =
          call.op->inputs.empty() || call.op->input_def(static_cast<int>(i)).resource;
      if (!t.defined() || fixed || t.dtype() == DType::kResource) continue;
      arguments.push_back(t);
      t = tracer.parameter(
          t.dtype(), i % 2 ? Shape::unknown() : Shape::unknown_of_rank(t.rank()), "p");
    }
    for (const Tensor& r :
         gradients ? gradients_in_trace(call, given) : run_op(call, given)) {
      if (r.defined()) graph.results().push_back(tracer.value_of(r));
    }
    tracer.finish();
  }
  std::vector<Tensor> variables;
  const std::string bytes = to_bytes(graph, &variables);
  const Graph again = from_bytes(bytes, [&](const StoredVariable& v) {
    return variables.at(static_cast<size_t>(v.index));
  });
  contents(GraphFunction(std::make_shared<const Graph>(again)).run(arguments));
}

// Inference alone with sizes that no memory could hold.
void infer_huge(const Call& call, Random& random) {
  std::vector<TensorInfo> infos;
  for (const Tensor& t : call.inputs) {
    TensorInfo info;
    if (t.defined()) {
      info.dtype = t.dtype();
      info.shape = t.shape();
      for (int i = 0; i < info.shape.rank(); ++i) {
        if (chance(random, 50)) {
          info.shape.set(
              i, one_of(random, {-1, 0, INT32_MAX, int64_t{1} << 32, int64_t{1} << 40,
                                 int64_t{1} << 62, INT64_MAX}));
        }
      }
      if (chance(random, 10)) info.shape = Shape::unknown();
    }
    infos.push_back(info);
  }
  InferContext context(*call.op, call.attrs.ref(), infos);
  infer_call(context);
}

// Empty, or what is wrong with the call.
template <class Body>
std::string guarded(Body&& body) {
  try {
    body();
    return "";
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const Error&) {
    return "";
  } catch (const std::exception& e) {
    return fmt::format("{}: {}", typeid(e).name(), e.what());
  }
}

// Random numbers differ from call to call, some results are undefined by definition, and
// strings' bytes are not the allocator's.
bool repeats(const OpDef& op) {
  static const std::set<std::string> kUndefined = {"Empty", "EmptyLike", "ReplicaId"};
  if (kUndefined.count(op.name) || op.effects & kOrdered) return false;
  return op.name.find("Random") == std::string::npos;
}

// What is wrong, or nothing.
std::string run_call(const Call& call, Random& random) {
  std::string wrong;
  const auto in = [&](const char* mode, auto&& body) {
    if (!wrong.empty()) return;
    note(std::string(mode) + ": " + describe(call));
    wrong = guarded(body);
    if (!wrong.empty()) wrong = fmt::format("{} [{}]", wrong, mode);
  };
  std::string first, second;
  bool ran = false;
  set_guard_fill(0xa5);
  in("inference", [&] { infer_huge(call, random); });
  in("eager", [&] {
    first = eager(call);
    ran = true;
  });
  if (ran && guards_memory() && repeats(*call.op)) {
    set_guard_fill(0x3c);
    in("again", [&] { second = eager(call); });
    if (wrong.empty() && first != second) wrong = "results hold memory nobody wrote";
  }
  if (ran && call.op->differentiable && chance(random, 50)) {
    in("gradient", [&] { with_gradient(call); });
  }
  if (chance(random, 15)) in("loaded", [&] { loaded(call, false); });
  if (ran && call.op->differentiable && chance(random, 15)) {
    in("loaded gradient", [&] { loaded(call, true); });
  }
  return wrong;
}

Random random_of(const OpDef& op, uint64_t seed, int64_t index) {
  return Random(hash_bytes(op.name) ^ (seed * 0x9e3779b97f4a7c15ull) ^
                (static_cast<uint64_t>(index) * 0xbf58476d1ce4e5b9ull));
}

void limit_memory() {
  const auto cpus = config::list_physical_devices("CPU");
  config::set_logical_device_configuration(
      cpus.at(0), {{.memory_limit = kMemoryMiB, .priority = {}}});
}

bool on_gpu() { return device_count("GPU") > 0; }

// Calls `from` to `to` of one op; `report` gets what is wrong.
template <class Report>
void run_calls(const OpDef& op, const std::vector<OpCase>& cases, uint64_t seed,
               int64_t from, int64_t to, Report&& report) {
  const Caller caller(op, cases);
  std::optional<DeviceScope> scope;
  for (int64_t i = from; i < to; ++i) {
    g_progress->call = i;
    note(op.name + " (being made)");
    Random random = random_of(op, seed, i);
    scope.reset();
    Call call;
    const std::string unmade = guarded([&] { call = caller.make(random); });
    if (!call.op) continue;
    if (on_gpu()) scope.emplace("/GPU:0");
    alarm(kSecondsPerCall);
    const std::string wrong = unmade.empty() ? run_call(call, random) : unmade;
    try {
      synchronize();
    } catch (const Error&) {
    }
    alarm(0);
    if (!wrong.empty()) report(i, wrong + ": " + describe(call));
  }
}

void on_fatal(int signal) {
  char line[128];
  const int n =
      std::snprintf(line, sizeof line, "\nfatal signal %d in hostile call %lld: ", signal,
                    static_cast<long long>(g_progress->call.load()));
  [[maybe_unused]] ssize_t ignored = write(2, line, static_cast<size_t>(n));
  ignored = write(2, g_progress->text, std::strlen(g_progress->text));
  ignored = write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

Progress* shared_progress() {
  void* p = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (p) Progress;
}

// Files that an op writes go to a folder that is removed.
class Folder {
 public:
  Folder() {
    name_ = std::filesystem::temp_directory_path() / "tandem-hostile-XXXXXX";
    if (!mkdtemp(name_.data()) || !getcwd(before_, sizeof before_)) std::abort();
    if (chdir(name_.c_str())) std::abort();
  }
  ~Folder() {
    if (chdir(before_)) std::abort();
    [[maybe_unused]] const int ignored = std::system(("rm -rf " + name_).c_str());
  }

 private:
  std::string name_;
  char before_[4096];
};

int64_t calls_per_op() {
  if (env_bool("TANDEM_LONG_TESTS", false)) return 500;
  return on_gpu() ? 5 : 12;
}

class HostileTest : public ::testing::Test {
 public:
  HostileTest(const OpDef& op, const std::vector<OpCase>& cases, uint64_t seed)
      : op_(op), cases_(cases), seed_(seed) {}
  void TestBody() override {
    const Folder folder;
    run_calls(
        op_, cases_, seed_, 0, calls_per_op(), [&](int64_t i, const std::string& wrong) {
          ADD_FAILURE() << "TANDEM_GUARD_PAGES=1 op_test --hostile --op " << op_.name
                        << " --seed " << seed_ << " --from " << i << "\n"
                        << wrong;
        });
  }

 private:
  const OpDef& op_;
  const std::vector<OpCase>& cases_;
  const uint64_t seed_;
};

}  // namespace

void register_hostile_tests(const std::vector<OpCase>& cases, uint64_t seed) {
  g_progress = shared_progress();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    std::signal(signal, on_fatal);
  }
  limit_memory();
  for (const OpDef* op : OpTable::get().all()) {
    ::testing::RegisterTest(
        "Hostile", op->name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [=, &cases]() -> ::testing::Test* { return new HostileTest(*op, cases, seed); });
  }
}

namespace {

void print_finding(const OpDef& op, uint64_t seed, int64_t call,
                   const std::string& what) {
  std::printf("FINDING --op %s --seed %llu --from %lld: %s\n", op.name.c_str(),
              static_cast<unsigned long long>(seed), static_cast<long long>(call),
              what.c_str());
  std::fflush(stdout);
}

// Calls [from, to) of an op; after a crash another process goes on behind it. Returns how
// many were wrong.
int64_t run_in_children(const OpDef& op, const std::vector<OpCase>& cases, uint64_t seed,
                        int64_t from, int64_t to) {
  constexpr int kMost = 25;  // of one op; then it is enough
  int64_t findings = 0;
  while (from < to && findings < kMost) {
    std::fflush(stdout);
    g_progress->call = from;
    const pid_t child = fork();
    if (child == 0) {
      limit_memory();
      const int quiet = open("/dev/null", O_WRONLY);
      dup2(quiet, STDERR_FILENO);
      int wrong = 0;
      run_calls(op, cases, seed, from, to, [&](int64_t i, const std::string& what) {
        print_finding(op, seed, i, what);
        if (++wrong == kMost) _exit(wrong);
      });
      _exit(wrong);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return findings + WEXITSTATUS(status);
    ++findings;
    const int64_t at = g_progress->call;
    print_finding(op, seed, at,
                  fmt::format("signal {} ({}): {}", WTERMSIG(status),
                              strsignal(WTERMSIG(status)), g_progress->text));
    from = at + 1;
  }
  return findings;
}

}  // namespace

int run_hostile(const std::vector<OpCase>& cases, int argc, char** argv) {
  std::string only;
  uint64_t seed = 1;
  int64_t calls = 40, from = 0, seconds = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--op") only = argv[i + 1];
    if (name == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--calls") calls = std::strtoll(argv[i + 1], nullptr, 10);
    if (name == "--from") from = std::strtoll(argv[i + 1], nullptr, 10);
    if (name == "--seconds") seconds = std::strtoll(argv[i + 1], nullptr, 10);
  }
  g_progress = shared_progress();
  const Folder folder;
  std::vector<const OpDef*> ops;
  for (const OpDef* op : OpTable::get().all()) {
    if (only.empty() || op->name == only) ops.push_back(op);
  }
  // A short run begins elsewhere each time.
  if (seconds > 0) std::shuffle(ops.begin(), ops.end(), Random(seed));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int64_t total = 0, findings = 0;
  do {
    for (const OpDef* op : ops) {
      findings += run_in_children(*op, cases, seed, from, from + calls);
      total += calls;
      if (seconds > 0 && std::chrono::steady_clock::now() >= end) break;
    }
    from += calls;
  } while (!ops.empty() && std::chrono::steady_clock::now() < end);
  std::printf("hostile: %lld calls, %lld findings\n", static_cast<long long>(total),
              static_cast<long long>(findings));
  return findings > 0;
}

}  // namespace tandem::testing
