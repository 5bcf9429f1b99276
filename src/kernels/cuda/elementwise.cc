// Elementwise kernels: every op of the table with an expression, Cast, SelectV2, AddN.
// dtypes: all but strings.
#include "kernels/cuda/elementwise.h"

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {

bool program_may_fail(const FusedProgram& program) {
  for (const FusedInstruction& i : program.instructions) {
    if (i.kind == FusedInstruction::Kind::kElementwise &&
        (OpTable::get().at(i.op).effects & kMayFail)) {
      return true;
    }
  }
  return false;
}

std::string failure_words(const Report& report) {
  return report.value == 2
             ? "Integers to negative integer powers are not allowed. Cast to a "
               "floating-point dtype."
             : "Integer division by zero. Replace the zeros, or divide as floats.";
}

}  // namespace

ElementwisePlan plan_elementwise(Device* device, const std::string& op,
                                 const FusedProgram& program, const Shape& domain,
                                 std::span<const Shape> inputs) {
  const Geometry g = broadcast_geometry(domain, inputs);
  ElementwiseForm form;
  form.wide_index = g.wide;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < 32 && g.single(i)) {
      form.scalars |= 1u << i;
    } else if (!g.contiguous(i)) {
      form.strided = true;
    }
  }
  form.rank = form.strided ? g.rank() : 0;
  if (form.strided) form.scalars = 0;
  ElementwisePlan p;
  p.inputs = program.num_inputs;
  p.outputs = static_cast<int>(program.outputs.size());
  p.n = g.n;
  const ElementwiseWords w{p.inputs, p.outputs};
  if (w.total(form.rank) > kMaxWords) {
    throw InternalError(
        fmt::format("{}: a program of {} inputs over {} dimensions is too "
                    "large for one kernel",
                    op, p.inputs, form.rank));
  }
  p.words.assign(static_cast<size_t>(w.total(form.rank)), 0);
  const auto set = [&](int at, int64_t value) {
    p.words[static_cast<size_t>(at)] = static_cast<uint64_t>(value);
  };
  set(w.count(), g.n);
  set(w.flags(), static_cast<int64_t>(static_cast<CudaDevice*>(device)->flags()));
  if (program_may_fail(program)) {
    p.site = std::make_shared<ErrorSite>(failure_words);
  }
  for (int d = 0; d < form.rank; ++d) {
    set(w.dims() + d, g.dims[static_cast<size_t>(d)]);
    for (int i = 0; i < p.inputs; ++i) {
      set(w.strides(i, form.rank) + d,
          g.strides[static_cast<size_t>(i)][static_cast<size_t>(d)]);
    }
  }
  if (p.n == 0) return p;
  const std::string source = elementwise_text(program, form);
  p.any = find_function(device, op, source, "any");
  p.lanes = form.strided ? 1 : vector_elements(program, form);
  if (p.lanes > 1) {
    p.vectors = find_function(device, op, source, "vectors");
    for (int32_t i = 0; i < program.num_inputs; ++i) {
      p.alignment.push_back(form.scalars >> i & 1 ? 1
                                                  : dtype_size(program.dtype(i)) *
                                                        static_cast<size_t>(p.lanes));
    }
    for (int32_t o : program.outputs) {
      p.alignment.push_back(dtype_size(program.dtype(o)) * static_cast<size_t>(p.lanes));
    }
  }
  return p;
}

void run_elementwise(const ElementwisePlan& p, const StreamContext& stream,
                     void* const* inputs, void* const* outputs) {
  if (p.n == 0) return;
  uint64_t words[kMaxWords];
  std::copy(p.words.begin(), p.words.end(), words);
  const ElementwiseWords places{p.inputs, p.outputs};
  words[places.guard()] = guard_of(stream);
  if (p.site) words[places.site()] = static_cast<uint64_t>(p.site->id());
  bool aligned = p.lanes > 1;
  const int pointers = p.inputs + p.outputs;
  for (int i = 0; i < pointers; ++i) {
    words[i] =
        reinterpret_cast<uint64_t>(i < p.inputs ? inputs[i] : outputs[i - p.inputs]);
    if (aligned) aligned = words[i] % p.alignment[static_cast<size_t>(i)] == 0;
  }
  void* arguments[] = {words};
  const Function& f = aligned ? p.vectors : p.any;
  launch_raw(f, stream, grid_for(f, aligned ? (p.n + p.lanes - 1) / p.lanes : p.n),
             arguments);
}

namespace {

ElementwisePlan prepare_elementwise(const Signature& s) {
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const TensorInfo& in : s.inputs) {
    dtypes.push_back(in.dtype);
    shapes.push_back(in.shape);
  }
  gpu_of(s).activate();
  return plan_elementwise(s.device, s.op->name,
                          single_program(*s.op, s.attrs, dtypes, s.out().dtype),
                          s.out().shape, shapes);
}
void launch_op(const ElementwisePlan& p, const LaunchArgs& a) {
  run_elementwise(p, *a.stream, a.inputs, a.outputs);
}

// A sum of many tensors has more pointers than words: the CPU adds them up.
bool few_inputs(const Signature& s) { return s.inputs.size() <= 24; }

}  // namespace

DTypeMask expression_dtypes(const OpDef& op) {
  DTypeMask allowed = 0;
  for (const TypeVar& v : op.types) {
    if (v.name == 'T') allowed |= v.allowed;
  }
  if (op.name.starts_with("Logical")) return mask(DType::kBool);
  // Ops of the table whose expression has no meaning for complex numbers have none among
  // their dtypes.
  return allowed & kPlain;
}

void register_elementwise(Kernels& kernels) {
  for (const OpDef* op : OpTable::get().all()) {
    if (op->expression.empty() || op->variadic() || op->inputs.size() > 3) continue;
    const DTypeMask dtypes = expression_dtypes(*op);
    if (!dtypes) continue;
    kernels.add(make_kernel<prepare_elementwise, launch_op>(
        op->name, "cuda.elementwise." + op->name, dtypes));
  }
  kernels.add(make_kernel<prepare_elementwise, launch_op>("AddN", "cuda.add_n", kNumbers,
                                                          few_inputs));
}

}  // namespace tandem::cuda
