# The machine's g++ with the C library, headers and libraries of TANDEM_SYSROOT (tools/wheel/sysroot).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TANDEM_SYSROOT)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_SYSROOT "${TANDEM_SYSROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)

# The compiler looks beside itself before it looks into the sysroot: the sysroot is named first.
# Symbols of static libraries stay inside what they are linked into.
set(_lib "${TANDEM_SYSROOT}/usr/lib/x86_64-linux-gnu")
set(_link "-B${_lib} -L${_lib} -L${TANDEM_SYSROOT}/lib/x86_64-linux-gnu -Wl,--exclude-libs,ALL")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "${_link}")
endforeach()
set(TANDEM_MOLD OFF CACHE STRING "Which of two libraries a symbol comes from is a matter of their order")

# Packages of Python (oneDNN, NumPy, nanobind), Python's headers and CUDA's lie outside.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# What is built runs here, with the sysroot's libraries but for the C library (tools/wheel/build).
set(CMAKE_CROSSCOMPILING_EMULATOR "")
