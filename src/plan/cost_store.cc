#include "plan/cost_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/flags.h"
#include "base/log.h"
#include "device/measured_with.h"
#include "tandem/precision.h"

namespace tandem {

namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS costs (key TEXT PRIMARY KEY, us REAL NOT NULL)"
    " WITHOUT ROWID;";

std::string default_path() {
  const char* given = std::getenv("TANDEM_COST_STORE");
  if (given) return std::string(given) == "off" ? std::string() : std::string(given);
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder = cache && *cache ? cache
                       : home          ? std::string(home) + "/.cache"
                                       : "";
  if (folder.empty()) return {};
  folder += "/tandem";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::string() : folder + "/costs.sqlite";
}

// The processor's model: costs of one do not hold on another.
const std::string& machine_name() {
  static const std::string name = [] {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
      if (line.rfind("model name", 0) == 0) {
        const size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
      }
    }
    return std::string("unknown processor");
  }();
  return name;
}

}  // namespace

struct CostStore::State {
  std::mutex mutex;
  std::unordered_map<std::string, double> known;
  sqlite3* db = nullptr;
  sqlite3_stmt* select = nullptr;
  sqlite3_stmt* insert = nullptr;

  void close() {
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    select = insert = nullptr;
    db = nullptr;
  }
};

CostStore::CostStore(const std::string& path)
    : path_(path), state_(std::make_unique<State>()) {
  if (path.empty()) return;
  State& s = *state_;
  const bool opened =
      sqlite3_open(path.c_str(), &s.db) == SQLITE_OK &&
      sqlite3_busy_timeout(s.db, 200) == SQLITE_OK &&
      sqlite3_exec(s.db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;", nullptr,
                   nullptr, nullptr) == SQLITE_OK &&
      sqlite3_exec(s.db, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(s.db, "SELECT us FROM costs WHERE key = ?1", -1, &s.select,
                         nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(s.db, "INSERT OR REPLACE INTO costs VALUES (?1, ?2)", -1,
                         &s.insert, nullptr) == SQLITE_OK;
  if (opened) return;
  logging::line(fmt::format(
      "The cost store {} cannot be used ({}); costs are kept in memory. Remove the file, "
      "or name another with TANDEM_COST_STORE.",
      path, s.db ? sqlite3_errmsg(s.db) : "out of memory"));
  s.close();
  path_.clear();
}

CostStore::~CostStore() { state_->close(); }

CostStore& CostStore::get() {
  // Never destroyed: plans may be made until the process ends.
  static auto* store = new CostStore(default_path());
  return *store;
}

std::optional<double> CostStore::find(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->known.find(key);
  if (found != state_->known.end()) return found->second;
  if (!state_->select) return std::nullopt;
  sqlite3_stmt* q = state_->select;
  sqlite3_bind_text(q, 1, key.data(), static_cast<int>(key.size()), SQLITE_TRANSIENT);
  std::optional<double> us;
  if (sqlite3_step(q) == SQLITE_ROW) us = sqlite3_column_double(q, 0);
  sqlite3_reset(q);
  if (us) state_->known[key] = *us;
  return us;
}

void CostStore::put(const std::string& key, double us) {
  std::lock_guard lock(state_->mutex);
  state_->known[key] = us;
  if (!state_->insert) return;
  sqlite3_stmt* q = state_->insert;
  sqlite3_bind_text(q, 1, key.data(), static_cast<int>(key.size()), SQLITE_TRANSIENT);
  sqlite3_bind_double(q, 2, us);
  // Another process may hold the file; the next run measures again.
  sqlite3_step(q);
  sqlite3_reset(q);
}

std::string cost_key(const Signature& s, const std::string& kernel) {
  std::string key =
      fmt::format("{}|{}|{}|t{}", machine_name(), kernel, s.op->name, s.threads);
  if (s.device && s.device->platform() != kHostPlatform) {
    key += fmt::format("|{} {}{}", platform_name(s.device->platform()),
                       measured_with(*s.device, kernel),
                       config::tensor_float_32_execution_enabled() ? "" : " exact");
  }
  if (s.attrs.data) key += "|" + s.attrs.type->to_json(s.attrs.data);
  for (const TensorInfo& t : s.inputs) {
    key += fmt::format("|{}{}", dtype_name(t.dtype), t.shape.debug_str());
    if (t.has_value) {
      for (int64_t v : t.value) key += fmt::format(":{}", v);
    }
  }
  return key;
}

}  // namespace tandem
