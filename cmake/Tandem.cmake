# How Tandem's targets are made. CMakeLists.txt files below the root call only
#   tandem_folder(<name> SOURCES ... [ISA_SOURCES ...] [LIBS ...])
#   tandem_cli(SOURCES ...)
#   tandem_test(<name> SOURCES ... [LIBS ...] [ENV VAR=value ...] [TIMEOUT s] [TSAN])
#   tandem_test_variant(<name> <variant> ENV VAR=value ... [ARGS ...] [TIMEOUT s])
#   tandem_bench(<name> SOURCES ... [LIBS ...])
#   tandem_example(<name> SOURCES ... [LIBS ...])

include(CheckLinkerFlag)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

find_program(TANDEM_MOLD mold)
if(TANDEM_MOLD)
  check_linker_flag(CXX -fuse-ld=mold TANDEM_MOLD_WORKS)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TANDEM_X86 ON)
else()
  set(TANDEM_X86 OFF)
endif()

# ---- tandem_flags: how every file of the project is compiled ------------------------------

add_library(tandem_flags INTERFACE)
target_compile_features(tandem_flags INTERFACE cxx_std_20)
target_compile_options(
  tandem_flags
  INTERFACE
    # Results do not depend on which compiler contracts a*b+c, and vector loops stay vector loops.
    -ffp-contract=off
    -fno-math-errno
    -fno-trapping-math
    -fno-semantic-interposition
    -fvisibility-inlines-hidden
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wcast-qual
    -Wextra-semi
    -Wformat=2
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wsuggest-override
    -Wundef
    -Wunused
    -Wvla
    $<$<BOOL:${TANDEM_WERROR}>:-Werror>
    # These come from the optimiser and are often wrong about inlined standard containers
    # and intrinsics (g++ 12 above all): shown, but not fatal.
    -Wno-psabi
    -Wno-error=array-bounds
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # A reference that a temporary view hands on is not one to the view.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overflow>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overread>)
if(TANDEM_X86)
  # The level is a property of the target that is compiled, since options of its own would come
  # before these and lose to them.
  set(_level $<TARGET_PROPERTY:TANDEM_X86_LEVEL>)
  target_compile_options(
    tandem_flags INTERFACE -march=x86-64-$<IF:$<BOOL:${_level}>,${_level},v3>
                           $<$<STREQUAL:${_level},v4>:-mprefer-vector-width=512>)
  set(_isas ${TANDEM_ISAS})
else()
  set(_isas generic)
endif()
# TANDEM_HAVE_V3, TANDEM_HAVE_V4, TANDEM_HAVE_GENERIC: which variants of the ISA sources exist.
foreach(isa v3 v4 generic)
  string(TOUPPER ${isa} _upper)
  if(isa IN_LIST _isas)
    target_compile_definitions(tandem_flags INTERFACE TANDEM_HAVE_${_upper}=1)
  else()
    target_compile_definitions(tandem_flags INTERFACE TANDEM_HAVE_${_upper}=0)
  endif()
endforeach()

if(TANDEM_SANITIZE)
  set(_sanitize -fsanitize=${TANDEM_SANITIZE} -fno-omit-frame-pointer)
  if(TANDEM_SANITIZE MATCHES "undefined")
    list(APPEND _sanitize -fno-sanitize-recover=all)
  endif()
  target_compile_options(
    tandem_flags INTERFACE ${_sanitize} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_link_options(tandem_flags INTERFACE ${_sanitize})
  set(_isa_optimise "")
else()
  target_link_options(tandem_flags INTERFACE -Wl,-Bsymbolic-functions)
  set(_isa_optimise -O3)
endif()
if(TANDEM_MOLD_WORKS)
  target_link_options(tandem_flags INTERFACE -fuse-ld=mold)
endif()

target_link_libraries(
  tandem_flags
  INTERFACE fmt::fmt
            spdlog::spdlog
            nlohmann_json::nlohmann_json
            DNNL::dnnl
            # Before LAPACKE, so that its LAPACK is taken and not the reference one.
            OpenBLAS::OpenBLAS
            LAPACKE::LAPACKE
            Threads::Threads
            ${CMAKE_DL_LIBS})
if(TANDEM_OPENMP)
  target_link_libraries(tandem_flags INTERFACE OpenMP::OpenMP_CXX)
else()
  # `omp simd` still holds; other OpenMP pragmas are ignored.
  target_compile_options(tandem_flags INTERFACE -fopenmp-simd -Wno-unknown-pragmas)
  target_compile_definitions(tandem_flags INTERFACE TANDEM_NO_OPENMP=1)
endif()

# tandem_internal: the view of code inside the project (src/ and the public headers).
add_library(tandem_internal INTERFACE)
target_include_directories(
  tandem_internal INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
                            "${PROJECT_BINARY_DIR}/generated")
# base/version.h: few files include it, so that a new version compiles only these again.
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${PROJECT_BINARY_DIR}/generated/base/version.h")
target_link_libraries(tandem_internal INTERFACE tandem_flags)

# ---- folders and the library ---------------------------------------------------------------

# tandem_add_if_present(<folder>): a folder takes part once it has a CMakeLists.txt.
function(tandem_add_if_present folder)
  # The glob makes the next build configure again when the file appears or goes.
  file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
  if(found)
    add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
  endif()
endfunction()

# tandem_add_folders(<name>...): src/<name>, bottom layer first.
function(tandem_add_folders)
  foreach(name IN LISTS ARGN)
    tandem_add_if_present(src/${name})
  endforeach()
endfunction()

# tandem_folder(<name> SOURCES ... [ISA_SOURCES ...] [LIBS ...])
#
# The object library tandem_<name>, part of libtandem. ISA_SOURCES are compiled once for each
# level in TANDEM_ISAS, with TANDEM_ISA defined as v3 or v4 (generic where the machine is not
# x86-64): put their code in a namespace of that name. LIBS: libraries only this folder needs.
function(tandem_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ISA_SOURCES;LIBS")
  tandem_check_arguments("tandem_folder(${name})" SOURCES)
  if(arg_SOURCES)
    tandem_object_library(tandem_${name} "${arg_SOURCES}" "${arg_LIBS}")
    set_property(GLOBAL APPEND PROPERTY TANDEM_OBJECTS tandem_${name})
  endif()
  if(arg_ISA_SOURCES)
    foreach(isa IN LISTS _isas)
      set(target tandem_${name}_${isa})
      tandem_object_library(${target} "${arg_ISA_SOURCES}" "${arg_LIBS}")
      target_compile_definitions(${target} PRIVATE TANDEM_ISA=${isa})
      target_compile_options(${target} PRIVATE ${_isa_optimise})
      tandem_unity(${target} 4)  # larger: loops for every dtype
      if(isa STREQUAL "v4")
        set_target_properties(${target} PROPERTIES TANDEM_X86_LEVEL v4)
        set_property(GLOBAL APPEND PROPERTY TANDEM_V4_OBJECTS ${target})
      else()
        set_property(GLOBAL APPEND PROPERTY TANDEM_OBJECTS ${target})
      endif()
    endforeach()
  endif()
  set_property(GLOBAL APPEND PROPERTY TANDEM_LIBS ${arg_LIBS})
endfunction()

function(tandem_object_library target sources libs)
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE tandem_internal ${libs})
  tandem_unity(${target} 10)
endfunction()

# tandem_unity(<target> <files>): so many of its files are compiled as one unit. Most of the time
# of a small file goes into the headers that all of them include, so names in unnamed namespaces
# of one folder must differ. TANDEM_UNITY=OFF compiles every file by itself.
function(tandem_unity target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TANDEM_UNITY}
                                             UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# tandem_add_library(): libtandem.so from the objects of all folders.
function(tandem_add_library)
  get_property(objects GLOBAL PROPERTY TANDEM_OBJECTS)
  get_property(v4_objects GLOBAL PROPERTY TANDEM_V4_OBJECTS)
  get_property(libs GLOBAL PROPERTY TANDEM_LIBS)
  # The v4 objects come last. Where an inline function of a header is compiled in several objects the
  # linker keeps the first, which must be one that runs on every supported machine.
  set(sources "")
  foreach(target IN LISTS objects v4_objects)
    list(APPEND sources $<TARGET_OBJECTS:${target}>)
  endforeach()
  if(NOT sources)
    message(FATAL_ERROR "no folder under src/ has a CMakeLists.txt")
  endif()

  add_library(tandem SHARED ${sources})
  add_library(tandem::tandem ALIAS tandem)
  target_compile_features(tandem PUBLIC cxx_std_20)
  target_include_directories(tandem PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(tandem PUBLIC fmt::fmt PRIVATE $<BUILD_INTERFACE:tandem_flags> ${libs})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_link_options(tandem PRIVATE -Wl,--no-undefined)
  endif()
  file(RELATIVE_PATH venv_lib "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}" "${TANDEM_VENV}/lib")
  set_target_properties(
    tandem
    PROPERTIES VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}
               LINKER_LANGUAGE CXX
               BUILD_RPATH "$ORIGIN/${venv_lib}"
               INSTALL_RPATH "$ORIGIN;$ORIGIN/tandem")
endfunction()

# tandem_cli(SOURCES ...): the command `tandem`.
function(tandem_cli)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;LIBS")
  tandem_check_arguments("tandem_cli" SOURCES)
  add_executable(tandem_cli ${arg_SOURCES})
  target_link_libraries(tandem_cli PRIVATE tandem tandem_internal CLI11::CLI11 ${arg_LIBS})
  set_target_properties(
    tandem_cli PROPERTIES OUTPUT_NAME tandem
                          INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

# tandem_missing_cuda_headers(result): of the headers that the CUDA plugin cannot be built without,
# those that are not there, with the package that has them.
function(tandem_missing_cuda_headers result)
  set(missing "")
  foreach(entry "cuda.h=cuda-driver-dev" "cublasLt.h=libcublas-dev" "cublas_v2.h=libcublas-dev"
                "cupti.h=cuda-cupti-dev" "nvrtc.h=cuda-nvrtc-dev"
                "nvtx3/nvToolsExt.h=cuda-nvtx")
    string(REGEX MATCH "^(.*)=(.*)$" _ "${entry}")
    set(header "${CMAKE_MATCH_1}")
    set(package "${CMAKE_MATCH_2}")
    find_path(
      _folder "${header}"
      HINTS ${CUDAToolkit_INCLUDE_DIRS} "${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include"
      NO_CACHE)
    if(NOT _folder)
      list(APPEND missing "${header} (NVIDIA's package ${package})")
    endif()
    unset(_folder)
  endforeach()
  list(JOIN missing ", " missing)
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# tandem_add_cuda_plugin(): libtandem_cuda.so, when its folder and CUDA's headers are there. Its
# kernels are compiled at run time, so neither nvcc nor a GPU is needed here.
function(tandem_add_cuda_plugin)
  file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/device/cuda/CMakeLists.txt")
  if(NOT found OR TANDEM_CUDA STREQUAL "OFF")
    return()
  endif()
  find_package(CUDAToolkit 13 QUIET)
  if(CUDAToolkit_FOUND)
    tandem_missing_cuda_headers(missing)
    if(NOT missing)
      tandem_add_if_present(src/device/cuda)
    elseif(TANDEM_CUDA STREQUAL "ON")
      message(FATAL_ERROR "TANDEM_CUDA is ON and CUDA ${CUDAToolkit_VERSION} lacks ${missing}")
    else()
      message(STATUS "CUDA ${CUDAToolkit_VERSION} lacks ${missing}: the CUDA plugin is left out")
    endif()
  elseif(TANDEM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TANDEM_CUDA is ON and CUDA 13 was not found; set CUDAToolkit_ROOT")
  else()
    message(STATUS "CUDA 13 was not found: the CUDA plugin is left out")
  endif()
endfunction()

# ---- tests, benchmarks, examples -----------------------------------------------------------

if(TANDEM_SANITIZE STREQUAL "thread")
  set(_tsan_build ON)
else()
  set(_tsan_build OFF)
endif()
add_custom_target(tsan_tests COMMENT "Tests that also run under ThreadSanitizer")

# tandem_test(<name> SOURCES ... [LIBS ...] [ENV VAR=value ...] [TIMEOUT seconds] [TSAN])
#
# One GoogleTest binary and one CTest entry of the same name. ENV is the environment of that entry.
# TSAN: the ThreadSanitizer build takes it too; so it does with all of tests/emulated and
# with every *_async* test.
function(tandem_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TSAN" "TIMEOUT" "SOURCES;LIBS;ENV")
  tandem_check_arguments("tandem_test(${name})" SOURCES)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(folder MATCHES "^emulated(/|$)" OR name MATCHES "_async")
    set(arg_TSAN ON)
  endif()

  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE tandem tandem_internal ${arg_LIBS} GTest::gtest
                                        GTest::gtest_main)
  # Tests call the library and compare: optimising them costs build time and gains nothing.
  target_compile_options(${name} PRIVATE -O0)
  tandem_unity(${name} 8)
  if(arg_TSAN)
    add_dependencies(tsan_tests ${name})
  elseif(_tsan_build)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  set_target_properties(${name} PROPERTIES TANDEM_REGISTERED ON)
  tandem_register_test(${name} ${name} "${arg_ENV}" "" "${arg_TIMEOUT}")
endfunction()

# tandem_test_variant(<name> <variant> ENV VAR=value ... [ARGS ...] [TIMEOUT seconds])
#
# Registers the binary of tandem_test(<name>) once more, as <name>.<variant>, with this environment.
function(tandem_test_variant name variant)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "ENV;ARGS")
  tandem_check_arguments("tandem_test_variant(${name} ${variant})" ENV)
  get_target_property(registered ${name} TANDEM_REGISTERED)
  if(registered)
    tandem_register_test(${name}.${variant} ${name} "${arg_ENV}" "${arg_ARGS}" "${arg_TIMEOUT}")
  endif()
endfunction()

function(tandem_register_test entry target env args timeout)
  if(NOT timeout)
    set(timeout 300)
  endif()
  if(TANDEM_SANITIZE)
    math(EXPR timeout "${timeout} * 4")
  endif()
  set(supp "${PROJECT_SOURCE_DIR}/tools/sanitizers")
  add_test(NAME ${entry} COMMAND ${target} ${args})
  set_tests_properties(
    ${entry}
    PROPERTIES
      TIMEOUT ${timeout}
      ENVIRONMENT
      "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/reports/${entry}.xml;UBSAN_OPTIONS=print_stacktrace=1;ASAN_OPTIONS=detect_stack_use_after_return=1;LSAN_OPTIONS=suppressions=${supp}/lsan.supp:print_suppressions=0;TSAN_OPTIONS=suppressions=${supp}/tsan.supp:second_deadlock_stack=1;${env}"
  )
endfunction()

# tandem_bench(<name> SOURCES ... [LIBS ...]): a Google Benchmark program.
function(tandem_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  tandem_check_arguments("tandem_bench(${name})" SOURCES)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tandem tandem_internal ${arg_LIBS} benchmark::benchmark)
endfunction()

# tandem_example(<name> SOURCES ... [LIBS ...]): a program that sees only the public headers.
function(tandem_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  tandem_check_arguments("tandem_example(${name})" SOURCES)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tandem::tandem tandem_flags ${arg_LIBS})
endfunction()

# Stops on a misspelt keyword or a required one (ARGN) that is missing; reads the caller's arg_*.
macro(tandem_check_arguments call)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${call}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(_required ${ARGN})
    if(NOT arg_${_required} AND NOT arg_ISA_SOURCES)
      message(FATAL_ERROR "${call}: ${_required} is missing")
    endif()
  endforeach()
endmacro()
