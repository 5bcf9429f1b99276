# oneDNN 3: from the PyPI wheels in ${TANDEM_VENV}, else from the system. Defines DNNL::dnnl.
#
# The target is made here because the CMake files in the wheels ask for a policy version that
# CMake 4 rejects.

find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp PATHS "${TANDEM_VENV}/include" NO_DEFAULT_PATH)
find_library(OneDNN_LIBRARY NAMES libdnnl.so.3 PATHS "${TANDEM_VENV}/lib" NO_DEFAULT_PATH)
if(NOT OneDNN_INCLUDE_DIR OR NOT OneDNN_LIBRARY)
  unset(OneDNN_INCLUDE_DIR CACHE)
  unset(OneDNN_LIBRARY CACHE)
  find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
  find_library(OneDNN_LIBRARY NAMES libdnnl.so.3 dnnl)
endif()

if(OneDNN_INCLUDE_DIR)
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" _lines
       REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" _numbers "${_lines}")
  list(JOIN _numbers "." OneDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
  VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND)
  if(NOT TARGET DNNL::dnnl)
    add_library(DNNL::dnnl SHARED IMPORTED)
    set_target_properties(
      DNNL::dnnl
      PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}"
                 IMPORTED_SONAME libdnnl.so.3
                 INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
  endif()
else()
  # Look again next time: `make setup` may have brought it by then.
  unset(OneDNN_INCLUDE_DIR CACHE)
  unset(OneDNN_LIBRARY CACHE)
endif()
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)
