// The files of a checkpoint, for its writer and its reader (docs/checkpoints.md).
//
//   PREFIX.index                 "TDMCKPT1"  header bytes u64  CRC-32C of the header u32
//                                header (JSON): id, data file, its size, tensors
//   PREFIX.data-00000-of-00001   "TDMDATA1"  id (16 characters)  tensors at multiples of
//   64
//
// Numbers are little-endian. A string tensor is the lengths of its strings (u64 each),
// then their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/checkpoint.h"

namespace tandem::stored_checkpoint {

inline constexpr std::string_view kIndexMagic = "TDMCKPT1";
inline constexpr std::string_view kDataMagic = "TDMDATA1";
inline constexpr size_t kIndexPrefix = 8 + 8 + 4;
inline constexpr size_t kIdBytes = 16;
inline constexpr size_t kDataPrefix = 8 + kIdBytes;
inline constexpr uint64_t kAlignment = 64;
inline constexpr std::string_view kIndexEnd = ".index";
/// A save over an existing checkpoint takes the name that its index does not use, so that
/// the old data stay complete until the new index is there.
inline constexpr std::string_view kDataEnds[] = {".data-00000-of-00001",
                                                 ".data-00000-of-00001.b"};

struct Index {
  std::string id;    // of the save; stands in both files
  std::string data;  // name of the data file, in the folder of the index
  uint64_t data_bytes = 0;
  std::vector<StoredTensor> tensors;
};

std::string to_bytes(const Index& index);
/// `path` is for messages. Throws DataLossError.
Index index_from_bytes(std::string_view bytes, const std::string& path);

}  // namespace tandem::stored_checkpoint
