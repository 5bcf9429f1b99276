#include "op/kernel_builds.h"

#include <algorithm>

namespace tandem {

namespace {
thread_local CollectBuilds* t_collecting = nullptr;
}

void KernelBuilds::add(std::shared_ptr<KernelBuild> build) {
  if (std::find(list_.begin(), list_.end(), build) == list_.end()) {
    list_.push_back(std::move(build));
  }
}

void KernelBuilds::add(const KernelBuilds& others) {
  for (const auto& build : others.list_) add(build);
}

bool KernelBuilds::done() const {
  return std::all_of(list_.begin(), list_.end(), [](const auto& b) { return b->done(); });
}

bool KernelBuilds::must_compile() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const auto& b) { return b->must_compile(); });
}

void KernelBuilds::wait() const {
  for (const auto& build : list_) build->wait();
}

void KernelBuilds::get() const {
  for (const auto& build : list_) build->get();
}

CollectBuilds::CollectBuilds(Ask ask)
    : ask_(t_collecting && t_collecting->ask_ == Ask::kExisting ? Ask::kExisting : ask),
      outer_(t_collecting) {
  t_collecting = this;
}

CollectBuilds::~CollectBuilds() { t_collecting = outer_; }

void CollectBuilds::note(const std::shared_ptr<KernelBuild>& build) {
  for (CollectBuilds* scope = t_collecting; scope; scope = scope->outer_) {
    scope->builds_.add(build);
  }
}

CollectBuilds::Ask CollectBuilds::ask() {
  return t_collecting ? t_collecting->ask_ : Ask::kAll;
}

}  // namespace tandem
