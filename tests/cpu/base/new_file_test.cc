// Files and folders that appear when they are complete, and names that lead elsewhere.
#include "base/new_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/temporary_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

int entries(const TemporaryFolder& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder.path()), {}));
}

TEST(NewFile, AppearsWhenItIsComplete) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  put(path, "old");
  {
    NewFile file(path);
    file.write("half");
    EXPECT_EQ(read_whole_file(path), "old");
  }
  EXPECT_EQ(entries(folder), 1) << "what was given up is removed";
  NewFile file(path);
  file.write({"a", "", "bc"});
  file.commit();
  EXPECT_EQ(read_whole_file(path), "abc");
  EXPECT_EQ(entries(folder), 1);
}

TEST(NewFile, KeepsModeAndFollowsLinks) {
  const TemporaryFolder folder;
  put(folder / "real", "old");
  ASSERT_EQ(chmod((folder / "real").c_str(), 0640), 0);
  fs::create_symlink("real", folder / "link");
  fs::create_symlink("missing", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    NewFile file(folder / name);
    file.write("new");
    file.commit();
    EXPECT_TRUE(fs::is_symlink(folder / name));
    EXPECT_EQ(read_whole_file(folder / name), "new");
  }
  struct stat about{};
  ASSERT_EQ(stat((folder / "real").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
  EXPECT_TRUE(fs::is_regular_file(folder / "missing"));
  EXPECT_THROW(NewFile(folder.path().string()), FailedPreconditionError);
  EXPECT_THROW(NewFile(folder / "nowhere/x"), NotFoundError);
}

TEST(NewFile, WritesToDevicesInPlace) {
  NewFile file("/dev/full");
  EXPECT_THROW(file.write("x"), ResourceExhaustedError);
}

TEST(NewFile, MessagesNameTheFileThatIsMeant) {
  const TemporaryFolder folder;
  NewFolder outer(folder / "x");
  try {
    NewFile file(outer.path() + "/inner/y");
    FAIL();
  } catch (const NotFoundError& e) {
    EXPECT_EQ(std::string(e.what()).rfind(folder / "inner/y", 0), 0u) << e.what();
  }
}

TEST(NewFolder, GetsItsNameWhenItIsComplete) {
  const TemporaryFolder folder;
  {
    NewFolder made(folder / "x");
    put(made.path() + "/a", "1");
    fs::create_directories(made.path() + "/b/c");
    EXPECT_FALSE(fs::exists(folder / "x"));
    made.commit();
  }
  EXPECT_EQ(read_whole_file(folder / "x/a"), "1");
  EXPECT_TRUE(fs::is_directory(folder / "x/b/c"));
  NewFolder again(folder / "x");
  put(again.path() + "/a", "2");
  again.publish("a", folder / "y");
  EXPECT_EQ(read_whole_file(folder / "y"), "2");
  EXPECT_THROW(again.commit(), Error) << "the name is taken";
  again.close();
  EXPECT_EQ(entries(folder), 2);
}

// What a killed process has left goes with the next save into the folder; what a living
// one is writing stays.
TEST(NewFile, RemovesWhatKilledProcessesLeft) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    NewFile file(folder / "x");
    file.write("half");
    NewFolder inner(folder / "y");
    put(inner.path() + "/z", "half");
    (void)!write(ready[1], "!", 1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  put(folder / ".tandem-new-mine.txt.not", "");  // begins like one, and nobody holds it
  EXPECT_EQ(remove_abandoned(folder.path().string()), 1u);
  EXPECT_EQ(entries(folder), 2) << "the process lives";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  NewFile file(folder / "other");
  EXPECT_EQ(entries(folder), 1);
  EXPECT_EQ(remove_abandoned(folder.path().string()), 0u) << "this process lives";
  file.commit();
  close(ready[0]);
  close(ready[1]);
}

TEST(PathInside, RefusesWhatLeadsElsewhere) {
  const TemporaryFolder folder;
  const std::string root = folder / "m";
  fs::create_directories(root + "/in/deep");
  put(folder / "secret", "");
  fs::create_symlink(folder / "secret", root + "/link");
  fs::create_symlink(folder.path(), root + "/out");
  fs::create_symlink("/nowhere/at/all", root + "/dangling");
  fs::create_symlink("in", root + "/alias");
  for (const std::string& name :
       {std::string(), std::string("/etc/passwd"), std::string("../secret"),
        std::string("in/../../secret"), std::string("in/.."), std::string("link"),
        std::string("out/secret"), std::string("dangling"), std::string("a\0b", 3)}) {
    EXPECT_THROW(path_inside(root, name, "x.json"), InvalidArgumentError) << name;
  }
  for (const char* name : {"in", "in/deep/x", "new", "alias/deep", "a..b", "..."}) {
    EXPECT_EQ(path_inside(root, name, "x.json"), root + "/" + name);
    EXPECT_EQ(path_inside(root + "/", name, "x.json"), root + "//" + name);
  }
  fs::create_symlink(root, folder / "latest");
  EXPECT_NO_THROW(path_inside(folder / "latest", "in", "x.json"));
}

TEST(DescribeFile, NamesWhatItIs) {
  const TemporaryFolder folder;
  EXPECT_EQ(describe_file(folder / "none"), "");
  const auto kind = [&](const std::string& bytes) {
    put(folder / "x", bytes);
    return describe_file(folder / "x");
  };
  EXPECT_EQ(kind(""), "");
  EXPECT_EQ(kind("hello"), "a text");
  EXPECT_NE(kind(std::string(40, '\0') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb")
                .find("TensorFlow's own checkpoint format"),
            std::string::npos);
  EXPECT_NE(kind("\x89HDF\r\n\x1a\n...").find("HDF5"), std::string::npos);
  EXPECT_NE(kind("PK\x03\x04...").find("ZIP"), std::string::npos);
  EXPECT_NE(kind("\x80\x04\x95").find("pickle"), std::string::npos);
  EXPECT_NE(kind("\xff\xfe\x00\x01").find("does not know"), std::string::npos);
}

}  // namespace
}  // namespace tandem
