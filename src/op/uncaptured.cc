#include "op/uncaptured.h"

#include "op/kernel_marks.h"

namespace tandem {
namespace {

KernelMarks& uncaptured() {
  static auto* const all = new KernelMarks;  // plugins ask until the process ends
  return *all;
}

}  // namespace

void mark_uncaptured(const std::string& kernel_id) { uncaptured().add(kernel_id); }
bool is_uncaptured(const Kernel& kernel) { return uncaptured().has(kernel); }

}  // namespace tandem
