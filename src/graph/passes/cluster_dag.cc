#include "graph/passes/cluster_dag.h"

#include <algorithm>
#include <numeric>

#include "base/idx.h"

namespace tandem {

namespace {

// A step that would look at more clusters than this spans most of a large program; what
// it joins lies far apart, and keeping a value that long is rarely worth a kernel.
constexpr size_t kLongestSearch = 4096;

}  // namespace

ClusterDag::ClusterDag(Lists before, Lists after)
    : before_(std::move(before)), after_(std::move(after)) {
  const size_t n = before_.size();
  parent_.resize(n);
  std::iota(parent_.begin(), parent_.end(), 0);
  order_ = parent_;
  seen_.assign(n, 0);
  members_.resize(n);
  for (size_t i = 0; i < n; ++i) members_[i] = {static_cast<int32_t>(i)};
}

int32_t ClusterDag::find(int32_t node) {
  while (parent_[idx(node)] != node) {
    parent_[idx(node)] = parent_[idx(parent_[idx(node)])];
    node = parent_[idx(node)];
  }
  return node;
}

// Fills later_ with what can be reached from `from` before `to` in the order. False: `to`
// itself can be, by more than one edge.
bool ClusterDag::collect_after(int32_t from, int32_t to) {
  later_.clear();
  const int32_t limit = order_[idx(to)];
  const auto visit = [&](int32_t cluster, bool first) {
    for (int32_t node : after_[idx(cluster)]) {
      const int32_t next = find(node);
      if (next == to) {
        if (first) continue;
        return false;
      }
      if (next == from || order_[idx(next)] > limit || seen_[idx(next)] == turn_)
        continue;
      seen_[idx(next)] = turn_;
      later_.push_back(next);
    }
    return true;
  };
  if (!visit(from, true)) return false;
  for (size_t i = 0; i < later_.size(); ++i) {
    if (later_.size() > kLongestSearch || !visit(later_[i], false)) return false;
  }
  return true;
}

// Fills earlier_ with what reaches `to` and stands after `from` in the order.
void ClusterDag::collect_before(int32_t from, int32_t to) {
  earlier_.clear();
  const int32_t limit = order_[idx(from)];
  const auto visit = [&](int32_t cluster) {
    for (int32_t node : before_[idx(cluster)]) {
      const int32_t next = find(node);
      if (next == from || next == to || order_[idx(next)] < limit ||
          seen_[idx(next)] == turn_) {
        continue;
      }
      seen_[idx(next)] = turn_;
      earlier_.push_back(next);
    }
  };
  visit(to);
  for (size_t i = 0; i < earlier_.size(); ++i) visit(earlier_[i]);
}

// The places of all that were looked at are given out again: what leads to the second
// cluster, then the joined one, then what the first leads to.
void ClusterDag::reorder(int32_t joined, int32_t gone) {
  const auto by_order = [&](int32_t x, int32_t y) {
    return order_[idx(x)] < order_[idx(y)];
  };
  std::sort(earlier_.begin(), earlier_.end(), by_order);
  std::sort(later_.begin(), later_.end(), by_order);
  std::vector<int32_t> places = {order_[idx(joined)], order_[idx(gone)]};
  for (int32_t c : earlier_) places.push_back(order_[idx(c)]);
  for (int32_t c : later_) places.push_back(order_[idx(c)]);
  std::sort(places.begin(), places.end());
  size_t next = 0;
  for (int32_t c : earlier_) order_[idx(c)] = places[next++];
  order_[idx(joined)] = places[next++];
  ++next;  // one cluster fewer
  for (int32_t c : later_) order_[idx(c)] = places[next++];
}

bool ClusterDag::join(int32_t a, int32_t b) {
  a = find(a);
  b = find(b);
  if (a == b) return true;
  if (order_[idx(a)] > order_[idx(b)]) std::swap(a, b);
  ++turn_;
  if (!collect_after(a, b)) return false;
  collect_before(a, b);
  // The longer lists stay where they are.
  const auto weight = [&](int32_t c) {
    return before_[idx(c)].size() + after_[idx(c)].size() + members_[idx(c)].size();
  };
  const int32_t keep = weight(a) >= weight(b) ? a : b, gone = keep == a ? b : a;
  reorder(keep, gone);
  parent_[idx(gone)] = keep;
  for (Lists* lists : {&before_, &after_}) {
    std::vector<int32_t>&to = (*lists)[idx(keep)], &from = (*lists)[idx(gone)];
    to.insert(to.end(), from.begin(), from.end());
    from = {};
  }
  std::vector<int32_t> all(members_[idx(keep)].size() + members_[idx(gone)].size());
  std::merge(members_[idx(keep)].begin(), members_[idx(keep)].end(),
             members_[idx(gone)].begin(), members_[idx(gone)].end(), all.begin());
  members_[idx(keep)] = std::move(all);
  members_[idx(gone)] = {};
  return true;
}

}  // namespace tandem
