// What a file is, by its first and last bytes, for messages about files of others.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/crc32c.h"
#include "base/file.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view begin, name;
};

constexpr Kind kKinds[] = {
    {"TDMCKPT1"sv, "the index of a Tandem checkpoint"sv},
    {"TDMDATA1"sv, "the data of a Tandem checkpoint"sv},
    {"TDMGRAPH"sv, "a function of a Tandem saved model"sv},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, such as Keras's .weights.h5 and .h5"sv},
    {"PK\x03\x04"sv, "a ZIP archive, such as Keras's .keras"sv},
    {"\x1f\x8b"sv, "a file packed by gzip"sv},
    {"\x80\x02"sv, "a Python pickle"sv},
    {"\x80\x03"sv, "a Python pickle"sv},
    {"\x80\x04"sv, "a Python pickle"sv},
    {"\x80\x05"sv, "a Python pickle"sv},
};

/// The last bytes of a table of TensorFlow's tensor bundles.
constexpr std::string_view kTableEnd = "\x57\xfb\x80\x8b\x24\x75\x47\xdb"sv;

bool is_record(std::string_view head) {
  if (head.size() < 12) return false;
  uint32_t checksum;
  std::memcpy(&checksum, head.data() + 8, sizeof checksum);
  return masked_crc32c(head.substr(0, 8)) == checksum;
}

}  // namespace

std::string describe_file(const std::string& path) {
  std::string head, tail;
  try {
    const OpenFile file(path);
    if (file.size() == 0) return "";
    head.resize(std::min<uint64_t>(file.size(), 64));
    file.read(0, head.data(), head.size());
    tail.resize(std::min<uint64_t>(file.size(), kTableEnd.size()));
    file.read(file.size() - tail.size(), tail.data(), tail.size());
  } catch (const NotFoundError&) {
    return "";
  } catch (const Error&) {
    return "something that cannot be read";
  }
  if (tail == kTableEnd) return "a table in TensorFlow's own checkpoint format";
  for (const Kind& kind : kKinds) {
    if (head.starts_with(kind.begin)) return std::string(kind.name);
  }
  if (is_record(head)) return "a file of TFRecords";
  const bool text = std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isprint(byte) || std::isspace(byte);
  });
  return text ? "a text" : "a file of a format that Tandem does not know";
}

}  // namespace tandem
