// Reading, writing and finding files; numbers, base64 and sound from bytes.
#include "tandem/ops/files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <glob.h>

#include "base/file.h"
#include "kernels/cpu/strings_register.h"
#include "op/kernel.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

namespace fs = std::filesystem;

struct PathsPlan {
  int64_t n = 0;
};
PathsPlan prepare_paths(const Signature& s) { return {s.in(0).shape.num_elements()}; }

[[noreturn]] void fail_file(const std::string& name, int error) {
  const std::string message = fmt::format("{}; {}", name, std::strerror(error));
  if (error == ENOENT) throw NotFoundError(message);
  if (error == EACCES || error == EPERM) throw PermissionDeniedError(message);
  if (error == EISDIR || error == ENOTDIR) throw FailedPreconditionError(message);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    throw ResourceExhaustedError(message);
  }
  throw UnknownError(message);
}

void launch_read(const PathsPlan&, const LaunchArgs& a) {
  const std::string name = checked_path(*a.in<std::string>(0));
  std::string& out = *a.out<std::string>();
  std::error_code wrong;
  if (fs::is_directory(name, wrong)) fail_file(name, EISDIR);
  errno = 0;
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) fail_file(name, errno ? errno : ENOENT);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (size >= 0) {
    out.resize(static_cast<size_t>(size));
    file.seekg(0);
    file.read(out.data(), size);
    out.resize(static_cast<size_t>(file.gcount()));
  } else {  // a pipe
    file.clear();
    out.assign(std::istreambuf_iterator<char>(file), {});
  }
}

void launch_write(const PathsPlan&, const LaunchArgs& a) {
  const std::string name = checked_path(*a.in<std::string>(0));
  const std::string& contents = *a.in<std::string>(1);
  std::error_code ignored;
  if (const fs::path folder = fs::path(name).parent_path(); !folder.empty()) {
    fs::create_directories(folder, ignored);
  }
  errno = 0;
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  if (file) file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file) fail_file(name, errno ? errno : EIO);
}

void launch_matching(const PathsPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  std::set<std::string> names;
  for (int64_t i = 0; i < p.n; ++i) {
    glob_t found{};
    if (glob(checked_path(a.in<std::string>(0)[i]).c_str(), 0, nullptr, &found) == 0) {
      for (size_t k = 0; k < found.gl_pathc; ++k) names.insert(found.gl_pathv[k]);
    }
    globfree(&found);
  }
  auto* out = static_cast<std::string*>(
      outputs.allocate(0, {static_cast<int64_t>(names.size())}));
  std::copy(names.begin(), names.end(), out);
}

// ---- Numbers from bytes

struct RawPlan {
  io::DecodeRawAttrs attrs;
  Shape shape;
  int64_t n = 0;
  size_t element = 1, half = 1;  // half: of a complex number
};
RawPlan prepare_raw(const Signature& s) {
  const auto& a = s.attrs.as<io::DecodeRawAttrs>();
  RawPlan p{a, s.in(0).shape, s.in(0).shape.num_elements(), dtype_size(a.out_type), 1};
  p.half = is_complex(a.out_type) ? p.element / 2 : p.element;
  return p;
}
void launch_raw(const RawPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const auto* in = a.in<std::string>(0);
  size_t width = static_cast<size_t>(p.attrs.fixed_length);
  if (width == 0 && p.n > 0) width = in[0].size();
  for (int64_t i = 0; p.attrs.fixed_length == 0 && i < p.n; ++i) {
    if (in[i].size() != width) {
      throw InvalidArgumentError(fmt::format(
          "DecodeRaw: DecodeRaw requires input strings to all be the same size, but "
          "element {} has size {} != {}",
          i, width, in[i].size()));
    }
  }
  if (width % p.element != 0) {
    throw InvalidArgumentError(
        fmt::format("DecodeRaw: Input to DecodeRaw has length {} that is not a multiple "
                    "of {}, the size of {}",
                    width, p.element, dtype_name(p.attrs.out_type)));
  }
  Shape shape = p.shape;
  shape.push_back(static_cast<int64_t>(width / p.element));
  auto* out = static_cast<char*>(outputs.allocate(0, shape));
  for (int64_t i = 0; i < p.n; ++i, out += width) {
    const size_t there = std::min(width, in[i].size());
    std::memcpy(out, in[i].data(), there);
    std::memset(out + there, 0, width - there);
    if (p.attrs.little_endian || p.half == 1) continue;
    for (size_t k = 0; k < width; k += p.half) std::reverse(out + k, out + k + p.half);
  }
}

