// Running fused programs in tests: by their kernel, with chosen threads and memory, and
// op by op as the unfused calls would.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "op/emitter.h"
#include "op/fused_program.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/reduce.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"

namespace tandem::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(const Tensor& t) {
  Bytes b(static_cast<size_t>(t.num_elements()) * dtype_size(t.dtype()));
  if (!b.empty()) std::memcpy(b.data(), t.host_data(), b.size());
  return b;
}

/// Memory that starts at a multiple of 64 bytes, with a mark after its end.
class Memory {
 public:
  explicit Memory(size_t size) : size_(size), raw_(size + 64 + kMark, std::byte{0xA5}) {
    offset_ = (64 - reinterpret_cast<uintptr_t>(raw_.data()) % 64) % 64;
  }
  std::byte* data() { return raw_.data() + offset_; }
  size_t size() const { return size_; }
  bool mark_intact() {
    for (size_t i = 0; i < kMark - 64; ++i) {
      if (data()[size_ + i] != std::byte{0xA5}) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kMark = 128;
  size_t size_, offset_ = 0;
  std::vector<std::byte> raw_;
};

struct KernelRun {
  int threads = 1;
  /// Outputs that lie over inputs: output → input.
  std::map<size_t, size_t> over = {};
};

/// The kernel's outputs as bytes; `supported` false when there is none for the call.
inline std::vector<Bytes> run_kernel(const FusedAttrs& attrs,
                                     const std::vector<Tensor>& inputs,
                                     const KernelRun& run = {},
                                     bool* supported = nullptr) {
  const OpDef& op = OpTable::get().at(attrs.groups == 1 ? "Fused" : "FusedMulti");
  std::vector<TensorInfo> infos;
  for (const Tensor& t : inputs) {
    TensorInfo info;
    info.dtype = t.dtype();
    info.shape = t.shape();
    infos.push_back(info);
  }
  InferContext context(op, attrs_ref(attrs), infos);
  infer_call(context);
  Signature s;
  s.op = &op;
  s.attrs = attrs_ref(attrs);
  s.inputs = infos;
  s.outputs = context.outputs();
  s.threads = run.threads;
  const Kernel* kernel = KernelRegistry::get().choose(s, kHostPlatform);
  if (supported) *supported = kernel != nullptr;
  if (!kernel) {
    if (!supported) throw InternalError("no kernel for " + attrs.program);
    return {};
  }
  const tandem::Ref<Prepared> prepared = kernel->prepare(s);
  std::vector<Memory> in, out;
  std::vector<void*> in_pointers, out_pointers;
  for (const Tensor& t : inputs) {
    const Bytes b = bytes_of(t);
    in.emplace_back(b.size());
    if (!b.empty()) std::memcpy(in.back().data(), b.data(), b.size());
  }
  for (Memory& m : in) in_pointers.push_back(m.data());
  for (const TensorInfo& o : s.outputs) {
    out.emplace_back(static_cast<size_t>(o.shape.num_elements()) * dtype_size(o.dtype));
  }
  for (size_t o = 0; o < out.size(); ++o) {
    const auto it = run.over.find(o);
    out_pointers.push_back(it == run.over.end() ? out[o].data() : in[it->second].data());
  }
  Memory workspace(prepared->workspace_bytes);
  Team team(run.threads);
  CurrentTeam current(&team);
  kernel->launch(*prepared,
                 {in_pointers.data(), out_pointers.data(), workspace.data(), nullptr});
  std::vector<Bytes> results;
  for (size_t o = 0; o < out.size(); ++o) {
    const auto* p = static_cast<const std::byte*>(out_pointers[o]);
    results.emplace_back(p, p + out[o].size());
    if (!out[o].mark_intact()) throw InternalError("an output was written past its end");
  }
  if (!workspace.mark_intact()) throw InternalError("workspace was written past its end");
  return results;
}

/// Every value of the program, each computed by its own op.
inline std::vector<Tensor> run_unfused(const FusedProgram& p,
                                       std::vector<Tensor> values) {
  for (const FusedInstruction& i : p.instructions) {
    const OpDef& op = OpTable::get().at(i.op);
    std::vector<Tensor> arguments;
    for (int32_t a : i.arguments) arguments.push_back(values[static_cast<size_t>(a)]);
    const std::vector<TensorArg> args(arguments.begin(), arguments.end());
    Attrs attrs = i.attrs;
    if (i.kind != FusedInstruction::Kind::kElementwise) {
      ReduceAttrs reduce;
      const int rank = arguments[0].rank();
      for (int d = 0; d < rank; ++d) {
        const bool column = d >= rank - p.row_axes;
        if (i.kind == FusedInstruction::Kind::kAllReduce ||
            column == (i.kind == FusedInstruction::Kind::kRowReduce)) {
          reduce.axis.push_back(d);
        }
      }
      reduce.no_axes = reduce.axis.empty();
      reduce.keepdims = i.kind == FusedInstruction::Kind::kRowReduce;
      attrs = Attrs(attrs_ref(reduce));
    } else if (!attrs.ref().data) {
      attrs = Attrs(default_attrs(op));
    }
    std::vector<Tensor> results;
    current_emitter().emit(op, attrs.ref(), args, results);
    values.push_back(results.at(0));
  }
  return values;
}

}  // namespace tandem::testing
