#include "io/event_file.h"

#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

namespace {

double wall_time() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace

EventFile::EventFile(const std::string& folder, EventFileOptions options)
    : options_(std::move(options)), last_flush_(std::chrono::steady_clock::now()) {
  static std::atomic<int64_t> number{0};
  make_folders(folder);
  while (!file_) {
    path_ = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}{}", folder,
                        static_cast<int64_t>(wall_time()), host_name(), getpid(),
                        number++, options_.suffix);
    try {
      file_.emplace(path_, RecordWriterOptions{.exclusive = true});
    } catch (const AlreadyExistsError&) {
      // Of a process of the same number, on another machine or in another container.
    }
  }
  WireMessage head;
  head.number(1, wall_time());
  head.text(3, "brain.Event:2");
  file_->write(head.bytes());
  flush();
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error& e) {
    logging::warn(e.what());
  }
}

void EventFile::add(int64_t step, int field, const WireMessage& contents) {
  add(step, field, contents.bytes());
}

void EventFile::add(int64_t step, int field, std::string_view contents) {
  WireMessage event;
  event.number(1, wall_time());
  if (step != 0) event.integer(2, step);
  event.text(field, contents);
  const std::lock_guard lock(mutex_);
  file_->write(event.bytes());
  const auto waited = std::chrono::steady_clock::now() - last_flush_;
  if (++queued_ > options_.max_queue ||
      waited > std::chrono::milliseconds(options_.flush_millis)) {
    flush_locked();
  }
}

void EventFile::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void EventFile::flush_locked() {
  file_->flush();
  queued_ = 0;
  last_flush_ = std::chrono::steady_clock::now();
}

}  // namespace tandem
