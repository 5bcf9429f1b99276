#include "device/emulated/emulated_stream.h"

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/recorder.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

EmulatedStream::Options named(const char* lane, size_t capacity = 1024) {
  EmulatedStream::Options options;
  options.lane = lane;
  options.capacity = capacity;
  return options;
}

/// A task that ends when the test lets it.
class Gate {
 public:
  StreamTask task() {
    return [this](const StreamContext&) {
      entered_.set_value();
      open_.get_future().wait();
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> entered_, open_;
};

TEST(EmulatedStream, RunsTasksInOrderOnItsOwnThread) {
  EmulatedStream stream(named("s"));
  std::vector<int> order;
  const auto caller = std::this_thread::get_id();
  TimePoint last;
  for (int i = 0; i < 100; ++i) {
    last = stream.submit([&, i](const StreamContext& context) {
      EXPECT_NE(std::this_thread::get_id(), caller);
      EXPECT_STREQ(context.lane, "s");
      EXPECT_TRUE(on_stream_thread);
      order.push_back(i);
    });
    EXPECT_EQ(last.sequence, static_cast<uint64_t>(i + 1));
  }
  last.host_wait();
  EXPECT_TRUE(last.passed());
  EXPECT_EQ(stream.now(), last);
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_FALSE(stream.inline_execution());
}

TEST(EmulatedStream, DoesNotBlockTheCaller) {
  EmulatedStream stream(named("s"));
  Gate gate;
  const TimePoint point = stream.submit(gate.task());
  gate.wait_until_entered();
  EXPECT_FALSE(point.passed());
  EXPECT_FALSE(stream.now().passed());
  gate.open();
  point.host_wait();
  EXPECT_TRUE(point.passed());
}

TEST(EmulatedStream, AForkedProcessIsRefusedAndWaitsForNothing) {
  EmulatedStream stream(named("s"));
  Gate gate;
  const TimePoint point = stream.submit(gate.task());
  gate.wait_until_entered();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a wait that never ends is a failure, not a test that hangs
    bool refused = false;
    point.host_wait();
    try {
      stream.submit([](const StreamContext&) {});
    } catch (const UnavailableError&) {
      refused = true;
    }
    stream.shutdown();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  gate.open();
  point.host_wait();
}

TEST(EmulatedStream, WaitsForAnotherStream) {
  EmulatedStream first(named("first")), second(named("second"));
  Gate gate;
  int value = 0;
  first.submit(gate.task());
  const TimePoint written = first.submit([&](const StreamContext&) { value = 1; });
  second.wait(written);
  int seen = 0;
  const TimePoint read = second.submit([&](const StreamContext&) { seen = value; });
  gate.wait_until_entered();
  EXPECT_FALSE(read.passed());
  gate.open();
  read.host_wait();
  EXPECT_EQ(seen, 1);
}

TEST(EmulatedStream, WaitingForThePastOrItselfIsFree) {
  EmulatedStream first(named("first")), second(named("second"));
  const TimePoint past = first.submit([](const StreamContext&) {});
  past.host_wait();
  second.wait(past);
  second.wait({});
  second.wait(second.now());
  EXPECT_EQ(second.now().sequence, 0u);
}

TEST(EmulatedStream, PingPongBetweenStreamsKeepsOrder) {
  EmulatedStream streams[] = {EmulatedStream(named("a")), EmulatedStream(named("b"))};
  int64_t value = 0;  // written by both, ordered by the waits alone
  TimePoint last;
  for (int i = 0; i < 500; ++i) {
    EmulatedStream& stream = streams[i % 2];
    stream.wait(last);
    last =
        stream.submit([&, i](const StreamContext&) { value = value * 3 % 1000003 + i; });
  }
  last.host_wait();
  int64_t expected = 0;
  for (int i = 0; i < 500; ++i) expected = expected * 3 % 1000003 + i;
  EXPECT_EQ(value, expected);
}

TEST(EmulatedStream, KeepsTheFirstErrorOnce) {
  EmulatedStream stream(named("s"));
  bool ran_after = false;
  stream.submit([](const StreamContext&) { throw InvalidArgumentError("first"); });
  stream.submit([](const StreamContext&) { throw NotFoundError("second"); });
  stream.submit([&](const StreamContext&) { ran_after = true; }).host_wait();
  EXPECT_TRUE(ran_after);
  const auto error = stream.take_error();
  ASSERT_TRUE(error);
  EXPECT_ERROR(std::rethrow_exception(error), InvalidArgumentError, "first");
  EXPECT_FALSE(stream.take_error());
  stream.submit([](const StreamContext&) { throw AbortedError("later"); }).host_wait();
  EXPECT_TRUE(stream.take_error());
}

TEST(EmulatedStream, SubmitBlocksWhileTheQueueIsFull) {
  EmulatedStream stream(named("s", 4));
  Gate gate;
  stream.submit(gate.task());
  gate.wait_until_entered();
  for (int i = 0; i < 4; ++i) stream.submit([](const StreamContext&) {});
  std::atomic<bool> submitted{false};
  std::thread blocked([&] {
    stream.submit([](const StreamContext&) {});
    submitted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(submitted);
  EXPECT_EQ(stream.now().sequence, 5u);
  gate.open();
  blocked.join();
  EXPECT_TRUE(submitted);
}

TEST(EmulatedStream, ATaskMaySubmitToItsOwnFullStream) {
  EmulatedStream stream(named("s", 1));
  std::atomic<int> ran{0};
  Gate gate;
  stream.submit(gate.task());
  gate.wait_until_entered();
  stream.submit([&](const StreamContext&) {
    for (int i = 0; i < 3; ++i) stream.submit([&](const StreamContext&) { ++ran; });
  });
  gate.open();
  while (stream.now().sequence < 5) std::this_thread::yield();
  stream.now().host_wait();
  EXPECT_EQ(ran, 3);
}

TEST(EmulatedStream, ShutdownDrainsAndRefusesMore) {
  EmulatedStream stream(named("s"));
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) stream.submit([&](const StreamContext&) { ++ran; });
  const TimePoint last = stream.now();
  stream.shutdown();
  EXPECT_EQ(ran, 100);
  EXPECT_TRUE(last.passed());
  EXPECT_ERROR(stream.submit([](const StreamContext&) {}), CancelledError,
               "takes no more work");
  stream.shutdown();  // again is fine
}

TEST(EmulatedStream, ShutdownWakesABlockedSubmitter) {
  EmulatedStream stream(named("s", 1));
  Gate gate;
  stream.submit(gate.task());
  gate.wait_until_entered();
  stream.submit([](const StreamContext&) {});
  std::promise<void> cancelled;
  std::thread blocked([&] {
    try {
      stream.submit([](const StreamContext&) {});
    } catch (const CancelledError&) {
      cancelled.set_value();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::thread stopper([&] { stream.shutdown(); });
  cancelled.get_future().wait();  // before the gate opens: woken by the shutdown
  gate.open();
  stopper.join();
  blocked.join();
}

TEST(EmulatedStream, WaitingForRoomIsInterrupted) {
  EmulatedStream stream(named("s", 1));
  Gate gate;
  stream.submit(gate.task());
  gate.wait_until_entered();
  stream.submit([](const StreamContext&) {});
  struct Interrupted {};
  {
    const InterruptScope scope([](void*) { throw Interrupted(); });
    EXPECT_THROW(stream.make_room(), Interrupted);
  }
  gate.open();
  stream.make_room();  // nobody listens: it waits
  stream.submit([](const StreamContext&) {}).host_wait();
}

TEST(EmulatedStream, ShutdownDropsWhatTakesTooLong) {
  EmulatedStream stream(named("s"));
  Gate gate;
  stream.submit(gate.task());
  gate.wait_until_entered();
  bool ran = false;
  // The first task ends when the second one is dropped.
  stream.submit([&ran, opens = std::shared_ptr<Gate>(&gate, [](Gate* g) { g->open(); })](
                    const StreamContext&) { ran = true; });
  const TimePoint last = stream.now();
  stream.shutdown();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(last.passed());
}

TEST(EmulatedStream, WhatATaskHoldsIsGoneWhenItHasPassed) {
  EmulatedStream stream(named("s"));
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  stream.submit([held = std::move(held)](const StreamContext&) {}).host_wait();
  EXPECT_TRUE(watch.expired());
}

TEST(EmulatedStream, ManyThreadsSubmitAndWait) {
  EmulatedStream streams[] = {EmulatedStream(named("a", 16)),
                              EmulatedStream(named("b", 16))};
  int64_t counts[2] = {0, 0};  // each touched by its stream alone
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const int mine = (t + i) % 2;
        streams[mine].wait(streams[1 - mine].now());
        const TimePoint point =
            streams[mine].submit([&, mine](const StreamContext&) { ++counts[mine]; });
        if (i % 10 == 0) point.host_wait();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& stream : streams) stream.now().host_wait();
  EXPECT_EQ(counts[0] + counts[1], 1200);
}

TEST(EmulatedStream, HostWaitsAreRecorded) {
  EmulatedStream stream(named("recorded"));
  Gate gate;
  recorder::start();
  const TimePoint point = stream.submit(gate.task());
  gate.wait_until_entered();
  std::thread waiter([&] { point.host_wait(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  gate.open();
  waiter.join();
  recorder::stop();
  size_t waits = 0, launches = 0;
  for (const auto& event : recorder::collect()) {
    waits += event.kind == recorder::Kind::kWait;
    launches += event.kind == recorder::Kind::kLaunch;
    EXPECT_STREQ(event.lane, "recorded");
  }
  EXPECT_LE(waits, 1u);
  EXPECT_EQ(launches, 1u);
}

// An op has the number of the launch that brought it to the stream; what was launched
// while nobody recorded has none.
TEST(EmulatedStream, WorkHasTheNumberOfItsLaunch) {
  EmulatedStream stream(named("launched"));
  const auto op = [](const StreamContext& context) {
    const int64_t now = recorder::now_ns();
    recorder::record(recorder::Kind::kOp, "Add", context.lane, now, now, 0);
  };
  stream.submit(op).host_wait();
  recorder::start();
  stream.submit(op);
  stream.submit(op).host_wait();
  recorder::stop();
  std::map<uint64_t, int> launches, ops;
  for (const auto& event : recorder::collect()) {
    if (event.kind == recorder::Kind::kLaunch) ++launches[event.more.number];
    if (event.kind == recorder::Kind::kOp) ++ops[event.more.number];
  }
  EXPECT_EQ(launches.size(), 2u);
  EXPECT_EQ(ops, launches);
  EXPECT_FALSE(ops.contains(0));
}

}  // namespace
}  // namespace tandem
