# Building a wheel (`pip install .`): included first, before anything is looked for.
#
# pip builds in an environment of its own, into which it puts what pyproject.toml requires; oneDNN
# is one of those packages. That environment has another name each time: a link to it keeps the
# names in compile commands, so that nothing is compiled twice. -DTANDEM_VENV=... takes oneDNN from
# elsewhere.

if(NOT DEFINED TANDEM_VENV)
  execute_process(
    COMMAND
      "${Python_EXECUTABLE}" -c
      "import importlib.metadata as m
files = m.files('onednn-devel-cpu-gomp') or []
print(next((f.locate().resolve().parents[3] for f in files if f.match('include/oneapi/dnnl/dnnl.hpp')), ''))"
    OUTPUT_VARIABLE _prefix
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(_prefix)
    set(TANDEM_VENV "${PROJECT_BINARY_DIR}/onednn")
    file(CREATE_LINK "${_prefix}" "${TANDEM_VENV}" SYMBOLIC)
  endif()
endif()

# tandem_install_wheel(): the native files of the wheel lie in the package: the module, the library
# and what it needs, the plugin, the command. They find each other relative to themselves. A wheel
# holds no links, so the library has no versioned names there.
function(tandem_install_wheel)
  set_property(TARGET tandem PROPERTY INSTALL_RPATH "$ORIGIN")
  set_property(TARGET tandem PROPERTY VERSION)
  set_property(TARGET tandem PROPERTY SOVERSION)
  set_property(TARGET tandem_cli PROPERTY INSTALL_RPATH "$ORIGIN/..")
  add_custom_target(tandem_wheel DEPENDS tandem_python tandem_cli)
  set(libraries _core tandem_processor tandem)
  if(TARGET tandem_cuda)
    add_dependencies(tandem_wheel tandem_cuda)
    list(APPEND libraries tandem_cuda)
  endif()
  if(TARGET tandem_cuda_kernels)
    add_dependencies(tandem_wheel tandem_cuda_kernels)
    install(FILES "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libtandem_cuda.kernels" DESTINATION tandem
            COMPONENT python)
  endif()
  install(TARGETS ${libraries} LIBRARY DESTINATION tandem COMPONENT python)
  install(TARGETS tandem_cli RUNTIME DESTINATION tandem/bin COMPONENT python)
  install(
    DIRECTORY "${TANDEM_PYTHON_DIR}/tandem"
    DESTINATION .
    COMPONENT python
    FILES_MATCHING
    PATTERN "*.py"
    PATTERN "*.pyi")
  # Beside the package: read when an interpreter starts, and heeds TANDEM_AS_TENSORFLOW.
  install(FILES "${PROJECT_SOURCE_DIR}/python/tandem.pth" DESTINATION . COMPONENT python)
  get_target_property(dnnl DNNL::dnnl IMPORTED_LOCATION)
  cmake_path(IS_PREFIX TANDEM_VENV "${dnnl}" dnnl_in_venv)
  if(dnnl_in_venv)
    install(PROGRAMS "${dnnl}" DESTINATION tandem COMPONENT python RENAME libdnnl.so.3)
  endif()
endfunction()
