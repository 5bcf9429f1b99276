#include "base/core_set.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

namespace tandem {
namespace {

CoreSet numbered(int count) {
  CoreSet set;
  // Numbers no machine has, so that no topology reorders them.
  for (int i = 0; i < count; ++i) set.cores.push_back(100000 + i);
  return set;
}

TEST(CoreSet, AvailableIsNotEmptyAndAscending) {
  const CoreSet all = available_cores();
  ASSERT_GE(all.size(), 1);
  EXPECT_TRUE(std::is_sorted(all.cores.begin(), all.cores.end()));
}

TEST(CoreSet, RespectsTheAffinityMask) {
  const CoreSet all = available_cores();
  std::thread([&] {
    bind_this_thread({{all.cores.back()}});
    EXPECT_EQ(available_cores().cores, std::vector<int>{all.cores.back()});
    EXPECT_EQ(sched_getcpu(), all.cores.back());
  }).join();
}

TEST(CoreSet, SplitIsDisjointAndEven) {
  const auto parts = split_cores(numbered(10), 3);
  ASSERT_EQ(parts.size(), 3u);
  std::set<int> seen;
  for (const CoreSet& part : parts) {
    EXPECT_GE(part.size(), 3);
    EXPECT_LE(part.size(), 4);
    seen.insert(part.cores.begin(), part.cores.end());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(CoreSet, SplitSharesWhenThereAreTooFew) {
  const auto parts = split_cores(numbered(2), 5);
  ASSERT_EQ(parts.size(), 5u);
  for (const CoreSet& part : parts) EXPECT_EQ(part.size(), 1);
  EXPECT_NE(parts[0].cores, parts[1].cores);
}

TEST(CoreSet, SplitOfTheMachineCoversIt) {
  const CoreSet all = available_cores();
  std::vector<int> joined;
  for (const CoreSet& part : split_cores(all, std::min(2, all.size()))) {
    joined.insert(joined.end(), part.cores.begin(), part.cores.end());
  }
  std::sort(joined.begin(), joined.end());
  EXPECT_EQ(joined, all.cores);
}

TEST(CoreSet, ClaimsLastAsLongAsTheLease) {
  const auto mine = [] {
    const auto claims = core_claims();
    return std::count_if(claims.begin(), claims.end(),
                         [](const CoreClaim& claim) { return claim.owner == "a test"; });
  };
  EXPECT_EQ(mine(), 0);
  {
    CoreLease lease("a test", {{0, 1}});
    EXPECT_EQ(lease.cores().size(), 2);
    EXPECT_EQ(mine(), 1);
  }
  EXPECT_EQ(mine(), 0);
}

TEST(CoreSet, ThreadNamesAreCutNotRefused) {
  std::thread([] {
    name_this_thread("a name of more than fifteen letters");
    char name[16];
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "a name of more ");
  }).join();
}

}  // namespace
}  // namespace tandem
