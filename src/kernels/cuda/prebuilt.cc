// The file: a header; for each target a dictionary of code that its programs have in
// common; entries by key; the programs, packed.
#include "kernels/cuda/prebuilt.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/trusted_files.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMagic = 0x6e72656b646e7402ull;  // changes with the format
constexpr const char* kFile = "libtandem_cuda.kernels";
constexpr size_t kDictionaryBytes = 96 << 10;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

struct Header {
  uint64_t magic, release, targets, programs, bytes;
};

uint64_t check_of(const std::vector<char>& code) {
  return hash_bytes({code.data(), code.size()}, kMagic);
}

template <class T>
void write(std::ostream& out, const T& value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <class T>
bool read_value(std::istream& in, T& value) {
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&value), sizeof(value)));
}
/// `left`: the bytes that the file has at most.
bool read_bytes(std::istream& in, std::vector<char>& bytes, uint64_t size,
                uint64_t left) {
  if (size > left) return false;
  bytes.resize(size);
  return static_cast<bool>(in.read(bytes.data(), static_cast<std::streamsize>(size)));
}

std::vector<char> pack(const std::vector<char>& code,
                       const std::vector<char>& dictionary) {
  constexpr int kLevel = 19;  // written once, and read at every start
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx);
  std::vector<char> packed(ZSTD_compressBound(code.size()));
  const size_t size =
      ZSTD_compress_usingDict(context.get(), packed.data(), packed.size(), code.data(),
                              code.size(), dictionary.data(), dictionary.size(), kLevel);
  if (ZSTD_isError(size)) throw InternalError(ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

/// False when what is packed does not give exactly as many bytes.
bool unpack(std::span<const char> packed, const std::vector<char>& dictionary,
            std::vector<char>& code) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  return context &&
         ZSTD_decompress_usingDict(context.get(), code.data(), code.size(), packed.data(),
                                   packed.size(), dictionary.data(),
                                   dictionary.size()) == code.size();
}

/// Beside the library or program that this code is in, or in lib/ beside its folder.
/// The file that this code is in; empty: not known.
fs::path find_plugin() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<const void*>(&find_plugin), &self) || !self.dli_fname) {
    return {};
  }
  return self.dli_fname;
}

/// Who installed the plugin may install its kernels, too.
std::optional<uid_t> owner_of(const fs::path& file) {
  struct stat s{};
  if (file.empty() || stat(file.c_str(), &s)) return {};
  return s.st_uid;
}

std::string find_file() {
  const fs::path plugin = find_plugin();
  if (plugin.empty()) return kFile;
  std::error_code error;
  fs::path folder = plugin.parent_path();
  // A program's own name may be a bare word.
  if (folder.empty()) folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path beside = folder / kFile, below = folder / ".." / "lib" / kFile;
  return !fs::exists(beside, error) && fs::exists(below, error) ? below : beside;
}

/// Pieces of programs from all over the list: what many have in common is in some.
std::vector<char> make_dictionary(const std::vector<const PrebuiltProgram*>& programs) {
  std::vector<char> bytes;
  const size_t step = std::max<size_t>(1, programs.size() / 8);
  for (size_t i = 0; i < programs.size() && bytes.size() < kDictionaryBytes; i += step) {
    const std::vector<char>& code = programs[i]->code;
    const size_t part = std::min(code.size(), kDictionaryBytes / 8);
    bytes.insert(bytes.end(), code.end() - static_cast<std::ptrdiff_t>(part), code.end());
  }
  return bytes;
}

}  // namespace

const PrebuiltKernels& PrebuiltKernels::get() {
  static const auto* const beside = [] {
    const char* const given = std::getenv("TANDEM_PREBUILT_KERNELS");
    if (given && !*given) return new PrebuiltKernels;
    return new PrebuiltKernels(given ? given : find_file());
  }();
  return *beside;
}

PrebuiltKernels::PrebuiltKernels(const std::string& path) : path_(path) {
  std::error_code error;
  if (!fs::exists(path_, error)) {
    problem_ = path_ + " is not there";
  } else if (const std::string doubt = reason_to_distrust(path_, owner_of(find_plugin()));
             !doubt.empty()) {
    problem_ = "kernels that others could have written are not used: " + doubt;
  } else if (!read()) {
    problem_ = path_ + " cannot be read, or is of another version";
    entries_.clear();
    release_ = 0;
  }
}

