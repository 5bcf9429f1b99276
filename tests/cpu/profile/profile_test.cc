// Profiles: marks, ops and their lanes in both kinds of files.
#include "tandem/profile.h"

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/recorder.h"
#include "base/recording_source.h"
#include "support/alone.h"
#include "support/temporary_folder.h"
#include "tandem/device.h"
#include "tandem/error.h"
#include "tandem/ops.h"

namespace tandem {
namespace {

using nlohmann::json;

json events_named(const Profile& profile, const std::string& name) {
  json found = json::array();
  const json trace = json::parse(profile.chrome_trace());
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("name") == name && e.at("ph") == "X") found.push_back(e);
  }
  return found;
}

TEST(Profile, OneAtATime) {
  EXPECT_THROW(stop_profile(), UnavailableError);
  EXPECT_FALSE(profiling());
  start_profile();
  EXPECT_TRUE(profiling());
  EXPECT_THROW(start_profile(), AlreadyExistsError);
  EXPECT_EQ(stop_profile().events(), 0u);
  EXPECT_THROW(stop_profile(), UnavailableError);
}

TEST(Profile, MarksAndOpsAreInTheTrace) {
  const Tensor x = ones({8, 8});
  {
    const ProfileMark before("not recorded");
  }
  start_profile();
  {
    ProfileMark step("train", {{"step_num", "3"}, {"note", "a \"quoted\" text"}});
    const char* previous = recorder::set_site("program.cc:12");
    matmul(x, x);
    recorder::set_site(previous);
    step.add({{"loss", "0.5"}});
  }
  const Profile profile = stop_profile();
  matmul(x, x);
  const json marks = events_named(profile, "train");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0]["args"],
            json({{"step_num", 3}, {"note", "a \"quoted\" text"}, {"loss", "0.5"}}));
  const json ops = events_named(profile, "MatMul");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["args"]["source"], "program.cc:12");
  EXPECT_EQ(ops[0]["cat"], "op");
  // The op lies within the mark.
  EXPECT_GE(ops[0]["ts"], marks[0]["ts"]);
  EXPECT_LE(ops[0]["ts"].get<double>() + ops[0]["dur"].get<double>(),
            marks[0]["ts"].get<double>() + marks[0]["dur"].get<double>());
  EXPECT_TRUE(events_named(profile, "not recorded").empty());
  const std::string space = profile.xspace();
  for (const char* name : {"train", "step_num", "MatMul", "/host:CPU", "program.cc:12"}) {
    EXPECT_NE(space.find(name), std::string::npos) << name;
  }
}

TEST(Profile, ThreadsHaveRowsOfTheirOwn) {
  start_profile();
  const auto work = [] {
    const ProfileMark mark("work");
    add(ones({4}), ones({4}));
  };
  std::thread(work).join();
  work();
  const Profile profile = stop_profile();
  const json marks = events_named(profile, "work");
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_NE(marks[0]["tid"], marks[1]["tid"]);
}

ALONE_TEST(Profile, DevicesAndCopiesHaveLanes, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  Tensor x;
  {
    const DeviceScope cpu("/CPU:0");
    x = ones({64, 64});
  }
  start_profile();
  {
    const DeviceScope gpu("/GPU:0");
    matmul(x, x);  // nobody waits: stopping does
  }
  const Profile profile = stop_profile();
  const json copies = events_named(profile, "H2D");
  ASSERT_GE(copies.size(), 1u);
  EXPECT_EQ(copies[0]["args"]["bytes"], 64 * 64 * 4);
  const json ops = events_named(profile, "MatMul");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["pid"], copies[0]["pid"]);
  EXPECT_NE(ops[0]["tid"], copies[0]["tid"]);
  EXPECT_NE(profile.xspace().find("/device:GPU:0"), std::string::npos);
}

// A device that says itself what it did: rows that nest, and the host's side apart.
TEST(Profile, ActivitiesOfADeviceHaveTheStreamsRows) {
  struct Pretended final : recorder::Source {
    void start() override { ++starts; }
    std::string stop() override {
      if (!at) return {};
      using recorder::Kind;
      const auto add = [this](const char* name, int64_t begin, int64_t end) {
        recorder::record(Kind::kActivity, name, "NPU:0/compute", at + begin, at + end, 0,
                         "op=Add\nregisters=32\n");
      };
      recorder::record(Kind::kOp, "Add", "NPU:0/compute", at, at + 5, 0, "program.cc:3");
      add("first", 10, 50);
      add("second", 30, 60);  // runs beside the first
      add("third", 55, 70);
      return "half of it is missing: it was pretended";
    }
    int starts = 0;
    int64_t at = 0;
  };
  static Pretended source;
  recorder::add_source(&source);
  source.at = recorder::now_ns() + 1'000'000;
  start_profile();
  EXPECT_EQ(source.starts, 1);
  const Profile profile = stop_profile();
  source.at = 0;  // silent from now on
  const json trace = json::parse(profile.chrome_trace());
  std::map<int64_t, std::string> rows;
  std::map<std::string, std::string> row_of;
  for (const json& e : trace.at("traceEvents")) {
    if (e["name"] == "thread_name") rows[e["tid"].get<int64_t>()] = e["args"]["name"];
  }
  for (const json& e : trace.at("traceEvents")) {
    if (e["ph"] == "X") {
      row_of[e["name"].get<std::string>()] = rows.at(e["tid"].get<int64_t>());
    }
  }
  EXPECT_EQ(row_of["first"], "compute");
  EXPECT_EQ(row_of["second"], "compute (2)");
  EXPECT_EQ(row_of["third"], "compute");
  EXPECT_EQ(row_of["Add"], "enqueued on compute");
  const json first = events_named(profile, "first");
  EXPECT_EQ(first[0]["args"], json({{"op", "Add"}, {"registers", 32}}));
  EXPECT_EQ(first[0]["cat"], "activity");
  EXPECT_EQ(trace.at("otherData").at("notes"),
            json({"half of it is missing: it was pretended"}));
  EXPECT_NE(profile.xspace().find("half of it is missing"), std::string::npos);
}

TEST(Profile, FilesLieWhereTensorBoardLooks) {
  const TemporaryFolder folder;
  start_profile();
  {
    const ProfileMark mark("step");
  }
  const Profile profile = stop_profile();
  const std::string first = profile.write(folder.path().string());
  const std::string second = profile.write(folder.path().string());
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.starts_with(folder / "plugins/profile/"));
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(first)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name.ends_with(".xplane.pb") || name.ends_with(".trace.json")) << name;
    EXPECT_NE(read_whole_file(entry.path().string()).find("step"), std::string::npos);
    ++count;
  }
  EXPECT_EQ(count, 2u);
}

}  // namespace
}  // namespace tandem
