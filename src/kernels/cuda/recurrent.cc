// Lstm and Gru: floats; half precision computes in float32 and rounds states where they
// are multiplied. One product makes the input's part of all steps; the steps run in one
// of three forms (recurrent.h).
#include "kernels/cuda/recurrent.h"

#include "kernels/cuda/families.h"

namespace tandem::cuda {

namespace {

/// As device/recurrent.cuh has it.
struct Forward {
  RecurrentOrder order;
  const void *x_part, *weights, *bias, *h0, *c0, *mask;
  void *sequence, *h, *c, *gates, *cells, *states, *held_h, *held_c;
  const void* product;
};

struct ForwardPlan {
  RecurrentShape shape;
  Function begin, step;  // step: all of them where they are one launch
  Grid grid;
  BlasProduct input, recurrent;
  bool bias = false, h0 = false, c0 = false, mask = false;
  // Places in the workspace.
  size_t x_part = 0, states = 0, held_h = 0, held_c = 0, product = 0, library = 0;
  size_t workspace_bytes = 0;
};

template <RecurrentForm kForm>
ForwardPlan prepare_recurrent(const Signature& s) {
  ForwardPlan p;
  p.shape = recurrent_shape(s);
  const RecurrentShape& r = p.shape;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  p.bias = recurrent_given(s, 3);
  p.h0 = recurrent_given(s, 4);
  p.c0 = r.lstm && recurrent_given(s, 5);
  p.mask = recurrent_given(s, r.lstm ? 6 : 5);
  p.input = plan_matrices(r, s.device, {r.rows(), r.in}, {r.in, r.width()}, {});
  size_t library = p.input.workspace_bytes;
  Rooms rooms;
  if (!r.lstm) p.x_part = rooms.take(r.rows() * r.width(), r.element());
  if (r.states() == 0) {
    p.library = rooms.take(1, library);
    p.workspace_bytes = rooms.bytes();
    return p;
  }
  if constexpr (kForm == RecurrentForm::kCluster) {
    const ClusterForm form = cluster_form(r, gpu.multiprocessors());
    p.step = find_function(s.device, s.op->name, cluster_text(r, form, true),
                           "forward_cluster");
    p.grid = cluster_grid(r, form);
  } else {
    const StepForm form = step_form(r, gpu, true);
    const std::string text = step_text(r, form, true);
    p.begin = find_function(s.device, s.op->name, text, "begin_forward");
    p.states = rooms.take(2 * r.states(), r.element());
    p.held_h = rooms.take(r.states(), r.computed());
    if (r.lstm) p.held_c = rooms.take(r.states(), r.computed());
    if constexpr (kForm == RecurrentForm::kStep) {
      p.step = find_function(s.device, s.op->name, text, "forward_step");
      p.grid = step_grid(r, form);
    } else {
      p.step = find_function(s.device, s.op->name, text, "forward_cell");
      p.grid = grid_for(p.step, r.states());
      p.product = rooms.take(r.batch * r.width(), r.element());
      p.recurrent =
          plan_matrices(r, s.device, {r.batch, r.units}, {r.units, r.width()}, {});
      library = std::max(library, p.recurrent.workspace_bytes);
    }
  }
  p.library = rooms.take(1, library);
  p.workspace_bytes = rooms.bytes();
  return p;
}

template <RecurrentForm kForm>
void launch_recurrent(const ForwardPlan& p, const LaunchArgs& a) {
  const RecurrentShape& r = p.shape;
  const StreamContext& stream = *a.stream;
  Forward f{};
  f.order = order_of(r);
  f.weights = a.inputs[2];
  f.bias = p.bias ? a.inputs[3] : nullptr;
  f.h0 = p.h0 ? a.inputs[4] : nullptr;
  f.c0 = p.c0 ? a.inputs[5] : nullptr;
  f.mask = p.mask ? a.inputs[r.lstm ? 6 : 5] : nullptr;
  f.sequence = a.outputs[0];
  f.h = a.outputs[1];
  f.c = r.lstm ? a.outputs[2] : nullptr;
  f.gates = a.outputs[r.lstm ? 3 : 2];
  f.cells = r.lstm ? a.outputs[4] : nullptr;
  void* const x_part = r.lstm ? f.gates : room(a, p.x_part);
  f.x_part = x_part;
  void* const library = room(a, p.library);
  run_matrices(p.input, stream, a.inputs[0], a.inputs[1], x_part, library);
  if (r.states() == 0) return;
  if constexpr (kForm == RecurrentForm::kCluster) {
    launch(p.step, stream, p.grid, f);
  } else {
    auto* const states = static_cast<std::byte*>(room(a, p.states));
    f.states = states;
    f.held_h = room(a, p.held_h);
    f.held_c = room(a, p.held_c);
    f.product = room(a, p.product);
    launch(p.begin, stream, grid_for(p.begin, r.states()), f);
    for (int64_t s = 0; s < r.time; ++s) {
      if constexpr (kForm == RecurrentForm::kProduct) {
        const auto bytes = static_cast<size_t>(r.states()) * r.element();
        run_matrices(p.recurrent, stream, states + static_cast<size_t>(s % 2) * bytes,
                     f.weights, room(a, p.product), library);
      }
      launch(p.step, stream, p.grid, f, s);
    }
  }
}

template <RecurrentForm kForm>
void add_recurrent(Kernels& kernels) {
  for (const char* op : {"Lstm", "Gru"}) {
    kernels.add(make_kernel<prepare_recurrent<kForm>, launch_recurrent<kForm>>(
        op, recurrent_id(kForm, op), kFloats, recurrent_form_fits<kForm>));
  }
}

}  // namespace

void register_recurrent(Kernels& kernels) {
  add_recurrent<RecurrentForm::kCluster>(kernels);
  add_recurrent<RecurrentForm::kStep>(kernels);
  add_recurrent<RecurrentForm::kProduct>(kernels);
}

}  // namespace tandem::cuda
