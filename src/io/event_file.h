// Event files, as TensorBoard reads them: records of TFRecord framing, each an Event
// message. Events reach the file when there are `max_queue` of them, when
// `flush_millis` have passed, at flush() and at the end. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/record_file.h"
#include "base/wire.h"

namespace tandem {

struct EventFileOptions {
  int64_t max_queue = 10;
  int64_t flush_millis = 120'000;
  std::string suffix = ".v2";
};

class EventFile {
 public:
  /// Makes `folder` and a file in it whose name nobody else uses.
  explicit EventFile(const std::string& folder, EventFileOptions options = {});
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  /// `field` is the number of `contents` in Event: 4 a graph, 5 a summary.
  void add(int64_t step, int field, const WireMessage& contents);
  void add(int64_t step, int field, std::string_view contents);
  void flush();
  const std::string& path() const { return path_; }

 private:
  void flush_locked();

  const EventFileOptions options_;
  std::string path_;
  std::mutex mutex_;
  std::optional<RecordWriter> file_;  // made once the path is known
  int64_t queued_ = 0;
  std::chrono::steady_clock::time_point last_flush_;
};

}  // namespace tandem
