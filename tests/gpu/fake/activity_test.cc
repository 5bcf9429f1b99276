// Profiles with the GPU's own times, on the pretended GPU and its pretended CUPTI.

#include "base/json.h"
#include "device/capture_session.h"
#include "gpu/fake/gpu.h"
#include "support/xspace_reader.h"
#include "tandem/function.h"
#include "tandem/profile.h"

namespace tandem::testing {
namespace {

using nlohmann::json;
using FakeActivity = FakeGpuTest;

struct Trace {
  json events = json::array();         // with times
  std::map<int64_t, std::string> row;  // names by tid
  json notes = json::array();

  json of(const std::string& category) const {
    json found = json::array();
    for (const json& e : events) {
      if (e.at("cat") == category) found.push_back(e);
    }
    return found;
  }
  std::string row_of(const json& e) const { return row.at(e.at("tid").get<int64_t>()); }
};

Trace read(const Profile& profile) {
  Trace trace;
  const json all = json::parse(profile.chrome_trace());
  for (const json& e : all.at("traceEvents")) {
    if (e.at("ph") == "X") trace.events.push_back(e);
    if (e.at("name") == "thread_name") {
      trace.row[e.at("tid").get<int64_t>()] = e.at("args").at("name");
    }
  }
  if (all.contains("otherData")) trace.notes = all["otherData"]["notes"];
  return trace;
}

TEST_F(FakeActivity, AKernelHasTheGpusTimesAndTheNameOfItsOp) {
  const Tensor x = constant(Floats{1, 2, 3});
  (x + x).wait();
  start_profile();
  {
    const ProfileMark mark("around");
    (x + x).wait();
  }
  const Profile profile = stop_profile();
  const Trace trace = read(profile);
  const json kernels = trace.of("activity");
  ASSERT_EQ(kernels.size(), 1u) << trace.events;
  const json& k = kernels[0];
  EXPECT_EQ(k["args"]["op"], "AddV2");
  EXPECT_EQ(k["name"], "AddV2");
  EXPECT_NE(k["args"].value("kernel", ""), "") << k;
  EXPECT_EQ(trace.row_of(k), "compute");
  // CUPTI's clock is another one: its times lie where the host saw the work.
  const json mark = trace.of("mark").at(0);
  EXPECT_GE(k["ts"].get<double>(), mark["ts"].get<double>() - 1000);
  EXPECT_LE(k["ts"].get<double>() + k["dur"].get<double>(),
            mark["ts"].get<double>() + mark["dur"].get<double>() + 1000);
  // What the host did has a row of its own.
  const json ops = trace.of("op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(trace.row_of(ops[0]), "enqueued on compute");
  EXPECT_TRUE(trace.notes.empty()) << trace.notes;
  // TensorBoard ties the kernel to the mark by its launch.
  const auto space = read_space(profile.xspace());
  const SpacePlane& host = space.at("/host:CPU");
  const auto launches = host.named("launch AddV2");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_TRUE(host.named("around").at(0).holds(launches[0]));
  const SpacePlane& plane = space.at("/device:GPU:0");
  const SpaceEvent work = plane.named(k["args"]["kernel"].get<std::string>()).at(0);
  EXPECT_EQ(work.values.at("tf_op"), "AddV2:AddV2");
  EXPECT_EQ(work.values.at("correlation_id"), launches[0].values.at("correlation_id"));
  EXPECT_TRUE(work.values.at("kernel_details").starts_with("grid:"));
}

TEST_F(FakeActivity, CopiesHaveTheirStreams) {
  start_profile();
  const Tensor x = constant(Floats(1000, 1.0f)) + 1.0f;
  x.to_vector<float>();
  const Trace trace = read(stop_profile());
  size_t in = 0, out = 0;
  for (const json& e : trace.of("activity")) {
    if (e["name"] == "copy to the GPU" && e["args"]["bytes"] == 4000) {
      ++in;
      EXPECT_EQ(trace.row_of(e), "copy_in");
    }
    if (e["name"] == "copy from the GPU") {
      ++out;
      EXPECT_EQ(trace.row_of(e), "copy_out");
      EXPECT_EQ(e["args"]["bytes"], 4000);
    }
  }
  EXPECT_EQ(in, 1u) << trace.events;
  EXPECT_EQ(out, 1u);
}

// The graph was made when nobody recorded: its nodes get their names all the same, with
// the addresses that its copies have by then.
TEST_F(FakeActivity, CapturedKernelsHaveTheNamesOfTheirSteps) {
  const auto step = function([](Tensor x, Tensor y) {
    return std::vector<Tensor>{matmul(x, y), nn::softmax(x), transpose(y)};
  });
  const Tensor a = ones({5, 5}), b = ones({5, 5});
  step(a, b)[0].wait();
  step(b, a)[0].wait();
  const int made = fake::graphs_instantiated();
  for (int recording = 0; recording < 2; ++recording) {
    start_profile();
    for (int call = 0; call < 3; ++call) step(a, b)[0].wait();
    const Trace trace = read(stop_profile());
    std::map<std::string, size_t> kernels;
    for (const json& e : trace.of("activity")) {
      ASSERT_TRUE(e["args"].contains("op")) << e;
      ASSERT_TRUE(e["args"].contains("node")) << e;
      ++kernels[e["args"]["op"].get<std::string>()];
    }
    EXPECT_EQ(kernels["MatMul"], 3u);
    EXPECT_GE(kernels["Softmax"], 3u);
    EXPECT_EQ(kernels["Transpose"], 3u);
    EXPECT_EQ(trace.of("plan").size(), 3u);
    // Made once more for the first recording, and not again for the second.
    EXPECT_EQ(fake::graphs_instantiated(), made + 1);
  }
}

// Lines are slow to find: nobody asks for them before the step is recorded.
TEST_F(FakeActivity, ACapturedStepIsAskedForItsLineWhenItIsRecorded) {
  const Allocation a = gpu->allocator().allocate(8, &gpu->compute());
  int asked = 0;
  const auto captured = gpu->compute().capture([&](const StreamContext&) {
    CaptureSession& session = *CaptureSession::current();
    session.begin({}, {"Named", nullptr, "block/Named float32[1]"}, [&asked] {
      ++asked;
      return "program.cc:7";
    });
    session.copy(a.address, static_cast<std::byte*>(a.address) + 4, 4);
    session.end();
  });
  captured->launch().host_wait();
  EXPECT_EQ(asked, 0);
  for (int recording = 0; recording < 2; ++recording) {
    start_profile();
    captured->launch().host_wait();
    const json work = read(stop_profile()).of("activity");
    ASSERT_EQ(work.size(), 1u);
    EXPECT_EQ(work[0]["name"], "Named");
    EXPECT_EQ(work[0]["args"]["source"], "program.cc:7");
    EXPECT_EQ(work[0]["args"]["node"], "block/Named float32[1]");
    EXPECT_EQ(work[0]["args"]["kernel"], "copy");
  }
  EXPECT_EQ(asked, 1);
  gpu->allocator().free(a, {});
}

TEST_F(FakeActivity, AnInstantiationForARecordingKeepsTheAddressesOfCopies) {
  const auto id = function([](Tensor x) { return std::vector<Tensor>{x + 0.0f, x}; });
  const Tensor a = constant(Floats{1, 2, 3, 4}), b = constant(Floats{5, 6, 7, 8});
  const DeviceScope scope("/GPU:0");
  EXPECT_EQ(floats(id(a)[1]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats(id(b)[1]), (Floats{5, 6, 7, 8}));
  start_profile();
  const Floats second = floats(id(b)[1]), first = floats(id(a)[1]);
  stop_profile();
  EXPECT_EQ(second, (Floats{5, 6, 7, 8}));
  EXPECT_EQ(first, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats(id(b)[1]), (Floats{5, 6, 7, 8}));
}

// The same in recordings of events: the GPU's work is what counts, the host's is apart.
TEST_F(FakeActivity, RecordedEventsHaveTheGpusTimes) {
  const auto step = function([](Tensor x) { return nn::softmax(x) + x; });
  const Tensor x = ones({3, 4});
  step(x).wait();
  start_recording();
  step(x).wait();
  x.to_vector<float>();
  const std::vector<RecordedEvent> events = stop_recording();
  size_t softmax = 0, out = 0;
  for (const RecordedEvent& e : events) {
    softmax += e.kind == "op" && e.name == "Softmax" && e.lane == "GPU:0/compute";
    out += e.kind == "copy" && e.lane == "GPU:0/copy_out" && e.bytes == 48;
    EXPECT_GE(e.end, e.begin);
    EXPECT_GE(e.begin, 0);
  }
  EXPECT_GE(softmax, 1u);
  EXPECT_EQ(out, 1u);
}

TEST_F(FakeActivity, WithoutCuptiAProfileSaysWhyItHasNoKernels) {
  fake::refuse_activity(true);
  start_profile();
  (constant(Floats{1, 2}) + 1.0f).wait();
  const Profile profile = stop_profile();
  fake::refuse_activity(false);
  const Trace trace = read(profile);
  EXPECT_TRUE(trace.of("activity").empty());
  const json ops = trace.of("op");
  ASSERT_GE(ops.size(), 1u);
  EXPECT_EQ(trace.row_of(ops.back()), "compute");
  ASSERT_EQ(trace.notes.size(), 1u);
  EXPECT_EQ(trace.notes[0],
            "times of GPU work are those at which it was enqueued: CUPTI does not record "
            "kernels: CUPTI_ERROR_PRETENDED");
  EXPECT_NE(profile.xspace().find("CUPTI does not record"), std::string::npos);
  // The next one is as if nothing had been.
  start_profile();
  (constant(Floats{1, 2}) + 1.0f).wait();
  EXPECT_FALSE(read(stop_profile()).of("activity").empty());
}

// A recording that begins before the GPU has been used.
ALONE_TEST(FakeActivityAlone, TheFirstUseOfAGpuIsInTheRecording, {}) {
  start_profile();
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  (constant(Floats{1, 2, 3}) + 1.0f).wait();
  const Trace trace = read(stop_profile());
  size_t adds = 0;
  for (const json& e : trace.of("activity")) adds += e["args"].value("op", "") == "AddV2";
  EXPECT_EQ(adds, 1u) << trace.events;
}

}  // namespace
}  // namespace tandem::testing
