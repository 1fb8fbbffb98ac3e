# What code of an accelerator's scalar core calls: lib/quoin/libperpend_scalar.a, of our functions and of those of the
# distribution's C library for cores without an operating system. Built by the same compiler. Where that library is missing,
# the compiler cannot make programs for the accelerator; all else is as usual.
set(PERPEND_SCALAR_LIBC /usr/lib/picolibc/riscv64-unknown-elf CACHE PATH "A picolibc for riscv64")
set(libc ${PERPEND_SCALAR_LIBC}/lib/release/rv64ifd/lp64d/libc.a)
if(NOT EXISTS ${libc})
  message(STATUS "No scalar runtime for quoin: install picolibc-riscv64-unknown-elf to have it")
  return()
endif()
set(folder ${PROJECT_BINARY_DIR}/scalar)
set(flags --target=riscv64-unknown-elf -march=rv64imfd -mabi=lp64d -mno-relax -O2 -ffreestanding -ffunction-sections
  -fdata-sections -fno-pic -mcmodel=medany -isystem ${PERPEND_SCALAR_LIBC}/include
  -I${PROJECT_SOURCE_DIR}/runtime/include)
set(objects "")
foreach(source scalar/Launch.c scalar/Main.c scalar/Builtins.c builtins/HalfConversions.cpp)
  get_filename_component(name ${source} NAME_WE)
  set(compiler ${CMAKE_C_COMPILER})
  if(source MATCHES "cpp$")
    set(compiler ${CMAKE_CXX_COMPILER} -std=c++17 -fno-exceptions -fno-rtti)
  endif()
  add_custom_command(OUTPUT ${folder}/${name}.o
    COMMAND ${compiler} ${flags} -c ${PROJECT_SOURCE_DIR}/runtime/${source} -o ${folder}/${name}.o
    DEPENDS ${PROJECT_SOURCE_DIR}/runtime/${source} VERBATIM)
  list(APPEND objects ${folder}/${name}.o)
endforeach()
set(archive ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/quoin/libperpend_scalar.a)
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -DLIBC=${libc} "-DOBJECTS=${objects}" -DARCHIVE=${archive} -DAR=${CMAKE_AR}
    -DSTRIP=${CMAKE_STRIP} -DFOLDER=${folder}/libc -P ${PROJECT_SOURCE_DIR}/cmake/ScalarArchive.cmake
  DEPENDS ${objects} ${PROJECT_SOURCE_DIR}/cmake/ScalarArchive.cmake VERBATIM COMMENT "Making the scalar runtime")
add_custom_target(perpend_scalar_runtime ALL DEPENDS ${archive})
install(FILES ${archive} DESTINATION lib/quoin)
install(FILES ${archive} DESTINATION perpend/lib/quoin COMPONENT python)
