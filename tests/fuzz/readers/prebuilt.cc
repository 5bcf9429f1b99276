// The file of prebuilt GPU kernels. The input are changes of a right file: two bytes that
// say where, one that is written there.
#include "kernels/cuda/prebuilt.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "fuzz/readers/support.h"

namespace {

using namespace tandem;
using namespace tandem::cuda;

constexpr ProgramKey kKeys[] = {{1, 2}, {3, 4}, {5, 6}};

/// In a folder of this user alone: the file is not read where others could write it.
const std::string& path() {
  static const std::string path = [] {
    char folder[] = "/dev/shm/tandem-fuzz-XXXXXX";
    return std::string(mkdtemp(folder)) + "/kernels";
  }();
  return path;
}
struct Remove {
  Remove() { path(); }  // so that it lives longer
  ~Remove() {
    std::remove(path().c_str());
    rmdir(path().substr(0, path().size() - 8).c_str());
  }
};

std::string right_file() {
  std::vector<PrebuiltProgram> programs;
  for (const ProgramKey& key : kKeys) {
    const CompileTarget target = kPrebuiltTargets[programs.size() % 2];
    programs.push_back(
        {key, target, std::vector<char>(300 + 100 * programs.size(), 'c')});
  }
  write_prebuilt(path(), 1300, programs);
  std::ifstream in(path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Remove at_the_end;
  static const std::string right = right_file();
  std::string bytes = right;
  for (; size >= 3; data += 3, size -= 3) {
    bytes[(data[0] | data[1] << 8) % bytes.size()] = static_cast<char>(data[2]);
  }
  if (size == 1) bytes.resize(bytes.size() * data[0] / 256);
  std::ofstream(path(), std::ios::binary) << bytes;
  fuzz::attempt([] {
    const PrebuiltKernels kernels(path());
    for (const ProgramKey& key : kKeys) fuzz::use(kernels.find(key));
  });
  return 0;
}
