#include "plan/branches.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/idx.h"

namespace tandem {

namespace {

// Lighter steps do not shape regions: they follow the branch that they belong to.
constexpr double kHeavyUs = 20;
// What a lane must have to do to be worth waking.
constexpr double kLaneUs = 100;
// Handing work to the lanes and waiting for the last of them.
constexpr double kHandOverUs = 30;
// A lane that waits for a step of another one.
constexpr double kWaitUs = 10;
// Estimates are not exact: a gain has to be clear.
constexpr double kClearGain = 0.8;

/// Rows of bits: who comes before whom among heavy steps.
class BitRows {
 public:
  BitRows(size_t rows, size_t bits) : words_((bits + 63) / 64), data_(rows * words_) {}
  bool has(size_t row, size_t bit) const {
    return data_[row * words_ + bit / 64] >> bit % 64 & 1;
  }
  void set(size_t row, size_t bit) {
    data_[row * words_ + bit / 64] |= uint64_t{1} << bit % 64;
  }
  void merge(size_t into, size_t from) {
    for (size_t w = 0; w < words_; ++w) {
      data_[into * words_ + w] |= data_[from * words_ + w];
    }
  }

 private:
  size_t words_;
  std::vector<uint64_t> data_;
};

using Region = std::vector<size_t>;  // heavy steps, by number among them, in order

struct Trial {
  std::vector<std::vector<int32_t>> lane;  // by region and step of it; empty: stays
  double alone_us = 0, beside_us = 0;
  int regions = 0;
};

class Search {
 public:
  Search(const std::vector<BranchStep>& steps, const BranchOptions& options,
         StepTime time)
      : steps_(steps), options_(options), time_(time) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool heavy =
          steps[i].work_us >= kHeavyUs || (options.always && steps[i].movable);
      if (heavy) heavy_.push_back(static_cast<int32_t>(i));
    }
  }

  Branches run() {
    Branches result;
    result.lane.assign(steps_.size(), 0);
    if (options_.max_lanes < 2 || heavy_.size() < 2) return result;
    find_regions();
    if (regions_.empty()) return result;
    Trial best;
    int best_lanes = 0;
    for (int lanes = 2; lanes <= options_.max_lanes; ++lanes) {
      Trial t = attempt(lanes);
      if (!t.regions) continue;
      if (!best_lanes ||
          t.alone_us - t.beside_us > 1.05 * (best.alone_us - best.beside_us)) {
        best = std::move(t);
        best_lanes = lanes;
      }
    }
    if (!best_lanes) return result;
    result.lanes = best_lanes;
    result.threads = share(best_lanes);
    result.regions = best.regions;
    result.alone_us = best.alone_us;
    result.beside_us = best.beside_us;
    assign(best, result.lane);
    return result;
  }

 private:
  int share(int lanes) const { return std::max(1, options_.threads / lanes); }

  bool precedes(size_t a, size_t b) const { return before_->has(idx(heavy_[b]), a); }