// ---- Base64, in the alphabet that is safe in addresses

constexpr char kAlphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct Base64Plan {
  int64_t n = 0;
  bool pad = false;
};
Base64Plan prepare_base64(const Signature& s) {
  return {s.in(0).shape.num_elements(), s.attrs.as<io::Base64Attrs>().pad};
}
void launch_encode64(const Base64Plan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    const std::string& in = a.in<std::string>(0)[i];
    std::string& out = a.out<std::string>()[i];
    out.clear();
    for (size_t at = 0; at < in.size(); at += 3) {
      const size_t bytes = std::min<size_t>(3, in.size() - at);
      uint32_t word = 0;
      for (size_t k = 0; k < 3; ++k) {
        word = word << 8 | (k < bytes ? static_cast<uint8_t>(in[at + k]) : 0u);
      }
      for (size_t k = 0; k < 4; ++k) {
        if (k <= bytes) {
          out += kAlphabet[word >> (18 - 6 * k) & 63];
        } else if (p.pad) {
          out += '=';
        }
      }
    }
  }
}
void launch_decode64(const PathsPlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.n; ++i) {
    std::string_view in = a.in<std::string>(0)[i];
    if (in.size() % 4 == 0) {  // only the last four characters may have padding
      in.remove_suffix(in.ends_with("==") ? 2 : in.ends_with('='));
    }
    std::string& out = a.out<std::string>()[i];
    out.clear();
    uint32_t word = 0;
    int bits = 0;
    for (const char c : in) {
      const char* at = c ? std::strchr(kAlphabet, c) : nullptr;
      if (!at || in.size() % 4 == 1) {
        throw InvalidArgumentError("DecodeBase64: Invalid character found in base64.");
      }
      word = word << 6 | static_cast<uint32_t>(at - kAlphabet);
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      out += static_cast<char>(word >> bits & 0xff);
    }
  }
}

// ---- Sound

struct WavPlan {
  io::DecodeWavAttrs attrs;
};
WavPlan prepare_wav(const Signature& s) { return {s.attrs.as<io::DecodeWavAttrs>()}; }

[[noreturn]] void fail_wav(std::string_view what) {
  throw InvalidArgumentError(fmt::format("DecodeWav: {}", what));
}
template <class T>
T little_endian(std::string_view s, size_t at) {
  T v;
  if (at + sizeof(T) > s.size()) fail_wav("Data too short when trying to read a number");
  std::memcpy(&v, s.data() + at, sizeof(T));
  return v;
}

void launch_wav(const WavPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const std::string_view s = *a.in<std::string>(0);
  if (s.size() < 12 || s.substr(0, 4) != "RIFF") {
    fail_wav("Header mismatch: Expected RIFF");
  }
  if (s.substr(8, 4) != "WAVE") fail_wav("Header mismatch: Expected WAVE");
  uint16_t channels = 0;
  uint32_t rate = 0;
  std::string_view data;
  for (size_t at = 12; at + 8 <= s.size();) {
    const std::string_view kind = s.substr(at, 4);
    const size_t size = little_endian<uint32_t>(s, at + 4);
    at += 8;
    if (kind == "fmt ") {
      const auto format = little_endian<uint16_t>(s, at),
                 bits = little_endian<uint16_t>(s, at + 14);
      channels = little_endian<uint16_t>(s, at + 2);
      rate = little_endian<uint32_t>(s, at + 4);
      if ((format != 1 && format != 0xfffe) || bits != 16 || channels == 0) {
        fail_wav(
            fmt::format("Can only read 16-bit WAV files, but received format {} "
                        "with {} bits and {} channels",
                        format, bits, channels));
      }
    } else if (kind == "data") {
      data = s.substr(std::min(at, s.size()), size);
      break;
    }
    at += size + size % 2;
  }
  if (channels == 0 || data.data() == nullptr) fail_wav("there is no sound in the file");
  const auto there = static_cast<int64_t>(data.size() / 2 / channels);
  const int64_t samples = p.attrs.desired_samples < 0 ? there : p.attrs.desired_samples;
  const int64_t wanted =
      p.attrs.desired_channels < 0 ? channels : p.attrs.desired_channels;
  auto* out = static_cast<float*>(outputs.allocate(0, {samples, wanted}));
  for (int64_t i = 0; wanted > 0 && i < samples; ++i) {
    for (int64_t c = 0; c < wanted; ++c) {
      const int64_t from = i * channels + std::min<int64_t>(c, channels - 1);
      out[i * wanted + c] = i < there ? static_cast<float>(little_endian<int16_t>(
                                            data, static_cast<size_t>(from) * 2)) /
                                            32768.0f
                                      : 0.0f;
    }
  }
  *static_cast<int32_t*>(outputs.allocate(1, {})) = static_cast<int32_t>(rate);
}

