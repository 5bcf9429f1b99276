// CostStore: measured times of kernels on this machine, kept on disk (SQLite) so that
// each is measured once. Without a place to write, or with TANDEM_COST_STORE=off, it is
// kept in memory only. One per process; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "op/op_def.h"

namespace tandem {

class CostStore {
 public:
  /// Opens `path`; empty: memory only. A file that is damaged or cannot be opened is
  /// reported once and not used.
  explicit CostStore(const std::string& path);
  CostStore(const CostStore&) = delete;
  CostStore& operator=(const CostStore&) = delete;
  ~CostStore();

  /// The store of this process: TANDEM_COST_STORE, else costs.sqlite in the user's cache
  /// folder.
  static CostStore& get();

  /// Microseconds of a kernel for a signature.
  std::optional<double> find(const std::string& key);
  void put(const std::string& key, double us);
  /// Where it is kept; empty: in memory.
  const std::string& path() const { return path_; }

 private:
  struct State;
  std::string path_;
  std::unique_ptr<State> state_;
};

/// Machine, kernel, op, attributes, dtypes, shapes and threads in one line; for other
/// devices than the host also their model and the versions of their libraries.
std::string cost_key(const Signature& signature, const std::string& kernel);

}  // namespace tandem
