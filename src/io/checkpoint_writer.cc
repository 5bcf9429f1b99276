#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/new_file.h"
#include "io/checkpoint_format.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem {

namespace {

using namespace stored_checkpoint;

std::string new_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

/// The name for the data that the present index, if there is one, does not use.
std::string free_data_name(const std::string& prefix) {
  const std::string base = std::filesystem::path(prefix).filename().string();
  const std::string path = prefix + std::string(kIndexEnd);
  std::string used;
  try {
    if (std::filesystem::exists(path)) {
      used = index_from_bytes(read_whole_file(path), path).data;
    }
  } catch (const Error&) {
    // What was there cannot be read any more: nothing to keep.
  }
  const std::string first = base + std::string(kDataEnds[0]);
  return used == first ? base + std::string(kDataEnds[1]) : first;
}

/// Throws where the files of another program stand under that name.
void refuse_foreign(const std::string& path, std::string_view magic) {
  const std::string kind = describe_file(path);
  if (kind.empty()) return;
  std::string head(std::min<uint64_t>(OpenFile(path).size(), magic.size()), '\0');
  OpenFile(path).read(0, head.data(), head.size());
  if (head == magic) return;
  throw AlreadyExistsError(fmt::format(
      "{} is there already and is {}, no part of a checkpoint of Tandem's: it is not "
      "overwritten. Save under another name or into another folder, or remove it.",
      path, kind));
}

/// Writes tensors one after the other in large pieces, straight from their memory.
class DataWriter {
 public:
  explicit DataWriter(NewFile& file) : file_(file) {}

  void add(std::string_view bytes) {
    pieces_.push_back(bytes);
    offset_ += bytes.size();
    pending_ += bytes.size();
  }
  void add_owned(std::string bytes) { add(owned_.emplace_back(std::move(bytes))); }

  StoredTensor add_tensor(const NamedTensor& named) {
    const Tensor host = named.value.to_host();
    static constexpr char kZeros[kAlignment] = {};
    add({kZeros, (kAlignment - offset_ % kAlignment) % kAlignment});
    StoredTensor t{named.name, host.dtype(), host.shape(), offset_, 0, 0};
    if (t.dtype == DType::kString) {
      add_owned(string_bytes(host));
    } else {
      const size_t bytes = host.impl()->bytes();
      add({bytes ? static_cast<const char*>(host.host_data()) : "", bytes});
    }
    t.bytes = offset_ - t.offset;
    t.checksum = crc32c(pieces_.back());
    keep_.push_back(host);
    if (pending_ > kMostPending || pieces_.size() > kMostPieces) flush();
    return t;
  }

  void flush() {
    file_.write(pieces_);
    pieces_.clear();
    owned_.clear();
    keep_.clear();
    pending_ = 0;
  }
  uint64_t offset() const { return offset_; }

 private:
  // Host copies of what lives on a device are held until they are written.
  static constexpr uint64_t kMostPending = 64 << 20;
  static constexpr size_t kMostPieces = 1000;

  static std::string string_bytes(const Tensor& host) {
    std::string bytes, contents;
    for (const std::string& s : host.to_vector<std::string>()) {
      const uint64_t size = s.size();
      char raw[sizeof size];
      std::memcpy(raw, &size, sizeof size);
      bytes.append(raw, sizeof size);
      contents += s;
    }
    return bytes + contents;
  }

  NewFile& file_;
  std::vector<std::string_view> pieces_;
  std::deque<std::string> owned_;
  std::vector<Tensor> keep_;
  uint64_t offset_ = 0;
  uint64_t pending_ = 0;
};

void check(const std::vector<NamedTensor>& tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& t : tensors) {
    if (!t.value.defined() || t.value.impl()->symbolic ||
        t.value.dtype() == DType::kVariant || t.value.dtype() == DType::kResource) {
      throw InvalidArgumentError(fmt::format(
          "save_checkpoint: '{}' has no contents that can be stored. Save eager tensors "
          "of numbers, booleans or strings.",
          t.name));
    }
    if (!names.insert(t.name).second) {
      throw InvalidArgumentError(fmt::format(
          "save_checkpoint: two tensors are called '{}'. Give each its own name.",
          t.name));
    }
  }
}

}  // namespace

void save_checkpoint(const std::string& prefix, const std::vector<NamedTensor>& tensors) {
  check(tensors);
  const std::string folder = folder_of(prefix);
  make_folders(folder);
  refuse_foreign(prefix + std::string(kIndexEnd), kIndexMagic);
  for (std::string_view end : kDataEnds) {
    refuse_foreign(prefix + std::string(end), kDataMagic);
  }
  Index index;
  index.id = new_id();
  index.data = free_data_name(prefix);
  const std::string data_path = folder + "/" + index.data;
  NewFile data(data_path);
  DataWriter writer(data);
  const std::string head = std::string(kDataMagic) + index.id;
  writer.add(head);
  for (const NamedTensor& t : tensors) index.tensors.push_back(writer.add_tensor(t));
  writer.flush();
  index.data_bytes = writer.offset();
  data.commit();

  NewFile file(prefix + std::string(kIndexEnd));
  file.write(to_bytes(index));
  file.commit();
  // The new index is there: the data of the one before are nobody's.
  const std::string base = std::filesystem::path(prefix).filename().string();
  for (std::string_view end : kDataEnds) {
    const std::string other = base + std::string(end);
    if (other != index.data) unlink((folder + "/" + other).c_str());
  }
}

}  // namespace tandem
