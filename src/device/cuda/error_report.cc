#include "device/cuda/error_report.h"

#include <map>
#include <mutex>

#include "device/launch_label.h"

namespace tandem::cuda {
namespace {

struct Sites {
  std::mutex mutex;
  int32_t next = 1;
  std::map<int32_t, ErrorSite::Words> words;
};
Sites& sites() {
  static Sites* const all = new Sites;
  return *all;
}

}  // namespace

ErrorSite::ErrorSite(Words words) {
  Sites& all = sites();
  std::lock_guard lock(all.mutex);
  id_ = all.next++;
  all.words[id_] = std::move(words);
}

ErrorSite::~ErrorSite() {
  Sites& all = sites();
  std::lock_guard lock(all.mutex);
  all.words.erase(id_);
  for (const auto& [label, id] : labelled_) all.words.erase(id);
}

int32_t ErrorSite::id() const {
  std::string label = LaunchLabel::current();
  if (label.empty()) return id_;
  Sites& all = sites();
  std::lock_guard lock(all.mutex);
  const auto [found, fresh] = labelled_.try_emplace(std::move(label), all.next);
  if (fresh) {
    ++all.next;
    all.words[found->second] = [words = all.words.at(id_),
                                label = found->first](const Report& r) {
      ReportWords said = words(r);
      said.text += label;
      return said;
    };
  }
  return found->second;
}

ReportWords words_for(const Report& report) {
  Sites& all = sites();
  std::lock_guard lock(all.mutex);
  const auto found = all.words.find(report.site);
  if (found != all.words.end()) return found->second(report);
  return "a kernel on the GPU found a value out of range: " +
         std::to_string(report.value);
}

}  // namespace tandem::cuda
