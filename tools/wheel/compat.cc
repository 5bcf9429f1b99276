// What the compiler's headers and static libstdc++ take from libraries newer than the
// sysroot's. Linked into what needs it, and hidden there. Searched before the compiler's
// own libstdc++, whose objects would bring a second copy of what a process has once:
// handlers of exceptions.
#include <new>

#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden"), used))

extern "C" {

// Of the C library. Reference counts are atomic where this is 0, which is right for any
// number of threads.
HIDDEN char __libc_single_threaded;

// For std::random_device.
HIDDEN unsigned arc4random() {
  unsigned value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
  }
  return value;
}

// Counting of std::exception_ptr, which newer headers call by itself: done by the copy
// and the destructor that every libstdc++ has.
void copy_exception_ptr(void* to, const void* from) asm(
    "_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void destroy_exception_ptr(void*) asm("_ZNSt15__exception_ptr13exception_ptrD1Ev");
HIDDEN void add_reference(void* self) asm(
    "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
HIDDEN void release(void* self) asm(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");

void add_reference(void* self) {
  void* copy;  // is never destroyed
  copy_exception_ptr(&copy, self);
}
void release(void* self) { destroy_exception_ptr(self); }

}  // extern "C"

namespace std {

HIDDEN void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std
