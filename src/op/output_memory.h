// Results that no device could hold: refused before a kernel makes tables of their size.
// Pure but for the refusal; any thread.
#pragma once

namespace tandem {

struct Signature;

/// Throws ResourceExhaustedError when one of the outputs alone is larger than the memory
/// of the signature's device.
void check_output_memory(const Signature& signature);

}  // namespace tandem
