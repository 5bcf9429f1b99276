// Programs that were compiled when the plugin was built: the file, and who finds it.
#include "kernels/cuda/prebuilt.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/cuda/library.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/softmax.h"

namespace tandem::cuda {
namespace {

namespace fs = std::filesystem;
using From = Binary::From;

struct PrebuiltFile : ::testing::Test {
  PrebuiltFile()
      : path(fs::temp_directory_path() / ("tandem-kernels-" + std::to_string(getpid()))) {
    for (int i = 0; i < 40; ++i) {
      for (const CompileTarget target : kPrebuiltTargets) {
        PrebuiltProgram p{{static_cast<uint64_t>(i * 7919 % 40),
                           static_cast<uint64_t>(target.arch * 2 + target.ptx)},
                          target,
                          {}};
        for (int k = 0; k < 1000 + i; ++k) {
          p.code.push_back(static_cast<char>(k * (target.arch + i) / 7));
        }
        programs.push_back(std::move(p));
      }
    }
    write_prebuilt(path, 1307, programs);
  }
  ~PrebuiltFile() override { fs::remove(path); }
  fs::path path;
  std::vector<PrebuiltProgram> programs;
};

TEST_F(PrebuiltFile, HasWhatWasWritten) {
  const PrebuiltKernels read(path);
  EXPECT_EQ(read.problem(), "");
  EXPECT_EQ(read.release(), 1307);
  for (const PrebuiltProgram& p : programs) {
    const auto code = read.find(p.key);
    ASSERT_TRUE(code);
    EXPECT_EQ(*code, p.code);
  }
  EXPECT_EQ(read.count({86, false}), 40);
  EXPECT_EQ(read.count({90, true}), 40);
  EXPECT_EQ(read.count({86, true}), 0);
  EXPECT_FALSE(read.has({41, 180}));
}
TEST_F(PrebuiltFile, BrokenBytesAreNotBelieved) {
  const auto size = fs::file_size(path);
  {
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(size) - 20);
    for (int i = 0; i < 16; ++i) out.put('x');
  }
  const PrebuiltKernels read(path);
  int broken = 0;
  for (const PrebuiltProgram& p : programs) {
    const auto code = read.find(p.key);
    if (!code) {
      ++broken;
    } else {
      EXPECT_EQ(*code, p.code);
    }
  }
  EXPECT_GE(broken, 1);
  fs::resize_file(path, size / 2);
  const PrebuiltKernels cut(path);
  EXPECT_NE(cut.problem(), "");
  EXPECT_FALSE(cut.has(programs[0].key));
  EXPECT_EQ(cut.release(), 0);
}
TEST_F(PrebuiltFile, NoFileIsNoError) {
  const PrebuiltKernels none(path.string() + "-missing");
  EXPECT_NE(none.problem().find("is not there"), std::string::npos);
  EXPECT_FALSE(none.has(programs[0].key));
}

// What the build made, beside the plugin.
struct Prebuilt : ::testing::Test {
  void SetUp() override {
    setenv("TANDEM_CACHE_DIR", "", 1);
    const PrebuiltKernels& made = PrebuiltKernels::get();
    if (made.release() == 0) {
      GTEST_SKIP() << "no kernels were compiled with this build: " << made.problem();
    }
  }
  void TearDown() override { unsetenv("TANDEM_CACHE_DIR"); }
};

/// The architectures that the build was asked for (TANDEM_PREBUILT_ARCHS; empty: all).
std::set<int> wanted_architectures() {
  std::set<int> wanted;
  std::istringstream list(TANDEM_PREBUILT_ARCHS);
  for (int arch; list >> arch;) wanted.insert(arch);
  if (!wanted.empty()) return wanted;
  for (const CompileTarget target : kPrebuiltTargets) wanted.insert(target.arch);
  return wanted;
}

TEST_F(Prebuilt, EveryArchitectureFindsItsOwn) {
  const std::string source = with_first_statement(rows_text(DType::kFloat32));
  const std::set<int> wanted = wanted_architectures();
  std::set<std::vector<char>> seen;
  for (const CompileTarget target : kPrebuiltTargets) {
    if (target.ptx) continue;
    EXPECT_EQ(PrebuiltKernels::get().count(target) > 0, wanted.contains(target.arch))
        << target.arch;
    if (!wanted.contains(target.arch)) continue;
    EXPECT_TRUE(is_compiled(source, target.arch));
    const Binary binary = compile("softmax", source, target.arch);
    EXPECT_EQ(binary.from, From::kPrebuilt) << target.arch;
    EXPECT_EQ(std::string(binary.code.data() + 1, 3), "ELF");
    seen.insert(binary.code);
  }
  EXPECT_EQ(seen.size(), wanted.size());
  // Newer ones take what the driver translates.
  ASSERT_TRUE(wanted.contains(90));
  const Binary ptx = compile("softmax", source, 120);
  EXPECT_EQ(ptx.from, From::kPrebuilt);
  EXPECT_NE(std::string(ptx.code.begin(), ptx.code.end()).find(".target sm_90"),
            std::string::npos);
}
TEST_F(Prebuilt, IsWhatTheCompilerMakes) {
  const std::string source = with_first_statement(rows_text(DType::kBFloat16));
  const fs::path folder = fs::temp_directory_path() / "tandem-prebuilt-compare";
  fs::remove_all(folder);
  const Binary compiled = compile_into(folder, "softmax", source, {90, false});
  EXPECT_EQ(compiled.from, From::kCompiler);
  EXPECT_EQ(compile("softmax", source, 90).code, compiled.code);
  fs::remove_all(folder);
}
TEST_F(Prebuilt, AnotherTextIsNotFound) {
  const std::string source = with_first_statement(rows_text(DType::kFloat32)) + " ";
  EXPECT_FALSE(is_compiled(source, 90));
}
TEST_F(Prebuilt, TheDoctorCountsThem) {
  const std::string text = describe_prebuilt({90, 120});
  const int count = PrebuiltKernels::get().count({90, false});
  EXPECT_GT(count, 200);
  EXPECT_NE(text.find(std::to_string(count) + " prebuilt for compute capability 9.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("for compute capability 12.0"), std::string::npos) << text;
}

}  // namespace
}  // namespace tandem::cuda
