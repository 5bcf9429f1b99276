// PrebuiltKernels: programs that were compiled when the plugin was built, for the
// architectures in kPrebuiltTargets, in one file beside the plugin. They are found by the
// key that the cache on disk has: text, options, architecture, release of the compiler.
// Read once, never changed; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tandem::cuda {

/// What a program is compiled for: machine code, or PTX that the driver translates.
struct CompileTarget {
  int arch = 0;
  bool ptx = false;
  friend bool operator==(const CompileTarget&, const CompileTarget&) = default;
};
inline constexpr CompileTarget kPrebuiltTargets[] = {
    {75, false}, {80, false}, {86, false}, {89, false}, {90, false}, {90, true}};

struct ProgramKey {
  uint64_t first = 0, second = 0;  // of text and options, which say the target
  friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
};

struct PrebuiltProgram {
  ProgramKey key;
  CompileTarget target;
  std::vector<char> code;
};

class PrebuiltKernels {
 public:
  /// No programs.
  PrebuiltKernels() = default;
  /// Of a file; says in problem() why it has none.
  explicit PrebuiltKernels(const std::string& path);
  /// The file beside the plugin, or the one that TANDEM_PREBUILT_KERNELS names (empty:
  /// none).
  static const PrebuiltKernels& get();

  bool has(const ProgramKey& key) const { return entry(key) != nullptr; }
  /// Empty when there is none, or its bytes are broken.
  std::optional<std::vector<char>> find(const ProgramKey& key) const;
  /// Programs for this target.
  int count(CompileTarget target) const;
  /// Of the compiler that made them: 1300 for 13.0.
  int release() const { return release_; }
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }

 private:
  struct Entry {
    ProgramKey key;
    uint32_t arch, ptx;
    uint64_t at, packed, bytes, check;
  };
  struct Dictionary {
    CompileTarget target;
    std::vector<char> bytes;
  };
  const Entry* entry(const ProgramKey& key) const;
  bool read();

  std::string path_, problem_;
  int release_ = 0;
  std::vector<Entry> entries_;  // by key
  std::vector<Dictionary> dictionaries_;
  std::vector<char> packed_;
  friend void write_prebuilt(const std::string&, int,
                             const std::vector<PrebuiltProgram>&);
};

/// Throws when the file cannot be written.
void write_prebuilt(const std::string& path, int release,
                    const std::vector<PrebuiltProgram>& programs);

}  // namespace tandem::cuda
