// The functions of the driver that fake_driver.cc does not play: they exist, and do not
// work. Weak names, so that those of the other file win.
#include "device/cuda/driver.h"

extern "C" int tandem_fake_unsupported() { return CUDA_ERROR_NOT_SUPPORTED; }

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define UNSUPPORTED(name)                                                      \
  __asm__(".weak " TEXT(name) "\n.type " TEXT(name) ", @function\n.set " TEXT( \
      name) ", tandem_fake_unsupported");
TANDEM_CUDA_DRIVER(UNSUPPORTED)
TANDEM_CUDA_NEWER_DRIVER(UNSUPPORTED)
