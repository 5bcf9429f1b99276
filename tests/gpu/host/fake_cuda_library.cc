// Stands for a library of NVIDIA's that has none of the functions wanted of it.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t fake_version() {
  return 130204;
}
