// Event files: framing, checksums, and the messages in them.
#include "io/event_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/record_file.h"
#include "io/summary_writer.h"
#include "support/temporary_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::vector<std::string> records_of(const std::string& path) {
  RecordReader reader(path);
  std::vector<std::string> records;
  std::string record;
  while (reader.read(record)) records.push_back(record);
  return records;
}

TEST(Wire, FieldsAreEncodedAsTheFormatSays) {
  WireMessage m;
  m.integer(1, 150);
  EXPECT_EQ(m.bytes(), "\x08\x96\x01");
  WireMessage negative;
  negative.integer(2, -1);
  EXPECT_EQ(negative.bytes(), std::string("\x10") + std::string(9, '\xff') + "\x01");
  WireMessage text;
  text.text(2, "testing");
  EXPECT_EQ(text.bytes(), "\x12\x07testing");
  WireMessage number;
  number.number(3, 1.0f);
  EXPECT_EQ(number.bytes(), std::string("\x1d\x00\x00\x80\x3f", 5));
  WireMessage outer;
  outer.message(20, m);
  EXPECT_EQ(outer.bytes(), "\xa2\x01\x03\x08\x96\x01");
}

TEST(EventFile, BeginsWithItsVersionAndKeepsOrder) {
  const TemporaryFolder folder;
  std::string path;
  {
    EventFile file(folder / "logs");
    path = file.path();
    for (int64_t step = 0; step < 30; ++step)
      file.add(step, 5, "summary " + std::to_string(step));
  }
  EXPECT_NE(path.find("/logs/events.out.tfevents."), std::string::npos);
  const std::vector<std::string> records = records_of(path);
  ASSERT_EQ(records.size(), 31u);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_TRUE(records[i].ends_with("summary " + std::to_string(i - 1)));
  }
}

TEST(EventFile, ReachesTheFileWhenTold) {
  const TemporaryFolder folder;
  EventFile file(folder / "logs", {.max_queue = 3, .flush_millis = 1'000'000'000});
  const auto count = [&] { return records_of(file.path()).size(); };
  EXPECT_EQ(count(), 1u);
  file.add(1, 5, "a");
  file.add(2, 5, "b");
  EXPECT_EQ(count(), 1u);
  file.flush();
  EXPECT_EQ(count(), 3u);
  for (int i = 0; i < 4; ++i) file.add(i, 5, "c");
  EXPECT_EQ(count(), 7u);
}

TEST(EventFile, FilesOfOneProcessDoNotMeet) {
  const TemporaryFolder folder;
  const EventFile a(folder / "logs"), b(folder / "logs");
  EXPECT_NE(a.path(), b.path());
}

TEST(EventFile, AnUnwritableFolderIsAnError) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(EventFile(folder / "file/logs"), Error);
}

TEST(SummaryWriter, TensorsAreMessages) {
  const WireMessage m = tensor_message(constant({1.f, 2.f}));
  // dtype float, shape [2], contents.
  EXPECT_EQ(
      m.bytes(),
      std::string("\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\x40", 18));
  EXPECT_EQ(tensor_message(constant("hi")).bytes(),
            std::string("\x08\x07\x12\0\x42\x02hi", 8));
}

}  // namespace
}  // namespace tandem
