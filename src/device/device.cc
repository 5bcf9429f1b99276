#include "device/device.h"

#include <deque>
#include <mutex>

#include "tandem/error.h"

namespace tandem {
namespace {

struct Platforms {
  std::mutex mutex;
  std::deque<std::string> names{"host"};  // a deque: references to names stay valid
};
Platforms& platforms() {
  static Platforms* const all = new Platforms;
  return *all;
}

}  // namespace

Platform platform_id(const std::string& name) {
  Platforms& all = platforms();
  std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < all.names.size(); ++i) {
    if (all.names[i] == name) return static_cast<Platform>(i);
  }
  if (all.names.size() > UINT8_MAX) {
    throw InternalError("platform_id: more than 256 platforms (asked for " + name + ")");
  }
  all.names.push_back(name);
  return static_cast<Platform>(all.names.size() - 1);
}

const std::string& platform_name(Platform platform) {
  Platforms& all = platforms();
  std::lock_guard lock(all.mutex);
  if (platform >= all.names.size()) {
    throw InternalError("platform_name: no platform " + std::to_string(platform));
  }
  return all.names[platform];
}

Device::Device(Info info)
    : info_(std::move(info)),
      full_name_("/job:localhost/replica:0/task:0/device:" + info_.type + ":" +
                 std::to_string(info_.index)),
      short_name_(info_.type + ":" + std::to_string(info_.index)) {}

void Device::synchronize() {
  Stream* const streams[] = {&compute(), &copy_in(), &copy_out()};
  for (Stream* stream : streams) stream->now().host_wait();
  for (Stream* stream : streams) {
    if (auto error = stream->take_error()) std::rethrow_exception(error);
  }
}

void Device::forget_error(const std::exception_ptr& error) {
  for (Stream* stream : {&compute(), &copy_in(), &copy_out()})
    stream->forget_error(error);
}

}  // namespace tandem
