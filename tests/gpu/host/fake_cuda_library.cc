// Stands for a library of NVIDIA's in library_test.cc.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t fake_version() {
  return 130204;
}