bool PrebuiltKernels::read() {
  std::error_code error;
  const uint64_t size = fs::file_size(path_, error);
  if (error || size > kMostBytes) return false;
  std::ifstream in(path_, std::ios::binary);
  Header header{};
  if (!read_value(in, header) || header.magic != kMagic) return false;
  if (header.targets > 64 || header.programs > size / sizeof(Entry)) return false;
  release_ = static_cast<int>(header.release);
  for (uint64_t i = 0; i < header.targets; ++i) {
    Dictionary& d = dictionaries_.emplace_back();
    uint64_t arch = 0, ptx = 0, bytes = 0;
    if (!read_value(in, arch) || !read_value(in, ptx) || !read_value(in, bytes) ||
        !read_bytes(in, d.bytes, bytes, size)) {
      return false;
    }
    d.target = {static_cast<int>(arch), ptx != 0};
  }
  entries_.resize(header.programs);
  for (Entry& e : entries_) {
    if (!read_value(in, e)) return false;
    if (e.bytes > kMostBytes || e.packed > header.bytes || e.at > header.bytes - e.packed)
      return false;
  }
  return read_bytes(in, packed_, header.bytes, size);
}

const PrebuiltKernels::Entry* PrebuiltKernels::entry(const ProgramKey& key) const {
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), key,
      [](const Entry& e, const ProgramKey& wanted) { return e.key < wanted; });
  return found != entries_.end() && found->key == key ? &*found : nullptr;
}

std::optional<std::vector<char>> PrebuiltKernels::find(const ProgramKey& key) const {
  const Entry* const e = entry(key);
  if (!e) return std::nullopt;
  const CompileTarget target{static_cast<int>(e->arch), e->ptx != 0};
  const auto dictionary =
      std::find_if(dictionaries_.begin(), dictionaries_.end(),
                   [&](const Dictionary& d) { return d.target == target; });
  if (dictionary == dictionaries_.end()) return std::nullopt;
  // What is packed says, too, how large it is: memory is taken for what both say.
  if (ZSTD_getFrameContentSize(packed_.data() + e->at, e->packed) != e->bytes) {
    return std::nullopt;
  }
  std::vector<char> code(e->bytes);
  if (!unpack({packed_.data() + e->at, e->packed}, dictionary->bytes, code) ||
      check_of(code) != e->check) {
    return std::nullopt;
  }
  return code;
}

int PrebuiltKernels::count(CompileTarget target) const {
  return static_cast<int>(
      std::count_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
        return static_cast<int>(e.arch) == target.arch && (e.ptx != 0) == target.ptx;
      }));
}

void write_prebuilt(const std::string& path, int release,
                    const std::vector<PrebuiltProgram>& programs) {
  std::vector<PrebuiltKernels::Entry> entries;
  std::vector<std::pair<CompileTarget, std::vector<char>>> dictionaries;
  std::vector<char> packed;
  for (const CompileTarget target : kPrebuiltTargets) {
    std::vector<const PrebuiltProgram*> here;
    for (const PrebuiltProgram& p : programs) {
      if (p.target == target) here.push_back(&p);
    }
    const auto& dictionary =
        dictionaries.emplace_back(target, make_dictionary(here)).second;
    for (const PrebuiltProgram* p : here) {
      const std::vector<char> small = pack(p->code, dictionary);
      entries.push_back({p->key, static_cast<uint32_t>(target.arch), target.ptx,
                         packed.size(), small.size(), p->code.size(), check_of(p->code)});
      packed.insert(packed.end(), small.begin(), small.end());
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  const std::string fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::binary);
    write(out, Header{kMagic, static_cast<uint64_t>(release), dictionaries.size(),
                      entries.size(), packed.size()});
    for (const auto& [target, bytes] : dictionaries) {
      write(out, static_cast<uint64_t>(target.arch));
      write(out, static_cast<uint64_t>(target.ptx));
      write(out, static_cast<uint64_t>(bytes.size()));
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    for (const auto& e : entries) write(out, e);
    out.write(packed.data(), static_cast<std::streamsize>(packed.size()));
    if (!out.flush()) throw InternalError(fresh + " cannot be written");
  }
  fs::rename(fresh, path);
}

}  // namespace tandem::cuda