  void find_regions() {
    const size_t n = steps_.size(), h = heavy_.size();
    before_ = std::make_unique<BitRows>(n, h);
    std::vector<int32_t> number(n, -1);
    for (size_t k = 0; k < h; ++k) number[idx(heavy_[k])] = static_cast<int32_t>(k);
    for (size_t i = 0; i < n; ++i) {
      for (int32_t b : steps_[i].before) {
        before_->merge(i, idx(b));
        if (number[idx(b)] >= 0) before_->set(i, idx(number[idx(b)]));
      }
    }
    std::vector<size_t> related(h, 0);
    for (size_t b = 0; b < h; ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (!precedes(a, b)) continue;
        ++related[a];
        ++related[b];
      }
    }
    Region open;
    for (size_t k = 0; k < h; ++k) {
      if (related[k] + 1 == h) {
        close(open);
      } else {
        open.push_back(k);
      }
    }
    close(open);
  }

  // Work that has to stay would run at the same time with the whole team.
  void close(Region& open) {
    const bool movable = std::all_of(open.begin(), open.end(), [this](size_t k) {
      return steps_[idx(heavy_[k])].movable;
    });
    if (open.size() > 1 && movable) regions_.push_back(open);
    open.clear();
  }

  // All regions on that many lanes, as far as it pays.
  Trial attempt(int lanes) {
    Trial t;
    for (const Region& region : regions_) {
      std::vector<int32_t>& chosen = t.lane.emplace_back();
      double alone = 0;
      for (size_t k : region) alone += time_(heavy_[k], options_.threads);
      std::vector<double> load(idx(lanes), 0);
      std::vector<int32_t> lane_of(region.size(), 0);
      const double beside = schedule(region, lanes, lane_of, load) + kHandOverUs;
      std::erase(load, 0.0);
      if (load.size() < 2) continue;
      const bool busy = *std::min_element(load.begin(), load.end()) >= kLaneUs;
      if (!options_.always && !(busy && beside < kClearGain * alone)) continue;
      chosen = std::move(lane_of);
      ++t.regions;
      t.alone_us += alone;
      t.beside_us += beside;
    }
    return t;
  }

  // Longest way to the end first, each on the lane where it is done soonest; returns when
  // the last one is.
  double schedule(const Region& region, int lanes, std::vector<int32_t>& lane_of,
                  std::vector<double>& load) {
    const size_t n = region.size();
    std::vector<double> takes(n), way(n), done(n, 0), free(idx(lanes), 0);
    for (size_t i = n; i-- > 0;) {
      takes[i] = std::max(time_(heavy_[region[i]], share(lanes)), 1e-3);
      for (size_t later = i + 1; later < n; ++later) {
        if (precedes(region[i], region[later])) way[i] = std::max(way[i], way[later]);
      }
      way[i] += takes[i];
    }
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return way[a] > way[b]; });
    double end = 0;
    std::vector<double> made(free.size());  // by lane: when all that it needs is done
    for (size_t k = 0; k < n; ++k) {
      const size_t i = order[k];
      std::fill(made.begin(), made.end(), 0);
      for (size_t j = 0; j < k; ++j) {
        if (!precedes(region[order[j]], region[i])) continue;
        double& latest = made[idx(lane_of[order[j]] - 1)];
        latest = std::max(latest, done[order[j]]);
      }
      size_t best = 0;
      double soonest = 0;
      for (size_t lane = 0; lane < free.size(); ++lane) {
        double start = free[lane];
        for (size_t from = 0; from < free.size(); ++from) {
          const bool waits = from != lane && made[from] > 0;
          start = std::max(start, made[from] + (waits ? kWaitUs : 0));
        }
        if (lane == 0 || start + takes[i] < soonest) {
          best = lane;
          soonest = start + takes[i];
        }
      }
      lane_of[i] = static_cast<int32_t>(best) + 1;
      done[i] = free[best] = soonest;
      load[best] += takes[i];
      end = std::max(end, soonest);
    }
    return end;
  }

  // Heavy steps as scheduled; lighter ones of a branch go with it, so that a lane is left
  // as seldom as possible.
  void assign(const Trial& trial, std::vector<int32_t>& lane) {
    const size_t n = steps_.size();
    std::vector<int32_t> region(n, -1);
    for (size_t r = 0; r < regions_.size(); ++r) {
      for (size_t k = 0; k < trial.lane[r].size(); ++k) {
        lane[idx(heavy_[regions_[r][k]])] = trial.lane[r][k];
        region[idx(heavy_[regions_[r][k]])] = static_cast<int32_t>(r);
      }
    }
    std::vector<int32_t> after(n, 0);  // regions before this one are over
    for (size_t i = 0; i < n; ++i) {
      int32_t of = -1, on = 0, over = 0;
      bool one = steps_[i].movable;
      for (int32_t b : steps_[i].before) {
        if (lane[idx(b)] > 0) {
          if (of < 0) {
            of = region[idx(b)];
            on = lane[idx(b)];
          }
          one = one && of == region[idx(b)] && on == lane[idx(b)];
        }
        over = std::max(over, lane[idx(b)] > 0 ? region[idx(b)] + 1 : after[idx(b)]);
      }
      // What waits for the main lane after the fork would only hold the lane up.
      for (int32_t b : steps_[i].before) {
        one = one && (lane[idx(b)] > 0 || after[idx(b)] <= of);
      }
      if (lane[i] == 0 && of >= 0 && one && steps_[i].work_us < kHeavyUs) {
        lane[i] = on;
        region[i] = of;
      }
      after[i] = over;
    }
  }

  const std::vector<BranchStep>& steps_;
  const BranchOptions& options_;
  StepTime time_;
  std::vector<int32_t> heavy_;
  std::unique_ptr<BitRows> before_;
  std::vector<Region> regions_;
};

}  // namespace

Branches find_branches(const std::vector<BranchStep>& steps, const BranchOptions& options,
                       StepTime time) {
  return Search(steps, options, time).run();
}

}  // namespace tandem
