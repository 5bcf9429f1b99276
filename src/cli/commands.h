// The subcommands of `tandem`. Each returns the exit code of the process.
#pragma once

#include <string>

namespace tandem::cli {

struct DoctorOptions {
  bool measure = false;
};
int doctor(const DoctorOptions& options);

int devices();

struct OpsOptions {
  bool markdown = false;
  std::string name;  // only this op; empty: all
};
int ops(const OpsOptions& options);

/// Matmul and memory rates of each device and of the links between them.
void print_measurements();

}  // namespace tandem::cli
