// Fourier transforms.
#pragma once

namespace tandem {

class OpTable;

void register_signal_ops(OpTable& table);

}  // namespace tandem
