// Reads protocol-buffer messages field by field, the counterpart of base/wire.h: no
// generated code, numbers of fields are those of the published .proto files. Wrong bytes
// end the message with ok() false; nothing is read past its end. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : left_(bytes) {}

  /// Goes to the next field; false at the end or where the bytes are wrong.
  bool next() {
    if (left_.empty() || !ok_) return false;
    const uint64_t key = varint();
    field_ = static_cast<int>(key >> 3);
    kind_ = static_cast<int>(key & 7);
    if (kind_ == 0) {
      number_ = varint();
    } else if (kind_ == 1 || kind_ == 5) {
      text_ = take(kind_ == 1 ? 8 : 4);
    } else if (kind_ == 2) {
      text_ = take(varint());
    } else {
      ok_ = false;
    }
    return ok_;
  }
  int field() const { return field_; }
  /// 0: integer, 1: eight bytes, 2: text, message or packed numbers, 5: four bytes.
  int kind() const { return kind_; }
  int64_t integer() const { return static_cast<int64_t>(number_); }
  std::string_view text() const { return text_; }
  bool ok() const { return ok_; }

  /// Reads one integer of packed ones.
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  bool done() const { return left_.empty() || !ok_; }

 private:
  std::string_view take(uint64_t n) {
    if (n > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view part = left_.substr(0, n);
    left_.remove_prefix(n);
    return part;
  }

  std::string_view left_, text_;
  uint64_t number_ = 0;
  int field_ = 0, kind_ = 0;
  bool ok_ = true;
};

}  // namespace tandem
