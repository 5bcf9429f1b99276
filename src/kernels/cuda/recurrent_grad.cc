// LstmGrad and GruGrad: floats; half precision computes in float32. The steps run in
// reverse in one of three forms (recurrent.h) and leave the gradients of the gates;
// products over all steps make of them those of the weights and the input.
#include "kernels/cuda/families.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/reduce.h"

namespace tandem::cuda {

namespace {

/// As device/recurrent.cuh has it.
struct Backward {
  RecurrentOrder order;
  const void *weights, *h0, *c0, *mask;
  const void *sequence, *gates, *cells, *dsequence, *dh, *dc;
  void *before, *dx, *dr, *dh0, *dc0, *held_dh, *held_dc, *held_output;
  const void* product;
  void* step_dr;
};

struct BackwardPlan {
  RecurrentShape shape;
  Function before, begin, step;
  Grid before_grid, grid;
  BlasProduct recurrent, by_x, by_kernel, by_recurrent;
  ReducePlan by_bias;
  bool h0 = false, c0 = false, mask = false;
  // Places in the workspace; `library` is shared by all that need some for a while.
  size_t dx = 0, dr = 0, states_before = 0, held_dh = 0, held_dc = 0, held_output = 0;
  size_t product = 0, step_dr = 0, library = 0;
  size_t workspace_bytes = 0;
};

/// Of one sequence's states, a few thousand elements to a block.
Grid before_grid(const RecurrentShape& r) {
  const int64_t shares = std::clamp<int64_t>(r.time * r.units / 4096, 1, 64);
  return {.x = static_cast<unsigned>(std::min<int64_t>(r.batch, 1 << 20)),
          .y = static_cast<unsigned>(shares)};
}

template <RecurrentForm kForm>
BackwardPlan prepare_recurrent_grad(const Signature& s) {
  BackwardPlan p;
  p.shape = recurrent_shape(s);
  const RecurrentShape& r = p.shape;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  p.h0 = recurrent_given(s, 3);
  p.c0 = r.lstm && recurrent_given(s, 4);
  p.mask = recurrent_given(s, r.lstm ? 5 : 4);
  const Shape gates{r.rows(), r.width()};
  p.by_x = plan_matrices(r, s.device, gates, {r.in, r.width()}, {.transpose_b = true});
  p.by_kernel =
      plan_matrices(r, s.device, {r.rows(), r.in}, gates, {.transpose_a = true});
  p.by_recurrent =
      plan_matrices(r, s.device, {r.rows(), r.units}, gates, {.transpose_a = true});
  const bool columns[] = {true, false};
  p.by_bias = plan_reduction(s.device, "Sum", r.dtype, gates, columns);
  size_t library = std::max({p.by_x.workspace_bytes, p.by_kernel.workspace_bytes,
                             p.by_recurrent.workspace_bytes, p.by_bias.workspace_bytes});
  Rooms rooms;
  p.dx = rooms.take(r.rows() * r.width(), r.element());
  p.dr = r.lstm ? p.dx : rooms.take(r.rows() * r.width(), r.element());
  p.states_before = rooms.take(r.rows() * r.units, r.element());
  if (r.states() > 0) {
    std::string text;
    if constexpr (kForm == RecurrentForm::kCluster) {
      const ClusterForm form = cluster_form(r, gpu.multiprocessors());
      text = cluster_text(r, form, false);
      p.step = find_function(s.device, s.op->name, text, "backward_cluster");
      p.grid = cluster_grid(r, form);
    } else {
      const StepForm form = step_form(r, gpu, false);
      text = step_text(r, form, false);
      p.begin = find_function(s.device, s.op->name, text, "begin_backward");
      p.held_dh = rooms.take(r.states(), r.computed());
      if (r.lstm) p.held_dc = rooms.take(r.states(), r.computed());
      p.held_output = rooms.take(r.states(), r.computed());
      if constexpr (kForm == RecurrentForm::kStep) {
        p.step = find_function(s.device, s.op->name, text, "backward_step");
        p.grid = step_grid(r, form);
      } else {
        p.step = find_function(s.device, s.op->name, text, "backward_cell");
        p.grid = grid_for(p.step, r.states());
        p.product = rooms.take(r.states(), r.element());
        p.step_dr = rooms.take(r.batch * r.width(), r.element());
        p.recurrent = plan_matrices(r, s.device, {r.batch, r.width()},
                                    {r.units, r.width()}, {.transpose_b = true});
        library = std::max(library, p.recurrent.workspace_bytes);
      }
    }
    p.before = find_function(s.device, s.op->name, text, "states_before");
    p.before_grid = before_grid(r);
  }
  p.library = rooms.take(1, library);
  p.workspace_bytes = rooms.bytes();
  return p;
}

Backward arguments(const BackwardPlan& p, const LaunchArgs& a) {
  const RecurrentShape& r = p.shape;
  const int sequence = r.lstm ? 6 : 5;
  Backward f{};
  f.order = order_of(r);
  f.weights = a.inputs[2];
  f.h0 = p.h0 ? a.inputs[3] : nullptr;
  f.c0 = p.c0 ? a.inputs[4] : nullptr;
  f.mask = p.mask ? a.inputs[r.lstm ? 5 : 4] : nullptr;
  f.sequence = a.inputs[sequence];
  f.gates = a.inputs[sequence + 1];
  f.cells = r.lstm ? a.inputs[8] : nullptr;
  f.dsequence = a.inputs[r.lstm ? 9 : 7];
  f.dh = a.inputs[r.lstm ? 10 : 8];
  f.dc = r.lstm ? a.inputs[11] : nullptr;
  f.before = room(a, p.states_before);
  f.dx = room(a, p.dx);
  f.dr = room(a, p.dr);
  f.dh0 = a.outputs[4];
  f.dc0 = r.lstm ? a.outputs[5] : nullptr;
  return f;
}

/// From the last step to the first, and once more for the initial states.
template <RecurrentForm kForm>
void run_steps(const BackwardPlan& p, const LaunchArgs& a, Backward f) {
  const RecurrentShape& r = p.shape;
  const StreamContext& stream = *a.stream;
  if (r.time > 0) launch(p.before, stream, p.before_grid, f);
  if constexpr (kForm == RecurrentForm::kCluster) {
    launch(p.step, stream, p.grid, f);
  } else {
    f.held_dh = room(a, p.held_dh);
    f.held_dc = room(a, p.held_dc);
    f.held_output = room(a, p.held_output);
    if constexpr (kForm == RecurrentForm::kProduct) {
      f.product = room(a, p.product);
      f.step_dr = room(a, p.step_dr);
    }
    launch(p.begin, stream, grid_for(p.begin, r.states()), f);
    for (int64_t s = r.time - 1; s >= -1; --s) {
      if (kForm == RecurrentForm::kProduct && s + 1 < r.time) {
        run_matrices(p.recurrent, stream, f.step_dr, f.weights, room(a, p.product),
                     room(a, p.library));
      }
      launch(p.step, stream, p.grid, f, s);
    }
  }
}

template <RecurrentForm kForm>
void launch_recurrent_grad(const BackwardPlan& p, const LaunchArgs& a) {
  const RecurrentShape& r = p.shape;
  const StreamContext& stream = *a.stream;
  const Backward f = arguments(p, a);
  void* const library = room(a, p.library);
  if (r.states() > 0) run_steps<kForm>(p, a, f);
  run_matrices(p.by_x, stream, f.dx, a.inputs[1], a.outputs[0], library);
  run_matrices(p.by_kernel, stream, a.inputs[0], f.dx, a.outputs[1], library);
  run_matrices(p.by_recurrent, stream, f.before, f.dr, a.outputs[2], library);
  const auto sum = [&](void* of, void* to) {
    run_reduction(p.by_bias, {&of, &to, library, &stream});
  };
  sum(f.dx, a.outputs[3]);
  if (!r.lstm) {
    sum(f.dr, a.out<std::byte>(3) + static_cast<size_t>(r.width()) * r.element());
  }
}

template <RecurrentForm kForm>
void add_recurrent_grad(Kernels& kernels) {
  for (const char* op : {"LstmGrad", "GruGrad"}) {
    kernels.add(make_kernel<prepare_recurrent_grad<kForm>, launch_recurrent_grad<kForm>>(
        op, recurrent_id(kForm, op), kFloats, recurrent_form_fits<kForm>));
  }
}

}  // namespace

void register_recurrent_grad(Kernels& kernels) {
  add_recurrent_grad<RecurrentForm::kCluster>(kernels);
  add_recurrent_grad<RecurrentForm::kStep>(kernels);
  add_recurrent_grad<RecurrentForm::kProduct>(kernels);
}

}  // namespace tandem::cuda
