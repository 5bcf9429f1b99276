#include "profile/plugin_names.h"

#include <cctype>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "profile/lanes.h"

namespace tandem::profile {

namespace {

using recorder::Event;
using recorder::Kind;

std::string value_of(const Event& e, const char* name) {
  for (const auto& [key, value] : values_of(e)) {
    if (key == name) return value;
  }
  return {};
}

// The plugin takes letters, digits and "_./-" only: "Mul_Sum(2 ops)" → "Mul_Sum_2_ops".
std::string node_text(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) ||
                      (!text.empty() && std::strchr("_./-", c));
    if (fits) {
      text += c;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  return text;
}

// What a GPU says of its work has the node with what it makes: "a/MatMul float32[2,2]",
// "fused/Mul_Sum(2 ops) float32[2]".
std::string node_of_activity(const std::string& detail) {
  const size_t closed = detail.find(") ");
  return closed == std::string::npos ? detail.substr(0, detail.find(' '))
                                     : detail.substr(0, closed + 1);
}

bool is_type(const std::string& text) {
  if (text.empty() || !(std::isupper(static_cast<unsigned char>(text[0])))) return false;
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

std::string copy_kind(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {
      {"H2D", "MemcpyHToD"},
      {"D2H", "MemcpyDToH"},
      {"D2D", "MemcpyDToD"},
      {"H2H", "MemcpyHToH"},
      {"copy to the GPU", "MemcpyHToD"},
      {"copy from the GPU", "MemcpyDToH"},
      {"copy between GPUs", "MemcpyDToD"},
      {"copy on the GPU", "MemcpyDToD"},
      {"fill", "Memset"}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::string() : found->second;
}

// Of an activity the kernel; its name is that of the op it worked for.
std::string work_name(const Event& e) {
  if (e.kind == Kind::kActivity) {
    if (std::string kernel = value_of(e, "kernel"); !kernel.empty()) return kernel;
  }
  return e.name;
}

}  // namespace

std::string op_name(const Event& e) {
  std::string type = e.name, node;
  if (e.kind == Kind::kActivity) {
    type = value_of(e, "op");
    node = node_of_activity(value_of(e, "node"));
  } else if (e.kind != Kind::kOp) {
    return {};
  } else if (e.more.node) {
    node = e.more.node;
  }
  if (!is_type(type)) return {};
  node = node_text(node);
  return (node.empty() ? type : node) + ":" + type;
}

std::string op_type(const std::string& op_name) {
  return op_name.substr(op_name.find(':') + 1);
}

std::string host_name(const Event& e) {
  switch (e.kind) {
    case Kind::kOp: {
      std::string name = op_name(e);
      return name.empty() ? e.name : name;
    }
    case Kind::kCopy:
      return device_of(e).starts_with("CPU") ? copy_kind(e.name)
                                             : std::string("enqueue ") + e.name;
    case Kind::kWait:
      return std::string("wait for ") + e.lane;
    case Kind::kAlloc:
      return "MemoryAllocation";
    case Kind::kFree:
      return "MemoryDeallocation";
    case Kind::kMark:
      if (std::string path = value_of(e, "path"); path.starts_with("Iterator::")) {
        return path;
      }
      return e.name;
    default:
      return e.name;
  }
}

std::string device_name(const Event& e) {
  const std::string name = work_name(e);
  const std::string copy = copy_kind(name);
  return copy.empty() ? name : copy;
}

bool moves_bytes(const Event& e) { return !copy_kind(work_name(e)).empty(); }

std::string kernel_details(const Event& e) {
  if (e.kind != Kind::kActivity) return "grid:1,1,1 block:1,1,1";
  std::string text;
  for (const auto& [key, value] : values_of(e)) {
    const char* const name = key == "registers" ? "regs"
                             : key == "shared"  ? "static_shared"
                                                : key.c_str();
    const bool wanted = name != key || key == "grid" || key == "block";
    if (wanted) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name, value);
  }
  return text.empty() ? "grid:1,1,1 block:1,1,1" : text;
}

std::string copy_details(const Event& e) {
  return fmt::format("num_bytes:{}\nasync:1", e.bytes);
}

std::string stream_name(int64_t number, const std::string& lane) {
  const std::string kind = lane.starts_with("compute")    ? "Compute"
                           : lane.starts_with("copy_in")  ? "MemcpyHToD"
                           : lane.starts_with("copy_out") ? "MemcpyDToH"
                                                          : lane;
  return fmt::format("Stream #{}({})", number, kind);
}

}  // namespace tandem::profile
