#include "ops/nn_cases.h"

namespace tandem::testing {

void add_nn_cases(CaseList& cases) {
  add_nn_attention_cases(cases);
  add_nn_conv_cases(cases);
  add_nn_ctc_cases(cases);
  add_nn_fused_cases(cases);
  add_nn_image_cases(cases);
  add_nn_loss_cases(cases);
  add_nn_norm_cases(cases);
  add_nn_pool_cases(cases);
  add_nn_sequence_cases(cases);
  add_nn_transform_cases(cases);
}

}  // namespace tandem::testing
