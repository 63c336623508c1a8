# find_package(Shardc) gives the targets Shardc::shardc (the shared library) and Shardc::shardc_static.
get_filename_component(_shardc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)
foreach(_kind shardc shardc_static)
  if(NOT TARGET Shardc::${_kind})
    if(_kind STREQUAL "shardc")
      add_library(Shardc::shardc SHARED IMPORTED)
      set(_file "libshardc${CMAKE_SHARED_LIBRARY_SUFFIX}")
    else()
      add_library(Shardc::shardc_static STATIC IMPORTED)
      set(_file "libshardc.a")
    endif()
    set_target_properties(Shardc::${_kind} PROPERTIES
      IMPORTED_LOCATION "${_shardc_prefix}/lib/${_file}"
      IMPORTED_NO_SONAME TRUE
      INTERFACE_INCLUDE_DIRECTORIES "${_shardc_prefix}/include"
      INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
  endif()
endforeach()
