#include <cstddef>
#include <map>
#include <set>

#include "base/idx.h"
#include "plan/branches.h"

namespace tandem {

std::vector<int32_t> group_by_lane(const std::vector<BranchStep>& steps,
                                   const std::vector<int32_t>& lane) {
  std::vector<int32_t> waiting(steps.size(), 0);
  std::vector<std::vector<int32_t>> next(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    for (int32_t b : steps[i].before) {
      next[idx(b)].push_back(static_cast<int32_t>(i));
      ++waiting[i];
    }
  }
  std::map<int32_t, std::set<int32_t>> ready;  // by lane
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!waiting[i]) ready[lane[i]].insert(static_cast<int32_t>(i));
  }
  std::vector<int32_t> order;
  int32_t last = 0;
  while (!ready.empty()) {
    auto from = ready.begin();  // devices
    if (from->first >= 0) {
      const auto same = ready.find(last);
      from = last > 0 && same != ready.end() ? same : ready.upper_bound(0);
      if (from == ready.end()) from = ready.begin();
    }
    const int32_t i = *from->second.begin();
    from->second.erase(from->second.begin());
    if (from->second.empty()) ready.erase(from);
    last = lane[idx(i)];
    order.push_back(i);
    for (int32_t to : next[idx(i)]) {
      if (--waiting[idx(to)] == 0) ready[lane[idx(to)]].insert(to);
    }
  }
  return order;
}

}  // namespace tandem
