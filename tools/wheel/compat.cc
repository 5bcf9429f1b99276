// What the compiler's libstdc++ takes from C libraries newer than the sysroot's. Linked into what
// needs it, and hidden there.
#include <sys/random.h>

extern "C" {

// Reference counts are atomic where this is 0, which is right for any number of threads.
__attribute__((visibility("hidden"), used)) char __libc_single_threaded;

// For std::random_device.
__attribute__((visibility("hidden"))) unsigned arc4random() {
  unsigned value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
  }
  return value;
}

}  // extern "C"
