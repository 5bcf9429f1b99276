#include "ops/register.h"

#include "op/op_def.h"
#include "ops/callbacks.h"
#include "ops/collective.h"
#include "ops/effects.h"
#include "ops/image.h"
#include "ops/iterate.h"
#include "ops/lookup.h"
#include "ops/random_parameters.h"
#include "ops/sequence.h"
#include "ops/signal.h"
#include "ops/strings.h"
#include "ops/summary.h"
#include "ops/tensor_list.h"

namespace tandem {

void register_all_ops(OpTable& table) {
  register_array_ops(table);
  register_elementwise_ops(table);
  register_fused_ops(table);
  register_indexing_ops(table);
  register_linalg_ops(table);
  register_nn_ops(table);
  register_random_ops(table);
  register_reduce_ops(table);
  register_sort_ops(table);
  register_state_ops(table);
  register_tensor_list_ops(table);
  register_tensor_list_functions();
  register_effect_ops(table);
  register_iteration_ops(table);
  register_callback_ops(table);
  register_summary_ops(table);
  register_random_parameter_ops(table);
  register_lookup_ops(table);
  register_sequence_ops(table);
  register_signal_ops(table);
  register_string_ops(table);
  register_file_ops(table);
  register_image_codec_ops(table);
  register_image_colour_ops(table);
  register_image_scale_ops(table);
  register_image_box_ops(table);
  register_image_gradient_ops(table);
  register_image_sample_ops(table);
  register_collective_ops(table);
  register_collective_functions();
}

namespace {
[[maybe_unused]] const bool g_installed = (set_op_registrar(&register_all_ops), true);
}

}  // namespace tandem
