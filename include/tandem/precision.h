// How exact products of float32 are on a GPU. One setting for a process; any thread.
#pragma once

namespace tandem::config {

/// Whether a GPU may round the factors of float32 products and convolutions to ten bits
/// of fraction (TF32), where it can: several times as fast, and TensorFlow's default.
/// Holds for calls made afterwards, in compiled functions too. The variable TANDEM_TF32=0
/// turns it off from the start. Any thread.
void enable_tensor_float_32_execution(bool enabled);
bool tensor_float_32_execution_enabled();

}  // namespace tandem::config
