// Compiler: CUDA C++ text to machine code for one architecture, through NVRTC (which
// needs no GPU), with a cache on disk: a program is compiled once per machine. Files are
// written beside and renamed, so that several processes may share the folder. Any thread;
// programs compile in parallel.
#pragma once

#include <string>
#include <vector>

namespace tandem::cuda {

struct Binary {
  std::vector<char> code;  // a cubin, or PTX for an architecture newer than NVRTC
  bool from_disk = false;
};

/// Throws InternalError with the compiler's log and the numbered text.
Binary compile(const std::string& name, const std::string& source, int arch);

/// Where compiled programs are kept: TANDEM_CACHE_DIR, else the user's cache folder;
/// empty: nowhere (TANDEM_CACHE_DIR set to nothing).
std::string cache_folder();
/// The file name of a program: changes with the text, the options and the compiler.
std::string cache_name(const std::string& source, int arch);

}  // namespace tandem::cuda
