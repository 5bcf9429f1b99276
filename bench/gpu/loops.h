// Branches and loops over what the GPU computes, decided by the GPU as conditional nodes
// and by the host: `bench_gpu --loops`. One thread.
#pragma once

namespace bench::gpu {

/// Runs each case in both ways in turn and prints a line of JSON and a table row for it:
/// the medians, and the median of the ratios of neighbouring runs with half the distance
/// of their quartiles.
void print_loops();

}  // namespace bench::gpu
