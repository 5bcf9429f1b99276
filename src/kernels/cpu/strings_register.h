// The parts of the families of strings and files, each registered by its own file.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_string_kernels(KernelRegistry& registry);
void register_string_number_kernels(KernelRegistry& registry);
void register_string_split_kernels(KernelRegistry& registry);
void register_unicode_kernels(KernelRegistry& registry);
void register_csv_kernels(KernelRegistry& registry);
void register_file_kernels(KernelRegistry& registry);

}  // namespace cpu

}  // namespace tandem
