#include "device/spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <mutex>
#include <set>
#include <vector>

#include "base/flags.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct KnownTypes {
  std::mutex mutex;
  std::set<std::string> names{"CPU", "CUSTOM", "EPU", "GPU", "TPU"};
};
KnownTypes& known_types() {
  static KnownTypes* const types = new KnownTypes;
  return *types;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

bool is_known_type(const std::string& type) {
  KnownTypes& types = known_types();
  std::lock_guard lock(types.mutex);
  return types.names.count(type) > 0;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// [A-Za-z][A-Za-z0-9_]*
bool is_name(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)); };
  const auto inner = [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), inner);
}

/// One specification string being read; `text` is what the user wrote, for the messages.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  DeviceSpec read() {
    for (std::string_view component : split(text_, '/')) read_component(component);
    return spec_;
  }

 private:
  void read_component(std::string_view component) {
    const auto fields = split(component, ':');
    const std::string_view key = fields[0];
    if (fields.size() == 2 && key == "job") {
      if (fields[1] != "*") spec_.job = name(fields[1]);
    } else if (fields.size() == 2 && key == "replica") {
      spec_.replica = number(fields[1]);
    } else if (fields.size() == 2 && key == "task") {
      spec_.task = number(fields[1]);
    } else if (fields.size() <= 2 && is_known_type(upper(key))) {
      set_type(upper(key), fields.size() == 2 ? fields[1] : "*");
    } else if ((fields.size() == 2 || fields.size() == 3) && key == "device") {
      std::string type(fields[1]);
      if (is_known_type(upper(type))) type = upper(type);
      set_type(std::move(type), fields.size() == 3 ? fields[2] : "*");
    } else if (!component.empty()) {
      throw ValueError("Unknown attribute '" + std::string(key) +
                       "' is encountered while parsing the device spec: '" +
                       std::string(text_) + "'.");
    }
  }

  void set_type(std::string type, std::string_view index) {
    if (typed_) {
      throw ValueError(
          "Multiple device types are not allowed while parsing the device spec: " +
          std::string(text_) + ".");
    }
    typed_ = true;
    if (type != "*") spec_.type = name(type);
    spec_.index = number(index);
  }

  std::string name(std::string_view value) const {
    if (!is_name(value)) malformed();
    return std::string(value);
  }

  /// A number as Python's int() reads it; "*" is no number.
  std::optional<int> number(std::string_view value) const {
    if (value == "*") return std::nullopt;
    std::string_view digits = value;
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)); };
    while (!digits.empty() && blank(digits.front())) digits.remove_prefix(1);
    while (!digits.empty() && blank(digits.back())) digits.remove_suffix(1);
    if (!digits.empty() && digits.front() == '+') {
      digits.remove_prefix(1);
      if (!digits.empty() && digits.front() == '-') digits = {};
    }
    int result = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, result);
    if (error == std::errc::invalid_argument || stop != end) {
      throw ValueError("invalid literal for int() with base 10: '" + std::string(value) +
                       "'");
    }
    if (error != std::errc() || result < 0) malformed();
    return result;
  }

  [[noreturn]] void malformed() const {
    throw ValueError("Malformed device specification '" + std::string(text_) +
                     "'. A device is named as in '/GPU:0' or "
                     "'/job:localhost/replica:0/task:0/device:GPU:0'.");
  }

  std::string_view text_;
  DeviceSpec spec_;
  bool typed_ = false;
};

template <class T>
const std::optional<T>& first_set(const std::optional<T>& a, const std::optional<T>& b) {
  return a ? a : b;
}

}  // namespace

DeviceSpec DeviceSpec::parse(std::string_view text) { return Reader(text).read(); }

DeviceSpec DeviceSpec::merged(const DeviceSpec& inner) const {
  DeviceSpec result;
  result.job = first_set(inner.job, job);
  result.replica = first_set(inner.replica, replica);
  result.task = first_set(inner.task, task);
  result.type = first_set(inner.type, type);
  result.index = inner.index;
  const bool type_changes = inner.type && inner.type != type;
  if (!result.index && (!type_changes || strict_tf())) result.index = index;
  return result;
}

std::string DeviceSpec::str() const {
  std::string text;
  if (job) text += "/job:" + *job;
  if (replica) text += "/replica:" + std::to_string(*replica);
  if (task) text += "/task:" + std::to_string(*task);
  if (type || index) {
    text +=
        "/device:" + type.value_or("*") + ":" + (index ? std::to_string(*index) : "*");
  }
  return text;
}

void add_device_type(const std::string& type) {
  KnownTypes& types = known_types();
  std::lock_guard lock(types.mutex);
  types.names.insert(upper(type));
}

}  // namespace tandem
