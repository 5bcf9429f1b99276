# Finds what Tandem is built from, and stops with one line that names all that is missing.
# docs/dependencies.md says what each is for.

set(_missing "")

# tandem_need(<Debian package> <find_package arguments>...)
macro(tandem_need debian)
  find_package(${ARGN} QUIET)
  if(NOT ${ARGV1}_FOUND)
    list(APPEND _missing "${debian}")
  endif()
endmacro()

# tandem_need_library(<target> <Debian package> <header> <library>): for what has no CMake files.
macro(tandem_need_library target debian header library)
  find_path(${library}_INCLUDE_DIR ${header})
  find_library(${library}_LIBRARY ${library})
  mark_as_advanced(${library}_INCLUDE_DIR ${library}_LIBRARY)
  if(${library}_INCLUDE_DIR AND ${library}_LIBRARY)
    if(NOT TARGET ${target})
      add_library(${target} UNKNOWN IMPORTED)
      set_target_properties(
        ${target}
        PROPERTIES IMPORTED_LOCATION "${${library}_LIBRARY}"
                   INTERFACE_INCLUDE_DIRECTORIES "${${library}_INCLUDE_DIR}")
    endif()
  else()
    list(APPEND _missing "${debian}")
  endif()
endmacro()

# tandem_need_headers(<target> <Debian package> <header>): a library that is headers alone.
macro(tandem_need_headers target debian header)
  find_path(${target}_INCLUDE_DIR ${header})
  mark_as_advanced(${target}_INCLUDE_DIR)
  if(NOT ${target}_INCLUDE_DIR)
    list(APPEND _missing "${debian}")
  elseif(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                               "${${target}_INCLUDE_DIR}")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
tandem_need("a thread library (libc6-dev)" Threads)
tandem_need("fmt (libfmt-dev)" fmt 9)
tandem_need("spdlog (libspdlog-dev)" spdlog)
tandem_need("nlohmann-json (nlohmann-json3-dev)" nlohmann_json 3)
tandem_need("CLI11 (libcli11-dev)" CLI11)
tandem_need_library(SQLite::SQLite3 "SQLite (libsqlite3-dev)" sqlite3.h sqlite3)
tandem_need_library(JPEG::JPEG "libjpeg-turbo (libjpeg-dev)" jpeglib.h jpeg)
tandem_need_library(PNG::PNG "libpng (libpng-dev)" png.h png)
tandem_need_library(GIF::GIF "giflib (libgif-dev)" gif_lib.h gif)
tandem_need_library(ZLIB::ZLIB "zlib (zlib1g-dev)" zlib.h z)
tandem_need_library(ZSTD::ZSTD "zstd (libzstd-dev)" zstd.h zstd)
tandem_need_headers(protozero "protozero (libprotozero-dev)" protozero/pbf_reader.hpp)
tandem_need_library(RE2::RE2 "RE2 (libre2-dev)" re2/re2.h re2)
tandem_need_library(OpenBLAS::OpenBLAS "OpenBLAS (libopenblas-dev)" cblas.h openblas)
tandem_need_library(LAPACKE::LAPACKE "LAPACKE (liblapacke-dev)" lapacke.h lapacke)
tandem_need("oneDNN 3 (Python packages onednn-cpu-gomp and onednn-devel-cpu-gomp)" OneDNN 3)
if(TANDEM_OPENMP)
  tandem_need("OpenMP (g++)" OpenMP COMPONENTS CXX)
endif()
# tandem_backtrace: lines of debug information, where the compiler brings libbacktrace in a form
# that a shared library can take (Debian's and Ubuntu's g++ do). Without it, names of functions.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)
cmake_push_check_state()
set(CMAKE_REQUIRED_FLAGS -fPIC)
set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,--no-undefined)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles(
  "#include <backtrace.h>
   void* state() { return backtrace_create_state(nullptr, 0, nullptr, nullptr); }"
  TANDEM_BACKTRACE_WORKS)
cmake_pop_check_state()
add_library(tandem_backtrace INTERFACE)
if(TANDEM_BACKTRACE_WORKS)
  target_link_libraries(tandem_backtrace INTERFACE backtrace)
  target_link_options(tandem_backtrace INTERFACE -Wl,--exclude-libs,libbacktrace.a)
  target_compile_definitions(tandem_backtrace INTERFACE TANDEM_HAVE_BACKTRACE=1)
else()
  target_compile_definitions(tandem_backtrace INTERFACE TANDEM_HAVE_BACKTRACE=0)
endif()

if(TANDEM_TESTS)
  tandem_need("GoogleTest (libgtest-dev)" GTest)
endif()
if(TANDEM_BENCH)
  tandem_need("Google Benchmark (libbenchmark-dev)" benchmark)
endif()

if(_missing)
  list(JOIN _missing ", " _missing)
  # CMake does not wrap a line that starts with a space.
  message(FATAL_ERROR " missing: ${_missing}; run: make setup")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old; Tandem needs g++ 12 or newer")
endif()
