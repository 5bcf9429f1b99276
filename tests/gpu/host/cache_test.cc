// Compiled programs are kept on disk and read back; broken files are not believed.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/cuda/compiler.h"

namespace tandem::cuda {
namespace {

namespace fs = std::filesystem;
using From = Binary::From;
constexpr const char* kSource = "extern \"C\" __global__ void f(int* p) { *p = 1; }";

struct CacheTest : ::testing::Test {
  CacheTest()
      : folder(fs::temp_directory_path() / ("tandem-cache-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
    setenv("TANDEM_CACHE_DIR", folder.c_str(), 1);
  }
  ~CacheTest() override {
    unsetenv("TANDEM_CACHE_DIR");
    fs::remove_all(folder);
  }
  fs::path folder;
};

TEST_F(CacheTest, TheSecondTimeComesFromDisk) {
  const Binary first = compile("f", kSource, 90), second = compile("f", kSource, 90);
  EXPECT_EQ(first.from, From::kCompiler);
  EXPECT_EQ(second.from, From::kDisk);
  EXPECT_EQ(first.code, second.code);
  EXPECT_TRUE(fs::exists(folder / cache_name(kSource, 90)));
}
TEST_F(CacheTest, ArchitecturesAndTextsHaveFilesOfTheirOwn) {
  EXPECT_NE(cache_name(kSource, 90), cache_name(kSource, 80));
  EXPECT_NE(cache_name(kSource, 90), cache_name(std::string(kSource) + " ", 90));
}
TEST_F(CacheTest, ABrokenFileIsCompiledAgain) {
  const Binary first = compile("f", kSource, 90);
  const fs::path file = folder / cache_name(kSource, 90);
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(40);
    out.put('x');
    out.put('y');
  }
  const Binary again = compile("f", kSource, 90);
  EXPECT_EQ(again.from, From::kCompiler);
  fs::resize_file(file, 30);
  EXPECT_EQ(compile("f", kSource, 90).from, From::kCompiler);
  EXPECT_EQ(compile("f", kSource, 90).from, From::kDisk);
}
TEST_F(CacheTest, AFileThatOthersMayWriteIsCompiledAgain) {
  compile("f", kSource, 90);
  const fs::path file = folder / cache_name(kSource, 90);
  const fs::perms others = fs::perms::others_write;
  fs::permissions(file, others, fs::perm_options::add);
  EXPECT_EQ(compile("f", kSource, 90).from, From::kCompiler);
  EXPECT_EQ(compile("f", kSource, 90).from,
            From::kDisk);  // a file of its own took its place
  fs::permissions(file.parent_path(), others, fs::perm_options::add);
  EXPECT_EQ(compile("f", kSource, 90).from, From::kCompiler);
}
TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  setenv("TANDEM_CACHE_DIR", "/proc/no-such-folder", 1);
  EXPECT_EQ(compile("f", kSource, 90).from, From::kCompiler);
}
TEST_F(CacheTest, EveryReleaseArchitectureCompiles) {
  for (int arch : {75, 80, 86, 89, 90}) {
    EXPECT_GT(compile("f", kSource, arch).code.size(), 0u) << arch;
  }
  // One that the compiler does not know yet gets portable code.
  const Binary ptx = compile("f", kSource, 999);
  EXPECT_NE(std::string(ptx.code.begin(), ptx.code.end()).find(".target"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem::cuda
