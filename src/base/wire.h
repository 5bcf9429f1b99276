// Writes protocol-buffer messages field by field. TensorBoard's files are such messages;
// Tandem writes a dozen kinds of them and reads none, which these few functions do
// without generated code. Numbers of fields are those of the published .proto files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tandem {

class WireMessage {
 public:
  void integer(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void number(int field, double value) {
    key(field, 1);
    raw(value);
  }
  void number(int field, float value) {
    key(field, 5);
    raw(value);
  }
  void text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, const WireMessage& value) { text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, unsigned kind) {
    varint((static_cast<uint64_t>(field) << 3) | kind);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  template <class T>
  void raw(T value) {
    char little[sizeof value];
    std::memcpy(little, &value, sizeof value);
    bytes_.append(little, sizeof value);
  }

  std::string bytes_;
};

}  // namespace tandem
