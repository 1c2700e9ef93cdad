# Two layouts from one build. `cmake --install`: library, headers, find_package(adjit), pkg-config
# and adjit-cache under a prefix. A wheel (SKBUILD): the library with TBB beside it inside the
# Python package, adjit-cache among the scripts, nothing else.

if(TARGET adjit AND SKBUILD)
  get_target_property(tbb_location TBB::tbb IMPORTED_LOCATION_RELEASE)
  if(NOT tbb_location)
    get_target_property(tbb_location TBB::tbb LOCATION)
  endif()
  file(REAL_PATH ${tbb_location} tbb_file)
  set_target_properties(adjit PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS adjit LIBRARY DESTINATION lib)
  install(PROGRAMS ${tbb_file} DESTINATION lib RENAME libtbb.so.12)
  # The licences of what the wheel holds (docs/dependencies.md), where Debian keeps them.
  foreach(package libcli11-dev libfmt-dev libspdlog-dev libtbb12 libxxhash-dev libzstd-dev
                  llvm-19-dev nlohmann-json3-dev zlib1g-dev)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION licenses
            RENAME ${package}.txt OPTIONAL)
  endforeach()
  install(FILES /usr/share/common-licenses/Apache-2.0 DESTINATION licenses OPTIONAL)
elseif(TARGET adjit)
  include(CMakePackageConfigHelpers)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/adjit)
  install(TARGETS adjit EXPORT adjitTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT adjitTargets NAMESPACE adjit:: DESTINATION ${package_folder})
  configure_package_config_file(
    cmake/adjitConfig.cmake.in ${PROJECT_BINARY_DIR}/adjitConfig.cmake
    INSTALL_DESTINATION ${package_folder})
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/adjitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/adjitConfig.cmake
                ${PROJECT_BINARY_DIR}/adjitConfigVersion.cmake
          DESTINATION ${package_folder})

  set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH pkgconfig_to_prefix /${pkgconfig_folder} /)
  configure_file(cmake/adjit.pc.in ${PROJECT_BINARY_DIR}/adjit.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/adjit.pc DESTINATION ${pkgconfig_folder})

  file(GLOB headers CONFIGURE_DEPENDS bindings/c/*.h bindings/cpp/*.hpp)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/adjit)
endif()

if(TARGET adjit-cache)
  if(SKBUILD)
    install(TARGETS adjit-cache RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  else()
    install(TARGETS adjit-cache RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endif()