struct EncodeWavPlan {
  int64_t samples = 0, channels = 0;
};
EncodeWavPlan prepare_encode_wav(const Signature& s) {
  return {s.in(0).shape[0], s.in(0).shape[1]};
}
// The sizes that the fields of a WAV file's header hold.
void check_encode_wav(const EncodeWavPlan& p, int32_t rate) {
  const auto require = [](bool holds, std::string_view what, int64_t given) {
    if (!holds)
      throw InvalidArgumentError(fmt::format("EncodeWav: {}, got: {}", what, given));
  };
  require(rate > 0, "sample_rate must be in (0, 2^31)", rate);
  // A frame's size, two bytes a channel, has a field of 16 bits, too.
  require(p.channels > 0 && p.channels <= UINT16_MAX / 2,
          "num_channels must be in (0, 2^15)", p.channels);
  require(p.samples > 0, "num_frames must be positive", p.samples);
  require(p.samples <= (UINT32_MAX - 44) / 2 / p.channels,
          "the number of frames does not fit in a WAV file", p.samples);
}

void launch_encode_wav(const EncodeWavPlan& p, const LaunchArgs& a) {
  check_encode_wav(p, *a.in<int32_t>(1));
  std::string& out = *a.out<std::string>();
  out.clear();
  const auto put = [&out](auto v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
  };
  const auto bytes = static_cast<uint32_t>(p.samples * p.channels * 2);
  const auto rate = static_cast<uint32_t>(*a.in<int32_t>(1));
  out += "RIFF";
  put(bytes + 36);
  out += "WAVEfmt ";
  put(uint32_t{16});
  put(uint16_t{1});
  put(static_cast<uint16_t>(p.channels));
  put(rate);
  put(static_cast<uint32_t>(rate * p.channels * 2));
  put(static_cast<uint16_t>(p.channels * 2));
  put(uint16_t{16});
  out += "data";
  put(bytes);
  for (int64_t i = 0; i < p.samples * p.channels; ++i) {
    const float v = a.in<float>(0)[i] * 32767.0f;
    const float whole = std::isnan(v) ? 0 : std::clamp(v, -32768.0f, 32767.0f);
    put(static_cast<int16_t>(std::lround(whole)));
  }
}

}  // namespace

void register_file_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_paths, launch_read>("ReadFile", "cpu.ReadFile"));
  registry.add(make_kernel<prepare_paths, launch_write>("WriteFile", "cpu.WriteFile"));
  registry.add(
      make_kernel<prepare_paths, launch_matching>("MatchingFiles", "cpu.MatchingFiles"));
  registry.add(make_kernel<prepare_raw, launch_raw>("DecodeRaw", "cpu.DecodeRaw"));
  registry.add(
      make_kernel<prepare_base64, launch_encode64>("EncodeBase64", "cpu.EncodeBase64"));
  registry.add(
      make_kernel<prepare_paths, launch_decode64>("DecodeBase64", "cpu.DecodeBase64"));
  registry.add(make_kernel<prepare_wav, launch_wav>("DecodeWav", "cpu.DecodeWav"));
  registry.add(
      make_kernel<prepare_encode_wav, launch_encode_wav>("EncodeWav", "cpu.EncodeWav"));
  register_csv_kernels(registry);
}

}  // namespace tandem::cpu
