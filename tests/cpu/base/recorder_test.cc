#include "base/recorder.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tandem::recorder {
namespace {

int64_t count_named(const std::string& name) {
  const auto events = collect();
  return std::count_if(events.begin(), events.end(),
                       [&](const Event& event) { return name == event.name; });
}

TEST(Recorder, OffMeansNothing) {
  start();
  stop();
  EXPECT_FALSE(enabled());
  record(Kind::kOp, "off", "lane", 1, 2, 3);
  EXPECT_EQ(count_named("off"), 0);
}

TEST(Recorder, KeepsEventsOfAllThreadsInOrder) {
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 1000; ++i) {
        record(Kind::kOp, "many", "lane", i * 4 + t, i * 4 + t + 1, 8);
      }
    });
  }
  for (auto& thread : threads) thread.join();  // their events must outlive them
  stop();
  const auto events = collect();
  ASSERT_EQ(events.size(), 4000u);
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].begin_ns, static_cast<int64_t>(i));
    EXPECT_EQ(events[i].bytes, 8);
    ids.push_back(events[i].thread);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(ids.size(), 4u);
}

TEST(Recorder, StartForgets) {
  start();
  record(Kind::kMark, "old", "lane", 1, 1, 0);
  EXPECT_EQ(count_named("old"), 1);
  start();
  EXPECT_EQ(count_named("old"), 0);
  stop();
}

TEST(Recorder, MayBeReadWhileItRuns) {
  start();
  std::thread writer([] {
    for (int i = 0; i < 20000; ++i) record(Kind::kOp, "busy", "lane", i, i, 0);
  });
  int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    const int64_t now = count_named("busy");
    EXPECT_GE(now, before);
    before = now;
  }
  writer.join();
  stop();
  EXPECT_EQ(count_named("busy"), 20000);
}

TEST(Recorder, InternedNamesAreOneString) {
  const char* first = intern(std::string("GPU:0/compute"));
  EXPECT_EQ(first, intern("GPU:0/compute"));
  EXPECT_STREQ(first, "GPU:0/compute");
}

}  // namespace
}  // namespace tandem::recorder
