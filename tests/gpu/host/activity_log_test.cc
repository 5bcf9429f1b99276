// CUPTI's records put together: names of ops, rows and times, from records that the test
// makes up.
#include "device/cuda/activity_log.h"

#include <gtest/gtest.h>

#include "base/recorder.h"

namespace tandem::cuda {
namespace {

template <class Record>
void add(ActivityLog& log, const Record& record) {
  log.add(reinterpret_cast<const CUpti_Activity&>(record));
}

CUpti_ActivityKernel10 kernel(const char* name, uint64_t start, uint64_t end) {
  CUpti_ActivityKernel10 k{};
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.name = name;
  k.start = start;
  k.end = end;
  k.streamId = 7;
  k.gridX = 12;
  k.gridY = k.gridZ = 1;
  k.blockX = 256;
  k.blockY = k.blockZ = 1;
  k.registersPerThread = 40;
  k.staticSharedMemory = 1024;
  k.dynamicSharedMemory = 512;
  return k;
}
CUpti_ActivityExternalCorrelation pushed(uint32_t correlation, uint64_t id) {
  CUpti_ActivityExternalCorrelation e{};
  e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  e.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  e.correlationId = correlation;
  e.externalId = id;
  return e;
}

std::vector<recorder::Event> reported(const ActivityLog& log, const Clock& clock) {
  recorder::start();
  EXPECT_EQ(log.report(clock), log.work().size());
  recorder::stop();
  return recorder::collect();
}

constexpr Clock kSame{{0, 0}, {1'000'000, 1'000'000}};

TEST(ActivityLog, AKernelsValues) {
  ActivityLog log;
  log.add_stream(0, 7, "GPU:0/compute");
  add(log, kernel("_Z3sumPfi", 100, 250));
  const auto events = reported(log, kSame);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, recorder::Kind::kActivity);
  EXPECT_STREQ(events[0].name, "sum(float*, int)");
  EXPECT_STREQ(events[0].lane, "GPU:0/compute");
  EXPECT_EQ(events[0].begin_ns, 100);
  EXPECT_EQ(events[0].end_ns, 250);
  EXPECT_STREQ(events[0].detail,
               "grid=12,1,1\nblock=256,1,1\nregisters=40\nshared=1536\n");
}

// The name of a launch may come before or after the kernel, in another buffer.
TEST(ActivityLog, LaunchesHaveTheOpThatWasPushed) {
  ActivityLog log;
  auto first = kernel("any", 1, 2), second = kernel("any", 3, 4), third = second;
  first.correlationId = 10;
  second.correlationId = 11;
  third.correlationId = 12;
  third.start = 5;
  third.end = 6;
  add(log, pushed(10, 1));
  add(log, first);
  add(log, second);
  add(log, third);
  add(log, pushed(11, 2));
  log.add_label(1, {"AddV2", "train.py:3", nullptr});
  log.add_label(2, {"Mul", nullptr, nullptr});
  const auto events = reported(log, kSame);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(events[0].name, "AddV2");
  EXPECT_TRUE(std::string(events[0].detail)
                  .starts_with("op=AddV2\nkernel=any\nsource=train.py:3\n"));
  EXPECT_STREQ(events[1].name, "Mul");
  EXPECT_TRUE(std::string(events[1].detail).starts_with("op=Mul\nkernel=any\ngrid="));
  EXPECT_STREQ(events[2].name, "any");
  EXPECT_EQ(events[0].more.number, 1u);
  EXPECT_EQ(events[1].more.number, 2u);
  EXPECT_EQ(events[2].more.number, 0u);
}

// A captured kernel is of the step of its node, whatever was pushed around the launch of
// the graph; a node nobody knows is of the launch.
TEST(ActivityLog, CapturedKernelsHaveTheStepOfTheirNode) {
  ActivityLog log;
  auto known = kernel("vectors", 1, 2), unknown = kernel("vectors", 3, 4);
  known.correlationId = unknown.correlationId = 5;
  known.graphNodeId = 70;
  unknown.graphNodeId = 71;
  add(log, pushed(5, 1));
  add(log, known);
  add(log, unknown);
  log.add_label(1, {"captured step", nullptr, nullptr});
  log.add_node(70, {"Softmax", "model.py:9", "block/Softmax float32[2]"});
  EXPECT_STREQ(log.label_of(log.work()[0]).name, "Softmax");
  EXPECT_STREQ(log.label_of(log.work()[1]).name, "captured step");
}

TEST(ActivityLog, CopiesAndFills) {
  ActivityLog log;
  log.add_device(0, "GPU:0");
  log.add_device(0, "GPU:1");  // a second logical device of the same GPU
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.start = 1;
  copy.end = 2;
  copy.bytes = 4096;
  copy.streamId = 9;
  add(log, copy);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  add(log, copy);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  add(log, copy);
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.start = 1;
  peer.end = 2;
  peer.bytes = 7;
  peer.deviceId = 3;
  add(log, peer);
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.start = 1;
  fill.end = 2;
  fill.bytes = 64;
  add(log, fill);
  ASSERT_EQ(log.work().size(), 5u);
  const char* const names[] = {"copy to the GPU", "copy from the GPU", "copy on the GPU",
                               "copy between GPUs", "fill"};
  for (size_t i = 0; i < 5; ++i) EXPECT_STREQ(log.work()[i].name, names[i]);
  EXPECT_EQ(log.work()[0].bytes, 4096);
  EXPECT_EQ(log.work()[3].bytes, 7);
  EXPECT_EQ(log.lane_of(log.work()[0]), "GPU:0/stream 9");
  EXPECT_EQ(log.lane_of(log.work()[3]), "GPU of CUDA 3/stream 0");
}

TEST(ActivityLog, WhatNeverRanAndOtherKindsAreLeftOut) {
  ActivityLog log;
  add(log, kernel("kept", 1, 2));
  add(log, kernel("never ran", 0, 0));
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.start = 1;
  call.end = 2;
  add(log, call);
  ASSERT_EQ(log.work().size(), 1u);
  EXPECT_STREQ(log.work()[0].name, "kept");
}

TEST(ActivityLog, TimesOfAnotherClock) {
  // It is far ahead at the start, and 1 µs slower over the second that was recorded.
  constexpr int64_t kAhead = 1'700'000'000'000'000'000;
  const Clock clock{{kAhead + 1000, 1000}, {kAhead + 999'999'000 + 1000, 1'000'001'000}};
  EXPECT_EQ(clock.host(kAhead + 1000), 1000);
  EXPECT_EQ(clock.host(kAhead + 999'999'000 + 1000), 1'000'001'000);
  const int64_t middle = clock.host(kAhead + 1000 + 999'999'000 / 2);
  EXPECT_NEAR(static_cast<double>(middle), 500'001'000.0, 2.0);
  // A recording of no length has one offset.
  const Clock point{{50, 10}, {50, 10}};
  EXPECT_EQ(point.host(60), 20);
}

}  // namespace
}  // namespace tandem::cuda
