#include "base/log.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/flags.h"

namespace tandem::logging {
namespace {

std::atomic<void (*)(std::string_view)> line_sink{nullptr};

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::warn;
}

std::optional<Level> level_from_name(const std::string& name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warn") return Level::kWarn;
  if (name == "error") return Level::kError;
  return std::nullopt;
}

/// Loggers are never destroyed: threads may still write while the process exits.
spdlog::logger* make_logger(const char* pattern, spdlog::level::level_enum level) {
  auto* logger =
      new spdlog::logger("tandem", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(pattern);
  logger->set_level(level);
  logger->flush_on(level);
  return logger;
}

spdlog::logger& leveled() {
  static spdlog::logger* const logger = [] {
    const auto name = env_string("TANDEM_LOG");
    const auto level = name ? level_from_name(*name) : Level::kWarn;
    auto* made = make_logger("%Y-%m-%d %H:%M:%S.%e tandem %l: %v",
                             to_spdlog(level.value_or(Level::kWarn)));
    if (!level) {
      made->warn("TANDEM_LOG={}: debug, info, warn or error is expected.", *name);
    }
    return made;
  }();
  return *logger;
}

spdlog::logger& plain() {
  static spdlog::logger* const logger = make_logger("%v", spdlog::level::trace);
  return *logger;
}

}  // namespace

void write(Level level, std::string_view message) {
  leveled().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

void line(std::string_view message) {
  if (auto* sink = line_sink.load(std::memory_order_acquire)) {
    sink(message);
    return;
  }
  plain().log(spdlog::level::info, spdlog::string_view_t(message.data(), message.size()));
}

void set_line_sink(void (*sink)(std::string_view)) {
  line_sink.store(sink, std::memory_order_release);
}

}  // namespace tandem::logging
