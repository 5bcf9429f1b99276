// What a cache keeps on disk, and what it does not believe.
#include "base/cache_files.h"

#include <chrono>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tandem {
namespace {

namespace fs = std::filesystem;

class CacheFiles : public ::testing::Test {
 protected:
  CacheFiles() { fs::remove_all(folder); }
  ~CacheFiles() override { fs::remove_all(folder); }
  bool is_read(const fs::path& path) const {
    std::vector<char> contents;
    return read_cache_file(path, contents) && contents == kContents;
  }

  const std::vector<char> kContents{'c', 'o', 'd', 'e'};
  const fs::path folder =
      fmt::format("{}tandem_cache_files_{}", ::testing::TempDir(), getpid());
  const fs::path file = folder / "below" / "file";
};

TEST_F(CacheFiles, AreReadAsTheyWereWritten) {
  EXPECT_FALSE(is_read(file));
  write_cache_file(file, kContents);
  EXPECT_TRUE(is_read(file));
  // Nothing stays beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1);
}

TEST_F(CacheFiles, ThatAreDamagedAreNotRead) {
  write_cache_file(file, kContents);
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  for (std::streamoff at = 0; at < size; ++at) {
    write_cache_file(file, kContents);
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const int was = stream.get();
    stream.seekp(at);
    stream.put(static_cast<char>(was ^ 1));
    stream.close();
    EXPECT_FALSE(is_read(file)) << at;
  }
  for (std::streamoff at = 0; at < size; ++at) {
    write_cache_file(file, kContents);
    fs::resize_file(file, static_cast<uintmax_t>(at));
    EXPECT_FALSE(is_read(file)) << at;
  }
}

TEST_F(CacheFiles, ThatOthersMayWriteAreNotRead) {
  write_cache_file(file, kContents);
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(is_read(file));
  write_cache_file(file, kContents);  // takes the place of the other one
  EXPECT_TRUE(is_read(file));
  fs::permissions(file.parent_path(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(is_read(file));
}

TEST_F(CacheFiles, ThatCannotBeWrittenAreNoError) {
  write_cache_file("/proc/no-such-folder/file", kContents);
  EXPECT_FALSE(is_read("/proc/no-such-folder/file"));
}

TEST_F(CacheFiles, OldestGoFirst) {
  fs::create_directories(folder);
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 5; ++i) {
    const fs::path path = folder / std::to_string(i);
    std::ofstream(path) << std::string(100, 'x');
    fs::last_write_time(path, now - std::chrono::hours(i == 2 ? 9 : i));
  }
  forget_oldest_files(folder, 350);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fs::exists(folder / std::to_string(i)), i != 2 && i != 4) << i;
  }
  forget_oldest_files(folder / "absent", 0);
}

}  // namespace
}  // namespace tandem
