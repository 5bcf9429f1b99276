// Checkpoints: what is written comes back, and nothing that is damaged is believed.
#include "tandem/checkpoint.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "io/checkpoint_format.h"
#include "support/temporary_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

std::vector<NamedTensor> some_tensors() {
  return {
      {"b/weights", constant(std::vector<float>{1.5f, -2, 3, 4, 5, 6}, {2, 3})},
      {"a/step", constant(int64_t{7})},
      {"names", constant(std::vector<std::string>{"", std::string("\0\xff", 2), "x"})},
      {"half", constant(std::vector<bfloat16>{bfloat16(0.5f), bfloat16(-2.0f)}, {2})},
      {"flag", constant(std::vector<bool>{true, false})},
      {"empty", constant(std::vector<double>{}, {0, 4})}};
}

void expect_same(const CheckpointReader& reader) {
  EXPECT_EQ(reader.read("b/weights").to_vector<float>(),
            (std::vector<float>{1.5f, -2, 3, 4, 5, 6}));
  EXPECT_EQ(reader.read("b/weights").shape(), (Shape{2, 3}));
  EXPECT_EQ(reader.read("a/step").item<int64_t>(), 7);
  EXPECT_EQ(reader.read("names").to_vector<std::string>(),
            (std::vector<std::string>{"", std::string("\0\xff", 2), "x"}));
  EXPECT_EQ(static_cast<float>(reader.read("half").to_vector<bfloat16>()[1]), -2.0f);
  EXPECT_EQ(reader.read("flag").to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(reader.read("empty").shape(), (Shape{0, 4}));
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

TEST(Checkpoint, ComesBack) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "new/ck-1", some_tensors());
  const CheckpointReader reader(folder / "new/ck-1");
  expect_same(reader);
  std::vector<std::string> names;
  for (const StoredTensor& t : reader.tensors()) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a/step", "b/weights", "empty", "flag",
                                             "half", "names"}));
  EXPECT_EQ(reader.find("b/weights")->offset % 64, 0u);
  EXPECT_EQ(reader.find("b"), nullptr);
  EXPECT_THROW(reader.read("b"), NotFoundError);
}

TEST(Checkpoint, RestoresVariables) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", some_tensors());
  const CheckpointReader reader(folder / "ck");
  const Variable fits(constant(int64_t{0}));
  reader.restore("a/step", fits);
  EXPECT_EQ(fits.read().item<int64_t>(), 7);
  EXPECT_THROW(reader.restore("a/step", Variable(constant(0.f))), InvalidArgumentError);
  EXPECT_THROW(reader.restore("b/weights", Variable(constant({1.f}))), ValueError);
}

TEST(Checkpoint, RefusesWhatHasNoContents) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_checkpoint(folder / "ck", {{"x", Tensor()}}), InvalidArgumentError);
  EXPECT_THROW(save_checkpoint(folder / "ck", {{"x", constant(1)}, {"x", constant(2)}}),
               InvalidArgumentError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Checkpoint, OthersFilesStay) {
  const TemporaryFolder folder;
  const std::string table = std::string(40, 'x') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  for (const char* name : {"ck.index", "ck.data-00000-of-00001"}) {
    write_file(folder / name, table);
    EXPECT_THROW(save_checkpoint(folder / "ck", some_tensors()), AlreadyExistsError);
    EXPECT_EQ(read_whole_file(folder / name), table);
    std::filesystem::remove(folder / name);
  }
  write_file(folder / "ck.index", table);
  try {
    const CheckpointReader reader(folder / "ck");
    FAIL();
  } catch (const DataLossError& e) {
    EXPECT_NE(std::string(e.what()).find("TensorFlow's own checkpoint format"),
              std::string::npos);
  }
}

TEST(Checkpoint, BothFilesMayBeRenamed) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", some_tensors());
  save_checkpoint(folder / "ck", some_tensors());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::string name = entry.path().filename().string();
    std::filesystem::rename(entry.path(), folder / ("best" + name.substr(2)));
  }
  expect_same(CheckpointReader(folder / "best"));
}

TEST(Checkpoint, MissingFiles) {
  const TemporaryFolder folder;
  try {
    const CheckpointReader reader(folder / "nothing");
    FAIL();
  } catch (const NotFoundError& e) {
    EXPECT_NE(std::string(e.what()).find("nothing"), std::string::npos);
  }
  save_checkpoint(folder / "ck", some_tensors());
  std::filesystem::remove(folder / "ck.data-00000-of-00001");
  EXPECT_THROW(CheckpointReader(folder / "ck"), DataLossError);
  write_file(folder / "file", "x");
  EXPECT_THROW(save_checkpoint(folder / "file/ck", some_tensors()), Error);
}

