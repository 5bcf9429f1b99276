// OpDef: everything there is to know about an op but its kernels (design, decision 1).
// Eager calls, tracing, autodiff, fusion, costs, Python functions, docs and tests derive
// from it. Built at start-up by the families under ops/, frozen afterwards; any thread
// may read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "op/attrs.h"
#include "op/grad.h"
#include "op/infer.h"

namespace tandem {

/// Sets of dtypes, one bit each.
using DTypeMask = uint32_t;
constexpr DTypeMask mask(DType t) { return 1u << static_cast<unsigned>(t); }
template <class... T>
constexpr DTypeMask mask(DType first, T... rest) {
  return (mask(first) | ... | mask(rest));
}
inline constexpr DTypeMask kHalfs = mask(DType::kFloat16, DType::kBFloat16);
inline constexpr DTypeMask kFloats = kHalfs | mask(DType::kFloat32, DType::kFloat64);
inline constexpr DTypeMask kComplexes = mask(DType::kComplex64, DType::kComplex128);
inline constexpr DTypeMask kSigned =
    mask(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64);
inline constexpr DTypeMask kUnsigned =
    mask(DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64);
inline constexpr DTypeMask kIntegers = kSigned | kUnsigned;
inline constexpr DTypeMask kReals = kFloats | kIntegers;
inline constexpr DTypeMask kNumbers = kReals | kComplexes;
inline constexpr DTypeMask kPlain = kNumbers | mask(DType::kBool);  // all but strings
inline constexpr DTypeMask kAnyDType = kPlain | mask(DType::kString);
inline constexpr DTypeMask kIndices = mask(DType::kInt32, DType::kInt64);

struct InputDef {
  std::string name = {};
  /// Type variable: all inputs of one letter have one dtype (checked before inference).
  char type = 'T';
  /// Decides the output's shape or the kernel's form (shapes, sizes, axes): on the host
  /// before inference, part of the call key, read from Signature in prepare(); launch
  /// gets null.
  bool host = false;
  /// Only dtype and shape are looked at; contents need not exist, launch gets null.
  bool shape_only = false;
  /// May be an undefined tensor: dtype is then kInvalid in inference, and launch gets
  /// null.
  bool optional = false;
  /// Zero or more tensors; only the last input may be variadic, or the only one.
  bool variadic = false;
  /// A variable; `writes` says whether the op changes it.
  bool resource = false;
  bool writes = false;
  /// The whole value is replaced by input 1: inference sees the declared shape of the
  /// variable, not that of its present value.
  bool replaces = false;
};

/// A dtype variable of an op.
struct TypeVar {
  char name = 'T';
  DTypeMask allowed = kAnyDType;
};

/// What an op does besides computing outputs.
enum Effect : uint8_t {
  kPure = 0,
  kReadsState = 1,
  kWritesState = 2,
  kOrdered = 4,  // print, assert, random state: kept, in program order
  kMayFail = 8,  // depends on contents: a bad index, an assertion
};

struct Cost {
  double flops = 0;
  double bytes = 0;  // least traffic: each input read once, each output written once
};

/// Inputs and outputs of one call with everything known; what kernels prepare for.
struct Signature {
  const OpDef* op = nullptr;
  AttrsRef attrs;
  std::span<const TensorInfo> inputs;
  std::span<const TensorInfo> outputs;
  Device* device = nullptr;    // where it will run; null while only inference is asked
  int threads = 1;             // the kernel will be run with this many
  bool deterministic = false;  // results must not depend on scheduling

  const TensorInfo& in(int i) const { return inputs[static_cast<size_t>(i)]; }
  const TensorInfo& out(int i = 0) const { return outputs[static_cast<size_t>(i)]; }
};

struct OpDef {
  std::string name = {};  // TensorFlow's op name where it has one: "AddV2"
  std::string doc = {};   // one line
  std::vector<TypeVar> types = {{}};
  std::vector<InputDef> inputs = {};
  std::vector<std::string> outputs = {"output"};  // names; "x*" means a list of outputs
  const AttrsType* attrs = nullptr;

  void (*infer)(InferContext&) = nullptr;
  /// Null with `differentiable`: asking for a gradient through this op throws.
  void (*gradient)(GradContext&) = nullptr;
  /// False: gradients stop here (comparisons, integer results, shapes).
  bool differentiable = true;
  /// Contents that the gradient reads, as bit masks over InputDefs and outputs; others
  /// are kept as shapes only.
  uint32_t grad_inputs = ~0u;
  uint32_t grad_outputs = ~0u;
  Cost (*cost)(const Signature&) = nullptr;  // null: bytes alone

  /// The output may be a view of input 0 at the returned byte offset; nullopt: run the
  /// kernel.
  std::optional<int64_t> (*view)(const Signature&) = nullptr;
  /// Inputs whose memory output 0 may take over when they die (plans).
  uint32_t inplace = 0;
  /// For elementwise ops: a C expression over x, y, z (inputs 0, 1, 2), {attribute}
  /// names, operators,
  /// ?: and the functions of docs/adding-an-op.md, for fused kernels: "x > 0 ? x :
  /// {alpha} * x".
  std::string expression = {};
  /// Output sizes depend on values: kernels allocate outputs themselves.
  bool dynamic = false;
  uint8_t effects = kPure;

  int id = -1;  // dense, given by the table

  bool variadic() const { return !inputs.empty() && inputs.back().variadic; }
  /// Index of the InputDef that describes tensor i of a call.
  int def_index(int i) const {
    const int n = static_cast<int>(inputs.size());
    return i < n ? i : n - 1;
  }
  const InputDef& input_def(int i) const {
    return inputs[static_cast<size_t>(def_index(i))];
  }
};

/// The table of all ops. Filled by register_all_ops() (ops/register.h) on first use.
class OpTable {
 public:
  static const OpTable& get();
  const OpDef* find(std::string_view name) const;
  /// Throws NotFoundError when there is no such op.
  const OpDef& at(std::string_view name) const;
  const std::vector<const OpDef*>& all() const { return ordered_; }
  /// Only while the table is being built.
  void add(OpDef def);

 private:
  std::vector<const OpDef*> ordered_;  // by registration
  struct Index;
  Index* index_ = nullptr;
};

/// Default cost: no flops, bytes of all inputs and outputs.
Cost default_cost(const Signature& s);
Cost cost_of(const Signature& s);

/// Set by the ops layer: fills the table.
void set_op_registrar(void (*registrar)(OpTable&));

}  // namespace tandem
