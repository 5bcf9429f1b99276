// How much code a repeated step passes through outside of its kernels: instructions,
// lines of cache and pages, of a whole call and of the bare launches of the same kernels.
// After kernels of milliseconds the caches know none of it, so each line costs a call
// some 60 ns; the counts are the same in every run, whatever else the machine does.
//
//   bench_footprint [CASE]    a case of bench_step; without: the LSTM
//
// A child process makes this one's thread do the steps instruction by instruction
// (ptrace), and kernels at full speed. Linux on x86-64.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/function_access.h"
#include "tandem/device.h"
#include "training.h"

namespace {

using bench::step::ModelCase;
using bench::step::ReadyStep;

constexpr uint64_t kLine = 64, kPage = 4096;

struct Range {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return begin <= address && address < end; }
};

/// Where a function of the library is, in this process and in its parent.
Range range_of(const char* symbol) {
  Dl_info info;
  ElfW(Sym)* entry = nullptr;
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  if (!address ||
      !dladdr1(address, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT)) {
    throw std::runtime_error(fmt::format("there is no function {}", symbol));
  }
  const auto begin = reinterpret_cast<uint64_t>(address);
  return {begin, begin + entry->st_size};
}

struct Footprint {
  int64_t instructions = 0;
  std::set<uint64_t> lines, pages;
  std::vector<int64_t> gaps;  // lines between two kernels
};

/// The thread `process` as another process sees it.
class Traced {
 public:
  explicit Traced(pid_t process)
      : process_(process),
        // They launch kernels: what they call through a pointer is one.
        launchers_{range_of("_ZN6tandem10Executable11run_on_hostERNS0_5FrameEmm"),
                   range_of("_ZN6tandem10Executable14replay_kernelsEl")} {
    if (ptrace(PTRACE_ATTACH, process_, nullptr, nullptr) != 0) {
      throw std::runtime_error("this machine does not let processes trace each other");
    }
    waitpid(process_, nullptr, 0);
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  ~Traced() { ptrace(PTRACE_DETACH, process_, nullptr, nullptr); }

  /// From its next breakpoint to the one after.
  Footprint between_breakpoints() {
    go(PTRACE_CONT);
    Footprint made;
    std::set<uint64_t> gap;
    for (;;) {
      const uint64_t at = registers().rip;
      const uint64_t code = word(at);
      if ((code & 0xff) == 0xcc) break;
      ++made.instructions;
      made.lines.insert(at / kLine);
      made.pages.insert(at / kPage);
      gap.insert(at / kLine);
      go(PTRACE_SINGLESTEP);
      if (!launches(at) || !calls_by_pointer(code) || launches(registers().rip)) continue;
      finish_call();
      made.gaps.push_back(static_cast<int64_t>(gap.size()));
      gap.clear();
    }
    user_regs_struct r = registers();
    ++r.rip;  // past the breakpoint
    ptrace(PTRACE_SETREGS, process_, nullptr, &r);
    return made;
  }

 private:
  user_regs_struct registers() const {
    user_regs_struct r;
    ptrace(PTRACE_GETREGS, process_, nullptr, &r);
    return r;
  }
  uint64_t word(uint64_t address) const {
    return static_cast<uint64_t>(ptrace(PTRACE_PEEKTEXT, process_, address, nullptr));
  }
  bool launches(uint64_t address) const {
    return launchers_[0].has(address) || launchers_[1].has(address);
  }
  // "call r/m": ff /2, perhaps behind a REX prefix.
  static bool calls_by_pointer(uint64_t code) {
    if ((code & 0xf0) == 0x40) code >>= 8;
    return (code & 0xff) == 0xff && (code >> 11 & 7) == 2;
  }
  void go(__ptrace_request how) {
    int status = 0;
    ptrace(how, process_, nullptr, nullptr);
    waitpid(process_, &status, 0);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
      throw std::runtime_error(fmt::format("it was stopped by status {:#x}", status));
    }
  }
  // Lets the function that was just entered run until it returns.
  void finish_call() {
    const uint64_t back = word(registers().rsp), code = word(back);
    ptrace(PTRACE_POKETEXT, process_, back, (code & ~uint64_t{0xff}) | 0xcc);
    go(PTRACE_CONT);
    ptrace(PTRACE_POKETEXT, process_, back, code);
    user_regs_struct r = registers();
    r.rip = back;
    ptrace(PTRACE_SETREGS, process_, nullptr, &r);
  }

  pid_t process_;
  std::array<Range, 2> launchers_;
};

void breakpoint() { asm volatile("int3" ::: "memory"); }

void print(const char* what, Footprint f) {
  // Before the first kernel comes the call's beginning.
  if (!f.gaps.empty()) f.gaps.erase(f.gaps.begin());
  std::sort(f.gaps.begin(), f.gaps.end());
  fmt::print("{}: {} instructions, {} lines and {} pages of code", what, f.instructions,
             f.lines.size(), f.pages.size());
  if (!f.gaps.empty()) {
    fmt::print("; {} lines between two kernels", f.gaps[f.gaps.size() / 2]);
  }
  fmt::print("\n");
}

// In the child: 0 when all went well.
int watch(pid_t process, int ready) {
  try {
    Traced steps(process);
    if (write(ready, "", 1) != 1) return 1;
    print("a call", steps.between_breakpoints());
    print("bare launches", steps.between_breakpoints());
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "lstm_b32";
  const auto& cases = bench::step::model_cases();
  const auto c = std::find_if(cases.begin(), cases.end(),
                              [&](const ModelCase& m) { return m.name == name; });
  if (c == cases.end()) {
    fmt::print(stderr, "There is no case {}.\n", name);
    return 2;
  }
  int may[2], ready[2];  // what the other waits for
  if (pipe(may) != 0 || pipe(ready) != 0) return 1;
  const pid_t process = getpid();
  const pid_t child = fork();  // before there are threads
  if (child == 0) {
    char allowed = 0;
    if (read(may[0], &allowed, 1) != 1) _exit(1);
    close(ready[0]);
    _exit(watch(process, ready[1]));
  }
  close(ready[1]);
  prctl(PR_SET_PTRACER, child, 0, 0, 0);
  char byte = 0;
  if (write(may[1], &byte, 1) != 1 || read(ready[0], &byte, 1) != 1) return 1;

  tandem::config::set_intra_op_parallelism_threads(2);
  const ReadyStep step(*c);
  const std::array<tandem::Tensor, 2> arguments = {step.training->x, step.training->y};
  const auto replay = [&] {
    return tandem::FunctionAccess::replay_kernels(step.function, arguments, 1);
  };
  for (int i = 0; i < 5; ++i) {
    step.run().wait();
    if (!replay()) {
      fmt::print(stderr, "{} is more than kernels of the host.\n", name);
      return 1;
    }
  }
  breakpoint();
  step.run().wait();
  breakpoint();
  breakpoint();
  replay();
  breakpoint();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
