# Installed: libtandem, the public headers, the command, and a CMake package, so that
# find_package(tandem) gives tandem::tandem.

include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")

install(TARGETS tandem EXPORT tandem-targets)
if(TARGET tandem_cli)
  install(TARGETS tandem_cli)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/include/tandem")
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/include/tandem"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING
    PATTERN "*.h")
endif()

# oneDNN out of .venv goes along, in a folder of its own: .venv is not part of an installation.
get_target_property(_dnnl DNNL::dnnl IMPORTED_LOCATION)
cmake_path(IS_PREFIX TANDEM_VENV "${_dnnl}" _dnnl_in_venv)
if(_dnnl_in_venv)
  install(PROGRAMS "${_dnnl}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tandem" RENAME libdnnl.so.3)
endif()

install(
  EXPORT tandem-targets
  NAMESPACE tandem::
  DESTINATION "${_package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tandem-config.cmake.in" "${PROJECT_BINARY_DIR}/tandem-config.cmake"
  INSTALL_DESTINATION "${_package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/tandem-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandem-config.cmake"
              "${PROJECT_BINARY_DIR}/tandem-config-version.cmake" DESTINATION "${_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
