// The subcommands of `tandem`. Each returns the exit code of the process.
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

struct DoctorOptions {
  bool measure = false;
};
int doctor(const DoctorOptions& options);

int devices();

struct OpsOptions {
  bool markdown = false;
  std::vector<std::string> names;  // only these ops; empty: all
};
int ops(const OpsOptions& options);

/// Matmul and memory rates of each device and of the links between them.
void print_measurements();

}  // namespace tandem::cli
