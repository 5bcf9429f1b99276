// Who could have written a file, as owner and mode say.
#include "base/trusted_files.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tandem {
namespace {

namespace fs = std::filesystem;

class TrustedFiles : public ::testing::Test {
 protected:
  TrustedFiles() {
    fs::create_directories(folder);
    chmod(folder.c_str(), 0755);
    std::ofstream(file) << "text";
    chmod(file.c_str(), 0644);
  }
  ~TrustedFiles() override { fs::remove_all(folder); }

  const std::string folder =
      fmt::format("{}tandem_trusted_{}", ::testing::TempDir(), getpid());
  const std::string file = folder + "/file";
};

TEST_F(TrustedFiles, OfThisUserAreTrusted) {
  EXPECT_EQ(reason_to_distrust(file), "");
  const int fd = open(file.c_str(), O_RDONLY);
  EXPECT_EQ(reason_to_distrust(fd, file), "");
  close(fd);
}

TEST_F(TrustedFiles, ThatEverybodyMayWriteAreNot) {
  chmod(file.c_str(), 0666);
  EXPECT_NE(reason_to_distrust(file).find("everybody may write"), std::string::npos);
  const int fd = open(file.c_str(), O_RDONLY);
  EXPECT_NE(reason_to_distrust(fd, file), "");
  close(fd);
  // The folder's rights count, too: its file can be replaced.
  chmod(file.c_str(), 0644);
  chmod(folder.c_str(), 0777);
  EXPECT_NE(reason_to_distrust(file).find("everybody may write"), std::string::npos);
  // But not in a folder such as /tmp.
  chmod(folder.c_str(), 01777);
  EXPECT_EQ(reason_to_distrust(file), "");
}

TEST_F(TrustedFiles, AreJudgedBehindTheirLinks) {
  const std::string link = folder + "/link";
  fs::create_directories(folder + "/open");
  chmod((folder + "/open").c_str(), 0777);
  std::ofstream(folder + "/open/file") << "text";
  fs::create_symlink(folder + "/open/file", link);
  EXPECT_NE(reason_to_distrust(link), "");
  EXPECT_NE(reason_to_distrust(folder + "/absent"), "");
}

TEST_F(TrustedFiles, OfAnotherUserAreNot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(chown(file.c_str(), 12345, 0), 0);
  EXPECT_NE(reason_to_distrust(file).find("belongs to user 12345"), std::string::npos);
  EXPECT_EQ(reason_to_distrust(file, 12345), "");
}

TEST_F(TrustedFiles, ACacheFolderIsThisUsersAlone) {
  const std::string cache = folder + "/new/cache";
  EXPECT_TRUE(make_cache_folder(cache));
  struct stat s{};
  ASSERT_EQ(stat(cache.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_cache_folder(cache));
  chmod(cache.c_str(), 0777);
  EXPECT_FALSE(make_cache_folder(cache));
  EXPECT_FALSE(make_cache_folder(""));
  EXPECT_FALSE(make_cache_folder(file + "/below"));
}

TEST(NetworkFileSystems, AreKnownByTheirNumbers) {
  for (const uint32_t nfs_or_smb : {0x6969u, 0xFF534D42u, 0xFE534D42u, 0x65735546u}) {
    EXPECT_TRUE(is_network_file_system(nfs_or_smb));
  }
  for (const uint32_t local : {0xEF53u, 0x58465342u, 0x01021994u, 0x9123683Eu}) {
    EXPECT_FALSE(is_network_file_system(local));  // ext4, XFS, tmpfs, Btrfs
  }
}

TEST(NetworkFileSystems, OfAFolderThatIsNotThere) {
  EXPECT_FALSE(is_on_network("/proc/no/such/folder"));
  EXPECT_FALSE(is_on_network("no/such/folder/relative"));
  EXPECT_FALSE(is_on_network(""));
}

}  // namespace
}  // namespace tandem