// Every length that the index can be cut to, and every byte of it that can be changed.
TEST(Checkpoint, DamagedIndexIsSeen) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", some_tensors());
  const std::string path = folder / "ck.index";
  const std::string good = read_whole_file(path);
  using stored_checkpoint::index_from_bytes;
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_THROW(index_from_bytes(good.substr(0, n), path), DataLossError)
        << "cut at " << n;
    std::string bad = good;
    bad[n] = static_cast<char>(bad[n] ^ 0x20);
    EXPECT_THROW(index_from_bytes(bad, path), DataLossError) << "byte " << n;
  }
  write_file(path, good.substr(0, good.size() / 2));
  EXPECT_THROW(CheckpointReader(folder / "ck"), DataLossError);
  write_file(path, good);
  expect_same(CheckpointReader(folder / "ck"));
}

TEST(Checkpoint, DamagedDataIsSeen) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", some_tensors());
  const std::string path = folder / "ck.data-00000-of-00001";
  const std::string good = read_whole_file(path);
  for (size_t n = 0; n < good.size(); ++n) {
    write_file(path, good.substr(0, n));
    EXPECT_THROW(CheckpointReader(folder / "ck"), DataLossError) << "cut at " << n;
  }
  // A changed byte of one tensor leaves the others readable.
  write_file(path, good);
  const uint64_t at = CheckpointReader(folder / "ck").find("b/weights")->offset;
  std::string bad = good;
  bad[at + 5] = static_cast<char>(bad[at + 5] ^ 1);
  write_file(path, bad);
  const CheckpointReader reader(folder / "ck");
  EXPECT_THROW(reader.read("b/weights"), DataLossError);
  EXPECT_EQ(reader.read("a/step").item<int64_t>(), 7);
}

// An index that is whole and lies: the checksum is right, the numbers are not.
TEST(Checkpoint, LyingIndexIsSeen) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", {{"x", constant({1.f, 2.f})}});
  using namespace stored_checkpoint;
  const Index good = index_from_bytes(read_whole_file(folder / "ck.index"), "ck.index");
  const auto refused = [&](const auto& change) {
    Index index = good;
    change(index);
    EXPECT_THROW(index_from_bytes(to_bytes(index), "ck.index"), DataLossError);
  };
  refused([](Index& i) { i.tensors[0].offset = i.data_bytes + 1; });
  refused([](Index& i) { i.tensors[0].bytes = ~uint64_t{0}; });
  refused([](Index& i) { i.tensors[0].shape = Shape{3}; });
  refused(
      [](Index& i) { i.tensors[0].shape = Shape{int64_t{1} << 40, int64_t{1} << 40}; });
  refused([](Index& i) {
    i.tensors[0].dtype = DType::kString;
    i.tensors[0].shape = Shape{9};
  });
  refused([](Index& i) { i.data = "../elsewhere"; });
}

// A save over a checkpoint leaves the old files whole until the new index is there.
TEST(Checkpoint, SavingOverOneIsAtomic) {
  const TemporaryFolder folder;
  save_checkpoint(folder / "ck", {{"x", constant(1)}});
  const std::string index = read_whole_file(folder / "ck.index");
  const std::string data = read_whole_file(folder / "ck.data-00000-of-00001");
  save_checkpoint(folder / "ck", {{"x", constant(2)}});
  EXPECT_EQ(CheckpointReader(folder / "ck").read("x").item<int32_t>(), 2);
  // Killed before the index was renamed: both data files are there, the index is the old
  // one.
  write_file(folder / "ck.index", index);
  write_file(folder / "ck.data-00000-of-00001", data);
  EXPECT_EQ(CheckpointReader(folder / "ck").read("x").item<int32_t>(), 1);
  save_checkpoint(folder / "ck", {{"x", constant(3)}});
  EXPECT_EQ(CheckpointReader(folder / "ck").read("x").item<int32_t>(), 3);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 2u);
}

TEST(Checkpoint, ReadersSeeWholeSaves) {
  const TemporaryFolder folder;
  const auto save = [&](int32_t n) {
    const std::vector<int32_t> values(1000, n);
    save_checkpoint(folder / "ck", {{"a", constant(values)}, {"b", constant(values)}});
  };
  save(0);
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const CheckpointReader reader(folder / "ck");
        const auto a = reader.read("a").to_vector<int32_t>();
        const auto b = reader.read("b").to_vector<int32_t>();
        if (a != b || a.front() != a.back()) ++bad;
      }
    });
  }
  for (int32_t n = 1; n <= 40; ++n) save(n);
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace tandem
