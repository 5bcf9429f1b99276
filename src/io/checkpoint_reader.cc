#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "device/runtime.h"
#include "io/checkpoint_format.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem {

using namespace stored_checkpoint;

namespace {

/// Of opening a checkpoint that others save over at the same time.
constexpr int kMostTries = 8;

Index read_index(const std::string& prefix) {
  const std::string path = prefix + std::string(kIndexEnd);
  try {
    return index_from_bytes(read_whole_file(path), path);
  } catch (const NotFoundError&) {
    const std::string kind = describe_file(prefix);
    if (!kind.empty() && !std::filesystem::is_directory(prefix)) {
      throw NotFoundError(fmt::format(
          "Failed to find any matching files for {}: the file of that name is {}. Give "
          "the "
          "prefix of a checkpoint that Tandem wrote: its files are PREFIX.index and "
          "PREFIX.data-00000-of-00001.",
          prefix, kind));
    }
    throw NotFoundError(fmt::format(
        "Failed to find any matching files for {}\nPlease double-check that the path is "
        "correct. You may be missing the checkpoint suffix (e.g. the '-1' in "
        "'path/to/ckpt-1').",
        prefix));
  }
}

/// Whether the file begins as the data of that save.
bool belongs(const OpenFile& data, const Index& index) {
  if (data.size() < kDataPrefix) return false;
  std::string head(kDataPrefix, '\0');
  data.read(0, head.data(), head.size());
  return head == std::string(kDataMagic) + index.id;
}

Tensor read_strings(const std::string& bytes, const StoredTensor& t,
                    const std::string& prefix) {
  const auto n = static_cast<size_t>(t.shape.num_elements());
  std::vector<std::string> strings;
  size_t at = n * sizeof(uint64_t);
  for (size_t i = 0; i < n; ++i) {
    uint64_t size;
    std::memcpy(&size, bytes.data() + i * sizeof size, sizeof size);
    if (size > bytes.size() - at) {
      throw DataLossError(fmt::format(
          "{}: the strings of '{}' are longer than their bytes.", prefix, t.name));
    }
    strings.push_back(bytes.substr(at, size));
    at += size;
  }
  return tensor_from_strings(strings, t.shape);
}

}  // namespace

struct CheckpointReader::State {
  std::string prefix;
  Index index;
  std::unique_ptr<OpenFile> data;
};

CheckpointReader::CheckpointReader(const std::string& prefix) {
  auto state = std::make_shared<State>();
  state->prefix = prefix;
  state->index = read_index(prefix);
  // Another process may save over the checkpoint between the opening of the two files:
  // then the index is a new one when it is read again.
  for (int tries = 0; !state->data; ++tries) {
    const std::string path = folder_of(prefix) + "/" + state->index.data;
    std::string problem;
    try {
      auto data = std::make_unique<OpenFile>(path);
      if (!belongs(*data, state->index)) {
        problem = "is not the data that belongs to the index";
      } else if (data->size() < state->index.data_bytes) {
        problem = fmt::format("has {} bytes of {}: it was cut off", data->size(),
                              state->index.data_bytes);
      } else {
        state->data = std::move(data);
      }
    } catch (const NotFoundError&) {
      problem = "is not there, though the index is";
    }
    if (state->data) break;
    const std::string before = state->index.id;
    state->index = read_index(prefix);
    if (tries == kMostTries || state->index.id == before) {
      throw DataLossError(
          fmt::format("{} {}. Use an earlier checkpoint.", path, problem));
    }
  }
  state_ = std::move(state);
}

const std::string& CheckpointReader::prefix() const { return state_->prefix; }

const std::vector<StoredTensor>& CheckpointReader::tensors() const {
  return state_->index.tensors;
}

const StoredTensor* CheckpointReader::find(const std::string& name) const {
  const auto& all = state_->index.tensors;
  const auto found = std::ranges::lower_bound(all, name, {}, &StoredTensor::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

Tensor CheckpointReader::read(const std::string& name) const {
  const StoredTensor* t = find(name);
  if (!t) {
    throw NotFoundError(
        fmt::format("Key {} not found in checkpoint {}", name, state_->prefix));
  }
  const bool strings = t->dtype == DType::kString;
  std::string bytes;
  Tensor result;
  char* to = nullptr;
  if (strings) {
    bytes.resize(t->bytes);
    to = bytes.data();
  } else {
    result = make_tensor(Runtime::get().cpu(), t->dtype, t->shape);
    to = static_cast<char*>(result.impl()->data());
  }
  state_->data->read(t->offset, to, t->bytes);
  if (crc32c({to, t->bytes}) != t->checksum) {
    throw DataLossError(
        fmt::format("{}: the checksum of '{}' is wrong: the file was changed after it "
                    "was written. Use "
                    "an earlier checkpoint.",
                    state_->prefix, name));
  }
  return strings ? read_strings(bytes, *t, state_->prefix) : result;
}

void CheckpointReader::restore(const std::string& name, Variable variable) const {
  const Tensor value = read(name);
  if (value.dtype() != variable.dtype()) {
    throw InvalidArgumentError(fmt::format(
        "tensor_name = {}; expected dtype {} does not equal original dtype {}", name,
        dtype_name(variable.dtype()), dtype_name(value.dtype())));
  }
  if (!variable.shape().compatible_with(value.shape())) {
    throw ValueError(fmt::format(
        "Received incompatible tensor with shape {} when attempting to restore variable "
        "with shape {} and name {}.",
        value.shape().str(), variable.shape().str(), variable.name()));
  }
  variable.assign(value);
}

}  // namespace tandem
