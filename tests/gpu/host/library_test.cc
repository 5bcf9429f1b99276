// Where NVIDIA's libraries are looked for, with a folder that looks like their packages
// and a copy of a library that every system has; and what is said about versions.
#include "device/cuda/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "device/cuda/cuda_release.h"
#include "device/cuda/versions.h"
#include "support/temporary_folder.h"

namespace tandem::cuda {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFake = "libtandem_fake_cuda.so.13";

struct Variable {
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }
  const char* name_;
};

TEST(Libraries, TheUsersFolderComesFirst) {
  const Variable given("TANDEM_CUDA_LIBRARY_PATH", "/some/where");
  const auto places = library_places();
  ASSERT_GE(places.size(), 2u);
  EXPECT_EQ(places[0], "/some/where");
  EXPECT_EQ(open_library("libtandem_no_such_library.so.1"), nullptr);
}

TEST(Libraries, AToolkitComesAfterTheLoader) {
  unsetenv("TANDEM_CUDA_LIBRARY_PATH");
  const Variable home("CUDA_HOME", "/opt/cuda");
  const auto places = library_places("");
  EXPECT_EQ(places[0], "");
  const auto at = std::ranges::find(places, "/opt/cuda/lib64");
  ASSERT_NE(at, places.end());
  EXPECT_LT(at, std::ranges::find(places, "/usr/local/cuda/lib64"));
}

TEST(Libraries, PackagesLieBesideThePluginsOwnPackage) {
  const TemporaryFolder packages;
  fs::create_directories(packages / "nvidia/cu13/lib");
  const auto places = package_places(packages / "tandem/libtandem_cuda.so");
  ASSERT_FALSE(places.empty());
  EXPECT_EQ(places[0], packages / "nvidia/cu13/lib");
  EXPECT_TRUE(package_places("/nowhere/tandem/libtandem_cuda.so").empty());
}

TEST(Libraries, PackagesComeBeforeTheLoaderAndAnyToolkit) {
  const TemporaryFolder packages;
  const std::string cuda = packages / "nvidia/cu13/lib",
                    cudnn = packages / "nvidia/cudnn/lib";
  fs::create_directories(cuda);
  fs::create_directories(cudnn);
  const Variable given("TANDEM_CUDA_LIBRARY_PATH", "/some/where");
  const Variable home("CUDA_HOME", "/opt/cuda");
  const auto places = library_places(packages / "tandem/libtandem_cuda.so");
  ASSERT_GE(places.size(), 8u);
  const std::vector<std::string> first(places.begin(), places.begin() + 5);
  EXPECT_EQ(first, (std::vector<std::string>{"/some/where", cuda, cudnn, "",
                                             "/opt/cuda/lib64"}));
  EXPECT_LT(std::ranges::find(places, cudnn),
            std::ranges::find(places, "/usr/local/cuda/lib64"));
}

TEST(Libraries, PackagesOfCuda12LieInFoldersOfTheirOwn) {
  const TemporaryFolder packages;
  std::vector<std::string> wanted;
  for (const char* folder :
       {"nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib", "nvidia/cudnn/lib"}) {
    wanted.push_back(packages / folder);
    fs::create_directories(wanted.back());
  }
  EXPECT_EQ(package_places(packages / "tandem/libtandem_cuda.so"), wanted);
}

TEST(Libraries, TheDriverAndWhatIsInstalledChooseTheRelease) {
  const auto has = [](std::vector<int> releases) {
    return [releases](int r) { return std::ranges::count(releases, r) > 0; };
  };
  EXPECT_EQ(choose_release(13000, 0, has({12, 13})), 13);
  EXPECT_EQ(choose_release(13000, 0, has({12})), 12);
  EXPECT_EQ(choose_release(13000, 0, has({})), 13);
  EXPECT_EQ(choose_release(12080, 0, has({12, 13})), 12);
  EXPECT_EQ(choose_release(12020, 0, has({13})), 12);
  EXPECT_EQ(choose_release(0, 0, has({12})), 12);
  EXPECT_EQ(choose_release(13000, 12, has({12, 13})), 12);
}

TEST(Libraries, FilesAreCalledByTheRelease) {
  EXPECT_EQ(library_file(Library::kNvrtc, 12), "libnvrtc.so.12");
  EXPECT_EQ(library_file(Library::kNvrtc, 13), "libnvrtc.so.13");
  EXPECT_EQ(library_file(Library::kCufft, 12), "libcufft.so.11");
  EXPECT_EQ(library_file(Library::kCusolver, 13), "libcusolver.so.12");
}

TEST(Libraries, ALibraryOfAFolderIsLoadedAndSaysWhereItLies) {
  const TemporaryFolder folder;
  void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(math, nullptr) << dlerror();
  fs::copy_file(path_of_library(math), folder / kFake);
  EXPECT_EQ(open_library(kFake), nullptr);
  const Variable given("TANDEM_CUDA_LIBRARY_PATH", folder.path().string());
  void* const library = open_library(kFake);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(library, math);
  EXPECT_TRUE(fs::equivalent(path_of_library(library), folder / kFake));
  EXPECT_NE(dlsym(library, "cos"), nullptr);
  dlclose(library);
  dlclose(math);
}

TEST(Libraries, WhatTheProcessHasIsTakenBeforeAnyOtherCopy) {
  void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(math, nullptr) << dlerror();
  EXPECT_EQ(open_library("libm.so.6"), math);
  dlclose(math);
}

TEST(Libraries, ANeighbourIsLoadedFromTheSameFolder) {
  const TemporaryFolder folder;
  void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(math, nullptr) << dlerror();
  for (const char* name : {"libtandem_first.so", "libtandem_second.so"}) {
    fs::copy_file(path_of_library(math), folder / name);
  }
  const std::string second = folder / "libtandem_second.so";
  void* const first =
      dlopen(std::string(folder / "libtandem_first.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(first, nullptr) << dlerror();
  EXPECT_EQ(dlopen(second.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  open_beside(first, "libtandem_second.so");
  EXPECT_NE(dlopen(second.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  open_beside(first, "libtandem_not_there.so");
}

TEST(Versions, WhatIsMissingIsSaidBesideWhatIsNeeded) {
  const auto parts = part_versions({.api = nullptr, .problem = "no driver"});
  ASSERT_EQ(parts.size(), 8u);
  EXPECT_EQ(parts[0].name, "driver");
  EXPECT_EQ(parts[0].found, "");
  const std::string text = describe_parts(parts);
  EXPECT_NE(text.find("driver     not found; needed: 535 (CUDA 12.2) or newer\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not needed: "), std::string::npos) << text;
}

TEST(Versions, TheDriverSaysItsOwn) {
  DriverApi api;
  api.cuDriverGetVersion = [](int* version) {
    *version = 13020;
    return CUDA_SUCCESS;
  };
  const auto parts = part_versions({.api = &api, .problem = ""});
  EXPECT_NE(parts[0].found.find("CUDA 13.2"), std::string::npos) << parts[0].found;
}

TEST(Versions, AFileIsNamedWithItsVersion) {
  EXPECT_EQ(describe_parts({{"NVRTC", "13.2", "/x/libnvrtc.so.13", "13"}}),
            "  NVRTC      found 13.2; needed: 13; /x/libnvrtc.so.13\n");
}

}  // namespace
}  // namespace tandem::cuda
