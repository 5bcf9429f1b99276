// The parts of the nn cases.
#pragma once

#include "ops/case_parts.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::testing {

/// The convolution of inputs 0 and 1.
Reference conv_reference(const nn::ConvAttrs& attrs, const Shape& input,
                         const Shape& filter);

void add_nn_attention_cases(CaseList& cases);
void add_nn_conv_cases(CaseList& cases);
void add_nn_ctc_cases(CaseList& cases);
void add_nn_fused_cases(CaseList& cases);
void add_nn_image_cases(CaseList& cases);
void add_nn_loss_cases(CaseList& cases);
void add_nn_norm_cases(CaseList& cases);
void add_nn_pool_cases(CaseList& cases);
void add_nn_sequence_cases(CaseList& cases);
void add_nn_transform_cases(CaseList& cases);

}  // namespace tandem::testing
