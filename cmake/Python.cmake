# The Python side: tandem_python_module(<name> SOURCES ...) makes tandem.<name> with nanobind and
# the package around it. The interpreter is that of .venv unless TANDEM_PYTHON_EXECUTABLE says
# otherwise; a wheel is built with the one that builds it.

if(NOT TANDEM_PYTHON_EXECUTABLE)
  if(SKBUILD)
    set(TANDEM_PYTHON_EXECUTABLE "${Python_EXECUTABLE}")
  else()
    set(TANDEM_PYTHON_EXECUTABLE "${TANDEM_VENV}/bin/python")
  endif()
endif()
set(Python_EXECUTABLE "${TANDEM_PYTHON_EXECUTABLE}")
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module NumPy)

execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE _failed)
if(_failed)
  message(FATAL_ERROR "missing: nanobind (a Python package); run: make setup")
endif()
find_package(nanobind 3 CONFIG REQUIRED)

set(TANDEM_PYTHON_DIR "${PROJECT_BINARY_DIR}/python")

# Links every file of python/tandem beside the module, so that an edit needs no build.
function(tandem_link_package)
  file(MAKE_DIRECTORY "${TANDEM_PYTHON_DIR}/tandem")
  file(GLOB entries CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/tandem/*")
  foreach(entry IN LISTS entries)
    cmake_path(GET entry FILENAME name)
    if(NOT name STREQUAL "__pycache__")
      file(CREATE_LINK "${entry}" "${TANDEM_PYTHON_DIR}/tandem/${name}" SYMBOLIC)
    endif()
  endforeach()
endfunction()

# Python's own structs and macros are C: casts and unset fields are their manner. (Linked last,
# so that these options come after those of the project.)
add_library(tandem_python_flags INTERFACE)
target_compile_options(
  tandem_python_flags INTERFACE -Wno-cast-qual -Wno-missing-field-initializers -Wno-pedantic)

function(tandem_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  tandem_check_arguments("tandem_python_module(${name})" SOURCES)
  nanobind_add_module(${name} NB_STATIC NOMINSIZE ${arg_SOURCES})
  target_include_directories(${name} SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS} ${NB_DIR}/include)
  target_link_libraries(${name} PRIVATE tandem tandem_internal tandem_python_flags)
  tandem_unity(${name} 8)
  set_target_properties(
    ${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${TANDEM_PYTHON_DIR}/tandem"
                       INSTALL_RPATH "$ORIGIN")

  set(generator "${PROJECT_SOURCE_DIR}/tools/generate-python")
  set(names "${PROJECT_SOURCE_DIR}/python/names.table")
  set(generated "${TANDEM_PYTHON_DIR}/tandem/_generated")
  add_custom_command(
    OUTPUT "${generated}/ops.py" "${generated}/ops.pyi" "${generated}/names.py"
    COMMAND "${Python_EXECUTABLE}" "${generator}" $<TARGET_FILE:${name}> "${names}" "${generated}"
    DEPENDS ${name} "${generator}" "${names}"
    COMMENT "Writing tandem/_generated from the op table"
    VERBATIM)
  add_custom_target(tandem_python ALL DEPENDS "${generated}/ops.py")
  if(NOT SKBUILD)
    tandem_link_package()
  endif()
endfunction()
