#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/json.h"
#include "io/checkpoint_format.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem::stored_checkpoint {

namespace {

using nlohmann::json;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw DataLossError(fmt::format(
      "{}: {}. The file is damaged or is no index of a checkpoint; use an earlier one.",
      path, what));
}

template <class T>
T number_at(std::string_view bytes, size_t offset) {
  T v;
  std::memcpy(&v, bytes.data() + offset, sizeof v);
  return v;
}

template <class T>
std::string raw(T v) {
  std::string bytes(sizeof v, '\0');
  std::memcpy(bytes.data(), &v, sizeof v);
  return bytes;
}

StoredTensor read_tensor(const json& j, uint64_t data_bytes, const std::string& path) {
  StoredTensor t;
  t.name = j.at("name").get<std::string>();
  t.dtype = dtype_from_name(j.at("dtype").get<std::string>());
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  t.offset = j.at("offset").get<uint64_t>();
  t.bytes = j.at("bytes").get<uint64_t>();
  t.checksum = j.at("crc32c").get<uint32_t>();
  if (!t.shape.is_known() || t.offset > data_bytes || t.bytes > data_bytes - t.offset) {
    damaged(path, fmt::format("'{}' lies outside the data", t.name));
  }
  if (t.dtype == DType::kVariant || t.dtype == DType::kResource) {
    damaged(path, fmt::format("'{}' is said to be a {}, which nothing stores", t.name,
                              dtype_name(t.dtype)));
  }
  // A string takes at least its length: this bounds what a reader allocates.
  const bool fits =
      t.dtype == DType::kString
          ? t.shape.num_elements() <= static_cast<int64_t>(t.bytes / sizeof(uint64_t))
          : checked_bytes(t.dtype, t.shape) == static_cast<int64_t>(t.bytes);
  if (!fits) damaged(path, fmt::format("'{}' has not the bytes of its shape", t.name));
  return t;
}

}  // namespace

std::string to_bytes(const Index& index) {
  json tensors = json::array();
  for (const StoredTensor& t : index.tensors) {
    json shape = json::array();
    for (int64_t d : t.shape) shape.push_back(d);
    tensors.push_back({{"name", t.name},
                       {"dtype", dtype_name(t.dtype)},
                       {"shape", std::move(shape)},
                       {"offset", t.offset},
                       {"bytes", t.bytes},
                       {"crc32c", t.checksum}});
  }
  const json header = {{"id", index.id},
                       {"data", index.data},
                       {"data_bytes", index.data_bytes},
                       {"tensors", std::move(tensors)}};
  // Names that are not UTF-8 lose the bytes that are not.
  const std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  return std::string(kIndexMagic) + raw(static_cast<uint64_t>(text.size())) +
         raw(crc32c(text)) + text;
}

Index index_from_bytes(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kIndexPrefix && kIndexMagic.starts_with(bytes.substr(0, 8))) {
    damaged(path, "the head is missing");
  }
  if (!bytes.starts_with(kIndexMagic)) {
    throw DataLossError(
        fmt::format("{} is no index of a checkpoint of Tandem's: it is {}. Restore it "
                    "with the program "
                    "that wrote it.",
                    path, describe_file(path)));
  }
  const auto size = number_at<uint64_t>(bytes, 8);
  const auto checksum = number_at<uint32_t>(bytes, 16);
  const std::string_view text = bytes.substr(kIndexPrefix);
  if (size != text.size()) damaged(path, "it has not the length that it says");
  if (crc32c(text) != checksum) damaged(path, "the checksum is wrong");
  try {
    const json header = parse_json(text);
    Index index;
    index.id = header.at("id").get<std::string>();
    index.data = header.at("data").get<std::string>();
    index.data_bytes = header.at("data_bytes").get<uint64_t>();
    // Nothing is opened but what a save writes, beside the index. Both may be renamed.
    const auto end = std::ranges::find_if(
        kDataEnds, [&](std::string_view e) { return index.data.ends_with(e); });
    const std::string base = std::filesystem::path(path).filename().string();
    if (end == std::end(kDataEnds) || !base.ends_with(kIndexEnd)) {
      damaged(path, fmt::format("its data are said to be in '{}'", index.data));
    }
    index.data = base.substr(0, base.size() - kIndexEnd.size()) + std::string(*end);
    for (const json& t : header.at("tensors")) {
      index.tensors.push_back(read_tensor(t, index.data_bytes, path));
    }
    std::ranges::sort(index.tensors, {}, &StoredTensor::name);
    return index;
  } catch (const json::exception& e) {
    damaged(path, e.what());
  } catch (const InvalidArgumentError& e) {
    damaged(path, e.what());
  }
}

}  // namespace tandem::stored_checkpoint
