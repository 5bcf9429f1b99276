// Checkpoints: the input is the header of the index, to which a right checksum is added,
// a zero byte, and what follows the magic in the data file.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/crc32c.h"
#include "fuzz/readers/support.h"
#include "io/checkpoint_format.h"

namespace {

using namespace tandem;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder of this process in memory.
const std::string& prefix() {
  static const std::string path = [] {
    char folder[] = "/dev/shm/tandem-fuzz-XXXXXX";
    return std::string(mkdtemp(folder)) + "/c";
  }();
  return path;
}
struct Remove {
  Remove() { prefix(); }  // so that it lives longer
  ~Remove() {
    for (const auto end : stored_checkpoint::kDataEnds) {
      std::remove((prefix() + std::string(end)).c_str());
    }
    std::remove((prefix() + ".index").c_str());
    rmdir(prefix().substr(0, prefix().size() - 2).c_str());
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Remove at_the_end;
  const std::string_view all = fuzz::view(data, size);
  const std::string_view header = all.substr(0, all.find('\0'));
  std::string index(stored_checkpoint::kIndexMagic);
  put(index, uint64_t{header.size()});
  put(index, crc32c(header));
  index += header;
  write(prefix() + ".index", index);
  std::string contents(stored_checkpoint::kDataMagic);
  if (header.size() < all.size()) contents += all.substr(header.size() + 1);
  write(prefix() + std::string(stored_checkpoint::kDataEnds[0]), contents);
  fuzz::attempt([] {
    const CheckpointReader reader(prefix());
    for (const StoredTensor& t : reader.tensors()) {
      fuzz::attempt([&] { reader.read(t.name); });
    }
  });
  return 0;
}
