#include "plan/cost_store.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <cblas.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <sched.h>
#include <sqlite3.h>

#include "base/log.h"
#include "base/trusted_files.h"
#include "base/version.h"
#include "device/measured_with.h"
#include "tandem/precision.h"

namespace tandem {

namespace {

// Version 1 had keys and times only; such a file is emptied.
constexpr int kVersion = 2;
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS times (key TEXT PRIMARY KEY, us REAL NOT NULL, spread "
    "REAL NOT NULL,"
    " runs INTEGER NOT NULL, busy INTEGER NOT NULL, cores INTEGER NOT NULL, hour INTEGER "
    "NOT NULL,"
    " versions TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS times_by_age ON times (hour);";
constexpr const char* kSelect =
    "SELECT us, spread, runs, busy, cores, hour, versions FROM times WHERE key = ?1";
constexpr const char* kInsert =
    "INSERT OR REPLACE INTO times VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
constexpr const char* kForget =
    "DELETE FROM times WHERE key IN (SELECT key FROM times ORDER BY hour LIMIT"
    " MAX(0, (SELECT COUNT(*) FROM times) - {}))";
// Rows are counted once in so many insertions.
constexpr int kInsertionsPerCount = 256;

std::string default_path() {
  if (const char* given = std::getenv("TANDEM_COST_STORE")) {
    return std::string(given) == "off" ? std::string() : std::string(given);
  }
  const std::string folder = cache_folder();
  return make_cache_folder(folder) ? folder + "/costs.sqlite" : std::string();
}

int64_t hours_now() {
  using namespace std::chrono;
  return duration_cast<hours>(system_clock::now().time_since_epoch()).count();
}

int cores_now() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 0;
  return CPU_COUNT(&set);
}

/// What a time of the host depends on beside its key; a key of another device has its
/// driver's and libraries' versions.
const std::string& versions_now() {
  static const std::string text = [] {
    const dnnl_version_t* dnnl = dnnl_version();
    return fmt::format("tandem {}, oneDNN {}.{}.{}, {}", TANDEM_VERSION, dnnl->major,
                       dnnl->minor, dnnl->patch, openblas_get_config());
  }();
  return text;
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
  // What this process used: of two generations the older is dropped when the younger is
  // full. A file still has what is dropped.
  std::unordered_map<std::string, Row> known, known_before;
  sqlite3* db = nullptr;
  sqlite3_stmt* select = nullptr;
  sqlite3_stmt* insert = nullptr;
  int insertions = 0;
  int checks = kChecks;

  bool open(const std::string& path) {
    return sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
           sqlite3_busy_timeout(db, 200) == SQLITE_OK &&
           run("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;") && is_ours() &&
           run(kSchema) &&
           sqlite3_prepare_v2(db, kSelect, -1, &select, nullptr) == SQLITE_OK &&
           sqlite3_prepare_v2(db, kInsert, -1, &insert, nullptr) == SQLITE_OK;
  }

  bool run(const std::string& text) {
    return sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  int64_t number(const char* query) {
    sqlite3_stmt* q = nullptr;
    if (sqlite3_prepare_v2(db, query, -1, &q, nullptr) != SQLITE_OK) return -1;
    const int64_t value = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    sqlite3_finalize(q);
    return value;
  }

  /// A new file, one of version 1, or one of this version; a newer one is left alone.
  bool is_ours() {
    const int64_t version = number("PRAGMA user_version");
    if (version == kVersion) return true;
    if (version != 0) return false;
    return run("DROP TABLE IF EXISTS costs") &&
           run(fmt::format("PRAGMA user_version={}", kVersion));
  }

  void close() {
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    select = insert = nullptr;
    db = nullptr;
  }

  std::optional<Row> read(const std::string& key) {
    if (!select) return std::nullopt;
    sqlite3_bind_text(select, 1, key.data(), static_cast<int>(key.size()),
                      SQLITE_TRANSIENT);
    std::optional<Row> row;
    if (sqlite3_step(select) == SQLITE_ROW) {
      row.emplace();
      row->time = {sqlite3_column_double(select, 0), sqlite3_column_double(select, 1),
                   sqlite3_column_int(select, 2), sqlite3_column_int(select, 3) != 0};
      row->cores = sqlite3_column_int(select, 4);
      row->hour = sqlite3_column_int64(select, 5);
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(select, 6));
      row->versions = text ? text : "";
    }
    sqlite3_reset(select);
    return row;
  }

  void write(const std::string& key, const Row& row) {
    if (!insert) return;
    const auto text = [&](int at, const std::string& value) {
      sqlite3_bind_text(insert, at, value.data(), static_cast<int>(value.size()),
                        SQLITE_TRANSIENT);
    };
    text(1, key);
    sqlite3_bind_double(insert, 2, row.time.us);
    sqlite3_bind_double(insert, 3, row.time.spread);
    sqlite3_bind_int(insert, 4, row.time.runs);
    sqlite3_bind_int(insert, 5, row.time.busy);
    sqlite3_bind_int(insert, 6, row.cores);
    sqlite3_bind_int64(insert, 7, row.hour);
    text(8, row.versions);
    // Another process may hold the file; the next run measures again.
    sqlite3_step(insert);
    sqlite3_reset(insert);
    if (insertions++ % kInsertionsPerCount == 0) run(fmt::format(kForget, kMostRows));
  }

  std::optional<Row> find(const std::string& key) {
    if (const Row* found = recall(key)) return *found;
    return read(key);
  }

  const Row* recall(const std::string& key) {
    if (const auto found = known.find(key); found != known.end()) return &found->second;
    const auto found = known_before.find(key);
    if (found == known_before.end()) return nullptr;
    keep(key, Row(found->second));
    return &known.at(key);
  }

  void keep(const std::string& key, const Row& row) {
    if (known.size() >= static_cast<size_t>(kMostInMemory) / 2 && !known.contains(key)) {
      known_before = std::exchange(known, {});
    }
    known.insert_or_assign(key, row);
    known_before.erase(key);
  }
};

CostStore::CostStore(const std::string& path)
    : path_(path), state_(std::make_unique<State>()) {
  if (path.empty()) return;
  std::error_code error;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (is_on_network(folder)) {
    path_.clear();
    return;
  }
  State& s = *state_;
  std::string why =
      std::filesystem::exists(path, error) ? reason_to_distrust(path) : std::string();
  if (why.empty() && s.open(path)) return;
  if (why.empty()) why = s.db ? sqlite3_errmsg(s.db) : "out of memory";
  logging::line(fmt::format(
      "The cost store {} cannot be used ({}); costs are kept in memory. Remove the file, "
      "or name another with TANDEM_COST_STORE.",
      path, why));
  s.close();
  path_.clear();
}

CostStore::~CostStore() { state_->close(); }

CostStore& CostStore::get() {
  // Never destroyed: plans may be made until the process ends.
  static auto* store = new CostStore(default_path());
  return *store;
}

std::optional<CostStore::Row> CostStore::row(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  return state_->find(key);
}

void CostStore::put_row(const std::string& key, const Row& row) {
  std::lock_guard lock(state_->mutex);
  state_->keep(key, row);
  state_->write(key, row);
}

int64_t CostStore::rows() {
  std::lock_guard lock(state_->mutex);
  if (!state_->db) {
    return static_cast<int64_t>(state_->known.size() + state_->known_before.size());
  }
  return state_->number("SELECT COUNT(*) FROM times");
}

std::optional<double> CostStore::find(const std::string& key) {
  std::lock_guard lock(state_->mutex);
  // What this process has measured or used lately holds: its plans agree with each other.
  if (const Row* known = state_->recall(key)) return known->time.us;
  const std::optional<Row> row = state_->read(key);
  if (!row || row->versions != versions_now() || row->cores != cores_now())
    return std::nullopt;
  const int64_t age = hours_now() - row->hour;
  if (age < 0 || age > kDays * 24 || (row->time.busy && age >= kBusyHours))
    return std::nullopt;
  if (age >= 24 && state_->checks > 0) {
    --state_->checks;
    return std::nullopt;
  }
  state_->keep(key, *row);
  return row->time.us;
}

void CostStore::put(const std::string& key, const MeasuredTime& measured) {
  Row row{measured, hours_now(), cores_now(), versions_now()};
  std::lock_guard lock(state_->mutex);
  if (const std::optional<Row> before = state_->find(key);
      before && before->versions == row.versions) {
    const double apart =
        std::max(before->time.us, measured.us) / std::min(before->time.us, measured.us) -
        1;
    // A time that was taken on a quiet machine is not replaced by one that was not, if
    // they agree.
    if (apart <= std::max({before->time.spread, measured.spread, 0.1})) {
      row.time.runs = static_cast<int>(
          std::min<int64_t>(int64_t{before->time.runs} + measured.runs, 1 << 20));
      row.time.us = std::min(before->time.us, measured.us);
      row.time.busy = measured.busy && before->time.busy;
    } else {
      state_->checks += kChecks;  // others may be wrong, too
    }
  }
  state_->keep(key, row);
  state_->write(key, row);
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
