// CostStore: measured times of kernels on this machine, kept on disk (SQLite) so that
// each is measured once. Without a place to write, on a file system of the network (where
// SQLite's log does not work), or with TANDEM_COST_STORE=off, it is kept in memory only.
// One per process; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "op/op_def.h"

namespace tandem {

/// What a few runs of a kernel took.
struct MeasuredTime {
  double us = 0;      // of the fastest run
  double spread = 0;  // of the slowest over the fastest, less one
  int runs = 0;
  bool busy = false;  // others wanted the cores meanwhile
};

class CostStore {
 public:
  /// Opens `path`; empty: memory only. A file that is damaged, that others could have
  /// written, or that cannot be opened is reported once and not used.
  explicit CostStore(const std::string& path);
  CostStore(const CostStore&) = delete;
  CostStore& operator=(const CostStore&) = delete;
  ~CostStore();

  /// The store of this process: TANDEM_COST_STORE, else costs.sqlite in the user's cache
  /// folder.
  static CostStore& get();

  /// Microseconds of a kernel for a signature. Nothing where it is to be measured
  /// (again): the row is of other libraries or cores, was taken more than kBusyHours ago
  /// while the machine was busy, or was last confirmed more than kDays ago. Of rows that
  /// no process has confirmed for a day, the first kChecks are measured again; each that
  /// disagrees makes kChecks more be looked at.
  std::optional<double> find(const std::string& key);
  /// A new measurement. A row that it agrees with, within both spreads, counts its runs
  /// too; another is replaced.
  void put(const std::string& key, const MeasuredTime& measured);
  /// Where it is kept; empty: in memory.
  const std::string& path() const { return path_; }

  static constexpr int kDays = 14;
  static constexpr int kBusyHours = 1;
  static constexpr int kChecks = 4;
  /// The rows of a file; the oldest go first.
  static constexpr int kMostRows = 50'000;
  /// The rows in memory; those not used for longest go first.
  static constexpr int kMostInMemory = 8192;

  struct Row {
    MeasuredTime time;
    int64_t hour = 0;  // since 1970, of the last measurement
    int cores = 0;
    std::string versions;
  };
  /// The row as it is kept, for tests and `tandem doctor`.
  std::optional<Row> row(const std::string& key);
  /// Keeps a row as it is given.
  void put_row(const std::string& key, const Row& row);
  int64_t rows();

 private:
  struct State;
  std::string path_;
  std::unique_ptr<State> state_;
};

/// Machine, kernel, op, attributes, dtypes, shapes and threads in one line; for other
/// devices than the host also their model and the versions of their libraries.
std::string cost_key(const Signature& signature, const std::string& kernel);

}  // namespace tandem
