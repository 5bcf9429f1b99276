// `tandem`: what devices and ops there are, and whether the installation is healthy.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "base/version.h"
#include "cli/commands.h"
#include "tandem/error.h"

int main(int argc, char** argv) {
  using namespace tandem::cli;
  CLI::App app{"Tandem: the CPU and the GPU work on one program at the same time."};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tandem ") + TANDEM_VERSION);

  DoctorOptions doctor_options;
  auto* doctor_command = app.add_subcommand(
      "doctor",
      "Say what devices, libraries, cores and memory there are, and what is missing");
  doctor_command->add_flag(
      "--measure", doctor_options.measure,
      "also measure matmul and memory rates of each device and its link");

  auto* devices_command =
      app.add_subcommand("devices", "List physical and logical devices");

  OpsOptions ops_options;
  auto* ops_command = app.add_subcommand("ops", "Print the op table");
  ops_command->add_flag("--markdown", ops_options.markdown, "as docs/ops.md");
  ops_command->add_option("names", ops_options.names, "ops, with all their details");

  CLI11_PARSE(app, argc, argv);
  try {
    if (*doctor_command) return doctor(doctor_options);
    if (*devices_command) return devices();
    if (*ops_command) return ops(ops_options);
  } catch (const tandem::Error& e) {
    std::fprintf(stderr, "tandem: %s: %s\n", tandem::error_class_name(e.code()),
                 e.what());
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tandem: %s\n", e.what());
    return 1;
  }
  return 0;
}
