// Compiler: CUDA C++ text to machine code for one architecture, through NVRTC (which
// needs no GPU). What was compiled when the plugin was built (prebuilt.h) is not compiled
// again, and a cache on disk sees to it that the rest is compiled once per machine. Files
// are written beside and renamed, so that several processes may share the folder. Any
// thread; programs compile in parallel.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/prebuilt.h"

namespace tandem::cuda {

struct Binary {
  std::vector<char> code;  // a cubin, or PTX for an architecture newer than NVRTC
  enum class From { kCompiler, kDisk, kPrebuilt } from = From::kCompiler;
};

/// The text with a first statement in every kernel: it may be started before those it
/// comes after are over (device/cuda/launch.h), waits for them, and lets the next one be
/// made ready.
std::string with_first_statement(const std::string& source);

/// Throws InternalError with the compiler's log and the numbered text.
Binary compile(const std::string& name, const std::string& source, int arch);
/// compile() will find it made already.
bool is_compiled(const std::string& source, int arch);

/// The file name of a program: changes with the text, the options and the compiler.
std::string cache_name(const std::string& source, int arch);

/// How many programs compile() finds prebuilt for GPUs of these architectures, or why
/// none; a line for `tandem doctor`.
std::string describe_prebuilt(const std::vector<int>& archs);

/// Makes sure that `stop`, which ends all compilations, runs at the exit of the process
/// before NVRTC's own objects are destroyed: threads that compile without them crash.
/// They come to be while it compiles, so a handler of the exit is too late for those that
/// are made after it: the first compilation is done here, the handler follows it, and
/// where it is the main thread that asks and ends, `stop` runs before all handlers.
/// Before other threads compile, each time.
void begin_compiling(CompileTarget target, void (*stop)());
/// What NVRTC makes for an architecture: machine code where it knows it, else PTX of the
/// newest older one.
CompileTarget target_for(int arch);

/// As compile(), but for a target, with a cache in this folder alone.
Binary compile_into(const std::string& cache, const std::string& name,
                    const std::string& source, CompileTarget target);
/// Of text and options.
ProgramKey program_key(const std::string& source, CompileTarget target);
/// 1300 for 13.0; throws UnavailableError when there is no compiler.
int compiler_release();

}  // namespace tandem::cuda
