#include "tensor/live_memory.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "device/out_of_memory.h"
#include "tensor/buffer.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

constexpr size_t kNotedBytes = 64 << 10;
// Buffers of the host come and go too often, and the host is seldom short of memory.
constexpr size_t kNotedHostBytes = 1 << 20;
constexpr size_t kLineBytes = size_t{32} << 20;
constexpr size_t kListed = 8;

struct Entry {
  const Device* device = nullptr;
  size_t bytes = 0;
  const char* role = nullptr;
  const char* name = nullptr;
  KeptText keeps;
  DType dtype = DType::kInvalid;
  Shape shape;
  MemoryLine line;
};

struct Table {
  std::mutex mutex;
  // Keeps what entries have given back: a program that repeats itself allocates nothing.
  std::pmr::unsynchronized_pool_resource pool;
  std::pmr::unordered_map<const Buffer*, Entry> entries{&pool};
};
/// Never destroyed: buffers may end while the process does.
Table& table() {
  static auto* const all = new Table;
  return *all;
}

thread_local const MemoryNote* t_wanted = nullptr;
std::atomic<MemoryLine (*)()> g_lines{nullptr};

struct Wanted {
  explicit Wanted(const MemoryNote& note) : before(t_wanted) { t_wanted = &note; }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;
  ~Wanted() { t_wanted = before; }
  const MemoryNote* before;
};

std::string text_of(const char* role, const char* name, DType dtype, const Shape* shape) {
  std::string text = role ? role : "memory of the runtime";
  if (name) text += fmt::format(" {}", name);
  if (dtype != DType::kInvalid) text += fmt::format(", {}", dtype_name(dtype));
  if (dtype != DType::kInvalid && shape) text += " " + shape->debug_str();
  return text;
}

/// Buffers that one line of the list stands for: the same thing, several times.
struct Alike {
  Entry entry;
  size_t count = 0;
  size_t bytes() const { return count * entry.bytes; }
  std::string text() const {
    const Entry& e = entry;
    const auto one = format_bytes(static_cast<int64_t>(e.bytes));
    std::string text = "  " + format_bytes(static_cast<int64_t>(bytes()));
    if (count > 1) text += fmt::format(" ({} of {})", count, one);
    text += ": " + text_of(e.role, e.name, e.dtype, &e.shape);
    if (e.line.place) text += ", at " + e.line.text(e.line.place.get());
    return text;
  }
};

std::vector<Alike> largest_first(const Device& device, size_t* buffers) {
  struct Less {
    bool operator()(const Entry& a, const Entry& b) const {
      const auto key = [](const Entry& e) {
        const std::string_view name(e.name ? e.name : "");
        return std::make_tuple(e.bytes, e.role, name, e.dtype, e.line.place.get());
      };
      if (key(a) != key(b)) return key(a) < key(b);
      return std::lexicographical_compare(a.shape.begin(), a.shape.end(), b.shape.begin(),
                                          b.shape.end());
    }
  };
  std::map<Entry, size_t, Less> groups;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    for (const auto& [buffer, entry] : all.entries) {
      if (entry.device == &device) ++groups[entry];
    }
  }
  std::vector<Alike> list;
  *buffers = 0;
  for (const auto& [entry, count] : groups) {
    list.push_back({entry, count});
    *buffers += count;
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Alike& a, const Alike& b) { return a.bytes() > b.bytes(); });
  return list;
}

}  // namespace

Ref<Buffer> allocate_for(const MemoryNote& note, Device& device, size_t bytes) {
  return allocate_for(note, device, bytes,
                      device.is_host() ? nullptr : &device.compute());
}

Ref<Buffer> allocate_for(const MemoryNote& note, Device& device, size_t bytes,
                         Stream* stream) {
  if (bytes < kNotedBytes && device.is_host()) {
    return Buffer::allocate(device, bytes, stream);
  }
  const Wanted wanted(note);
  return Buffer::allocate(device, bytes, stream);
}

void set_memory_line_provider(MemoryLine (*provider)()) { g_lines = provider; }

bool is_noted(const Device& device, size_t bytes) {
  return bytes >= kNotedBytes && (bytes >= kNotedHostBytes || !device.is_host());
}

void note_buffer(const Buffer& buffer) {
  Entry made;
  made.device = &buffer.device();
  made.bytes = buffer.bytes();
  if (const MemoryNote* note = t_wanted) {
    made.role = note->role;
    made.name = note->name;
    if (note->keeps) made.keeps = *note->keeps;
    made.dtype = note->dtype;
    if (note->shape) made.shape = *note->shape;
  }
  // A stream's thread is in no line of the program.
  const auto lines = g_lines.load(std::memory_order_relaxed);
  if (lines && is_line_noted(buffer) && !on_stream_thread) made.line = lines();
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.entries.insert_or_assign(&buffer, std::move(made));
}

bool is_line_noted(const Buffer& buffer) {
  return buffer.bytes() >= kLineBytes && !buffer.device().is_host();
}

void note_line(const Buffer& buffer, MemoryLine line) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(&buffer);
  if (found != all.entries.end()) found->second.line = std::move(line);
}

void forget_buffer(const Buffer& buffer) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.entries.erase(&buffer);
}

void note_variable(const VariableImpl& variable) {
  const Buffer& buffer = *variable.value.impl()->buffer;
  if (buffer.is_foreign() || !is_noted(buffer.device(), buffer.bytes())) return;
  auto name = std::make_shared<const std::string>("'" + variable.name + "'");
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(&buffer);
  if (found == all.entries.end()) return;
  Entry& entry = found->second;
  entry.role = "value of variable";
  entry.name = name->c_str();
  entry.keeps = std::move(name);
  entry.dtype = variable.dtype;
  entry.shape = variable.value.shape();
}

std::string explain_memory(const Device& device) {
  std::string text;
  if (const MemoryNote* note = t_wanted) {
    text += "\nIt was for: " + text_of(note->role, note->name, note->dtype, note->shape);
  }
  size_t buffers = 0;
  const std::vector<Alike> list = largest_first(device, &buffers);
  if (list.empty()) return text + "\nNo large tensor is alive there.";
  size_t bytes = 0;
  std::string lines;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i < kListed) lines += "\n" + list[i].text();
    bytes += list[i].bytes();
  }
  text += fmt::format(
      "\nAlive on {}, {} in {} large buffers, the largest first:", device.short_name(),
      format_bytes(static_cast<int64_t>(bytes)), buffers);
  text += lines;
  if (list.size() > kListed) {
    size_t rest = 0;
    for (size_t i = kListed; i < list.size(); ++i) rest += list[i].bytes();
    text += fmt::format("\n  {}: {} more kinds", format_bytes(static_cast<int64_t>(rest)),
                        list.size() - kListed);
  }
  return text;
}

}  // namespace tandem
