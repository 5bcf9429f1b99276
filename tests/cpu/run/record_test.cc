// Records: what ran, on which lane, in order.
#include <algorithm>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

int64_t count(const std::vector<RecordedEvent>& events, const std::string& kind,
              const std::string& name) {
  return std::count_if(events.begin(), events.end(), [&](const RecordedEvent& e) {
    return e.kind == kind && e.name == name;
  });
}

TEST(Record, NothingIsKeptUnlessAsked) {
  const Tensor x = ones({4});
  start_recording();
  add(x, x);
  add(x, x);
  const std::vector<RecordedEvent> events = stop_recording();
  add(x, x);
  EXPECT_EQ(count(events, "op", "AddV2"), 2);
  start_recording();
  EXPECT_EQ(count(stop_recording(), "op", "AddV2"), 0);
}

ALONE_TEST(Record, OpsAndCopiesHaveLanes, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  Tensor x;
  {
    const DeviceScope cpu("/CPU:0");
    x = ones({1024});
  }
  start_recording();
  const DeviceScope gpu("/GPU:0");
  add(x, x).to_host();
  const std::vector<RecordedEvent> events = stop_recording();
  EXPECT_EQ(count(events, "op", "AddV2"), 1);
  EXPECT_EQ(count(events, "copy", "H2D"), 1);
  EXPECT_EQ(count(events, "copy", "D2H"), 1);
  EXPECT_TRUE(
      std::is_sorted(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; }));
  for (const RecordedEvent& e : events) {
    EXPECT_LE(e.begin, e.end);
    EXPECT_TRUE(e.name != "AddV2" || e.lane.find("GPU:0") != std::string::npos) << e.lane;
    EXPECT_TRUE(e.kind != "copy" || e.bytes == 4096) << e.name;
  }
  int64_t in_lanes = 0;
  for (const LaneSummary& lane : summarize(events)) in_lanes += lane.events;
  const auto work = std::count_if(
      events.begin(), events.end(),
      [](const RecordedEvent& e) { return e.kind == "op" || e.kind == "copy"; });
  EXPECT_EQ(in_lanes, work);
}

TEST(Record, BusyTimeCountsOverlapsOnce) {
  const std::vector<RecordedEvent> events{
      {"op", "a", "x", 0, 2, 1},       {"op", "b", "x", 1, 3, 2},
      {"copy", "c", "x", 1.5, 2.5, 4}, {"op", "d", "y", 2, 5, 8},
      {"wait", "w", "y", 5, 9, 0},     {"alloc", "m", "y", 5, 5, 64},
      {"copy", "e", "x", 6, 7, 16}};
  const std::vector<LaneSummary> lanes = summarize(events);
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].lane, "x");
  EXPECT_DOUBLE_EQ(lanes[0].busy, 4);
  EXPECT_EQ(lanes[0].events, 4);
  EXPECT_EQ(lanes[0].bytes, 20);  // copied
  EXPECT_DOUBLE_EQ(lanes[1].busy, 3);
  EXPECT_EQ(lanes[1].bytes, 0);
}

}  // namespace
}  // namespace tandem
