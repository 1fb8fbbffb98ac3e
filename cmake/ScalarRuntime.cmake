# What code of an accelerator's scalar core calls: lib/scalar/libperpend_scalar.a. It has the library of the runtime, our
# functions in runtime/scalar, and those of the distribution's C library for cores without an operating system; programs
# get the members that they call. Built by the same compiler, with the headers of the C++ library for riscv64, of which
# nothing is linked. Where one of the two is missing, the compiler cannot make programs for accelerators; all else is as usual.
set(PERPEND_SCALAR_LIBC /usr/lib/picolibc/riscv64-unknown-elf CACHE PATH "A picolibc for riscv64")
set(libc ${PERPEND_SCALAR_LIBC}/lib/release/rv64ifd/lp64d/libc.a)
if(NOT EXISTS ${libc})
  message(STATUS "No scalar runtime for accelerators: install picolibc-riscv64-unknown-elf to have it")
  return()
endif()
set(triple riscv64-linux-gnu)
set(folder ${PROJECT_BINARY_DIR}/scalar)
file(CONFIGURE OUTPUT ${folder}/probe.cpp CONTENT "#include <algorithm>\n#include <stdlib.h>\nvoid *probe() { return malloc(1); }\n")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} --target=${triple} -c ${folder}/probe.cpp -o ${folder}/probe.o
  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
  message(STATUS "No scalar runtime for accelerators: install g++-riscv64-linux-gnu to have it")
  return()
endif()
set(machine "-march=rv64imfd -mabi=lp64d -mno-relax -mcmodel=medany")
include(ExternalProject)
set(archives perpend_library perpend_runtime perpend_builtins)
set(inputs "")
foreach(name ${archives})
  list(APPEND inputs ${folder}/lib/lib${name}.a)
endforeach()
ExternalProject_Add(perpend_runtime_scalar
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/runtime
  BINARY_DIR ${folder}/runtime
  PREFIX ${folder}/steps
  CMAKE_ARGS -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64 -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_C_COMPILER_TARGET=${triple} -DCMAKE_C_FLAGS=${machine}
    -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_COMPILER_TARGET=${triple} -DCMAKE_CXX_FLAGS=${machine}
    -DCMAKE_ARCHIVE_OUTPUT_DIRECTORY=${folder}/lib -DPERPEND_TESTS=OFF -DPERPEND_IMAGES=OFF
  BUILD_COMMAND ${CMAKE_COMMAND} --build ${folder}/runtime --target ${archives}
  BUILD_ALWAYS TRUE
  BUILD_BYPRODUCTS ${inputs}
  INSTALL_COMMAND "")

separate_arguments(flags UNIX_COMMAND "${machine}")
list(APPEND flags --target=riscv64-unknown-elf -O2 -Wall -Wextra -Werror -ffreestanding -ffunction-sections -fdata-sections
  -fno-pic -ftls-model=local-exec -isystem ${PERPEND_SCALAR_LIBC}/include -I${PROJECT_SOURCE_DIR}/runtime/include)
set(objects "")
foreach(name Builtins Call Check Frame Launch Main Memory)
  add_custom_command(OUTPUT ${folder}/${name}.o
    COMMAND ${CMAKE_C_COMPILER} ${flags} -c ${PROJECT_SOURCE_DIR}/runtime/scalar/${name}.c -o ${folder}/${name}.o
    DEPENDS ${PROJECT_SOURCE_DIR}/runtime/scalar/${name}.c ${PROJECT_SOURCE_DIR}/runtime/scalar/Run.h
      ${PROJECT_SOURCE_DIR}/runtime/include/perpend_module.h VERBATIM)
  list(APPEND objects ${folder}/${name}.o)
endforeach()
set(archive ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/scalar/libperpend_scalar.a)
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -DLIBC=${libc} "-DARCHIVES=${inputs}" "-DOBJECTS=${objects}" -DARCHIVE=${archive} -DAR=${CMAKE_AR}
    -DSTRIP=${CMAKE_STRIP} -DFOLDER=${folder}/members -P ${PROJECT_SOURCE_DIR}/cmake/ScalarArchive.cmake
  DEPENDS ${objects} ${inputs} perpend_runtime_scalar ${PROJECT_SOURCE_DIR}/cmake/ScalarArchive.cmake VERBATIM
  COMMENT "Making the scalar runtime")
add_custom_target(perpend_scalar_runtime ALL DEPENDS ${archive})
install(FILES ${archive} DESTINATION lib/scalar)
install(FILES ${archive} DESTINATION perpend/lib/scalar COMPONENT python)
