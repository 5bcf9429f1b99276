// `tandem doctor`, `devices` and `ops`: what they print and how they end.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "op/op_def.h"

namespace tandem {
namespace {

struct Result {
  int code = -1;
  std::string text;  // standard output and error
};

/// Runs the command in an environment without the user's own settings.
Result tandem(const std::string& arguments, const std::string& environment = "") {
  const std::string line =
      "env -u TANDEM_EMULATE_GPUS -u TANDEM_EMULATED_MEMORY_MB -u TANDEM_PLUGIN_PATH " +
      environment + " '" TANDEM_COMMAND "' " + arguments + " 2>&1";
  Result result;
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return result;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.text.append(buffer, n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

#define EXPECT_SAYS(result, part) \
  EXPECT_NE((result).text.find(part), std::string::npos) << (result).text
#define EXPECT_SILENT_ON(result, part) \
  EXPECT_EQ((result).text.find(part), std::string::npos) << (result).text

TEST(Devices, ListsTheCpu) {
  const Result r = tandem("devices");
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_SAYS(r, "physical devices\n");
  EXPECT_SAYS(r, "/physical_device:CPU:0");
  EXPECT_SAYS(r, "logical devices\n");
  EXPECT_SAYS(r, "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_SILENT_ON(r, "emulated");
}

TEST(Devices, EmulatedGpusAreCalledEmulated) {
  const Result r =
      tandem("devices", "TANDEM_EMULATE_GPUS=2 TANDEM_EMULATED_MEMORY_MB=64");
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_SAYS(r, "/physical_device:GPU:1");
  EXPECT_SAYS(r, "(emulated)");
  EXPECT_SAYS(r, "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_SAYS(r, "memory limit 64 MiB, emulated");
}

TEST(Doctor, SaysWhatIsThere) {
  const Result r = tandem("doctor");
  EXPECT_EQ(r.code, 0) << r.text;
  for (const char* part :
       {"tandem ", "physical devices\n", "libraries\n", "oneDNN", "OpenBLAS", "glibc",
        "cores\n", "usable", "memory\n", "GiB free", "no problems found\n"}) {
    EXPECT_SAYS(r, part);
  }
}

TEST(Doctor, SaysWhoOwnsTheCores) {
  const Result r = tandem("doctor", "TANDEM_EMULATE_GPUS=1");
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_SAYS(r, "GPU:0 (emulated)");
  EXPECT_SAYS(r, "CPU:0");
  EXPECT_SAYS(r, "cores ");
}

TEST(Doctor, APluginThatCannotBeLoadedIsAProblem) {
  const std::string folder = ::testing::TempDir() + "tandem_cli_test_plugins";
  ASSERT_EQ(std::system(("mkdir -p '" + folder + "' && echo no > '" + folder +
                         "/libtandem_broken.so'")
                            .c_str()),
            0);
  const Result r = tandem("doctor", "TANDEM_PLUGIN_PATH='" + folder + "'");
  EXPECT_EQ(r.code, 1) << r.text;
  EXPECT_SAYS(r, "problem: ");
  EXPECT_SAYS(r, "libtandem_broken.so");
  EXPECT_SAYS(r, "1 problem found\n");
}

TEST(Doctor, NamesTheVersionsThatABackendFindsAndNeeds) {
  const Result r = tandem("doctor", "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(r.code, 0) << r.text;
  if (r.text.find("libtandem_cuda.so") == std::string::npos) {
    GTEST_SKIP() << "the CUDA plugin was not built";
  }
  EXPECT_SAYS(r, "parts of libtandem_cuda.so\n");
  for (const char* part : {"  driver ", "  NVRTC ", "  cuBLASLt ", "  cuDNN "}) {
    EXPECT_SAYS(r, part);
  }
  EXPECT_SAYS(r, "needed: 535 (CUDA 12.2) or newer");
  EXPECT_SAYS(r, "found no device: ");
}

TEST(Ops, ListsEveryOpOnALineOfItsOwn) {
  const Result r = tandem("ops");
  EXPECT_EQ(r.code, 0);
  const size_t count = OpTable::get().all().size();
  EXPECT_SAYS(r, std::to_string(count) + " ops\n");
  EXPECT_EQ(static_cast<size_t>(std::count(r.text.begin(), r.text.end(), '\n')),
            count + 1);
  for (const OpDef* op : OpTable::get().all()) EXPECT_SAYS(r, op->name + " ");
}

TEST(Ops, SaysWhatThereIsOfEachNamedOp) {
  const Result r = tandem("ops Erf Betainc");
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_SAYS(r, "Erf(x) -> y\n");
  EXPECT_SAYS(r, "Betainc(a, b, x) -> z\n");
  EXPECT_SAYS(r, "  kernel: cpu.elementwise.Betainc\n");
  EXPECT_NE(tandem("ops Erf NoSuchOp").code, 0);
}

TEST(Ops, MarkdownIsATableOfAllOps) {
  const Result r = tandem("ops --markdown");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.text.rfind("# Ops\n", 0), 0u);
  for (const OpDef* op : OpTable::get().all()) EXPECT_SAYS(r, "\n| `" + op->name + "` |");
  // A bar inside a cell would break the row.
  size_t at = r.text.find("\n| `");
  while (at != std::string::npos) {
    const size_t end = r.text.find('\n', at + 1);
    const std::string row = r.text.substr(at + 1, end - at - 1);
    size_t bars = 0;
    for (size_t i = 0; i < row.size(); ++i)
      bars += row[i] == '|' && (i == 0 || row[i - 1] != '\\');
    EXPECT_EQ(bars, 8u) << row;
    at = r.text.find("\n| `", end);
  }
}

TEST(Ops, ThePageInTheDocumentsHasAllOps) {
  std::ifstream file(TANDEM_OPS_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const OpDef* op : OpTable::get().all()) {
    EXPECT_NE(page.find("\n| `" + op->name + "` |"), std::string::npos)
        << op->name << " is not in docs/ops.md; run: make docs";
  }
}

TEST(Ops, OneOpWithAllItsDetails) {
  const Result r = tandem("ops ReadVariableOp");
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_SAYS(r, "ReadVariableOp(resource) -> output\n");
  EXPECT_SAYS(r, "The value of a variable, as a snapshot.");
  EXPECT_SAYS(r, "gradient: yes");
  const Result assign = tandem("ops AssignVariableOp");
  EXPECT_SAYS(assign, "gradient: stops");
}

TEST(Ops, AnUnknownNameIsAnErrorWithItsClass) {
  const Result r = tandem("ops NoSuchOp");
  EXPECT_EQ(r.code, 1) << r.text;
  EXPECT_SAYS(r, "NotFoundError: Op type not registered 'NoSuchOp'");
}

TEST(Command, WrongUseSaysHowToUseIt) {
  EXPECT_NE(tandem("").code, 0);
  const Result unknown = tandem("frobnicate");
  EXPECT_NE(unknown.code, 0);
  const Result help = tandem("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"doctor", "devices", "ops"}) EXPECT_SAYS(help, command);
  EXPECT_SAYS(tandem("--version"), "tandem ");
}

TEST(Command, ABadSettingIsAnErrorNotAnAbort) {
  const Result r =
      tandem("devices", "TANDEM_EMULATE_GPUS=1 TANDEM_EMULATED_LATENCY_US=-1");
  EXPECT_EQ(r.code, 1) << r.text;
  EXPECT_SAYS(r, "TANDEM_EMULATED_LATENCY_US");
  for (const char* speed : {"0", "-1", "1.5", "nan"}) {
    const Result s = tandem(
        "devices", std::string("TANDEM_EMULATE_GPUS=1 TANDEM_EMULATED_SPEED=") + speed);
    EXPECT_EQ(s.code, 1) << s.text;
    EXPECT_SAYS(s, "TANDEM_EMULATED_SPEED");
  }
}

}  // namespace
}  // namespace tandem
