# What runs models for processors without an operating system in an emulator, in lib/cortex-m: start-up code and sections
# (those of examples/cortex-m), a main function, and the archives of the distribution's C library. Where that is missing,
# `perpend run` and `perpend check` have no runner for these; all else is as usual.
set(PERPEND_BARE_LIBC /usr/lib/picolibc/arm-none-eabi/lib/thumb/v7e-m+fp/hard CACHE PATH "Archives of a picolibc for Cortex-M4")
find_program(PERPEND_BARE_GCC arm-none-eabi-gcc)
set(flags --target=thumbv7em-none-eabihf -mcpu=cortex-m4)
set(found "")
if(PERPEND_BARE_GCC)
  execute_process(COMMAND ${PERPEND_BARE_GCC} -mcpu=cortex-m4 -mfloat-abi=hard -print-libgcc-file-name
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS ${PERPEND_BARE_LIBC}/libc.a OR NOT EXISTS "${found}")
  message(STATUS "No runner for cortex-m: install picolibc-arm-none-eabi to have it")
  return()
endif()
set(output ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/cortex-m)
set(example ${PROJECT_SOURCE_DIR}/examples/cortex-m)
file(MAKE_DIRECTORY ${output})
set(files "")
foreach(source ${example}/start.c ${PROJECT_SOURCE_DIR}/runtime/bare/Runner.c)
  get_filename_component(name ${source} NAME_WE)
  string(TOLOWER ${name} name)
  add_custom_command(OUTPUT ${output}/${name}.o
    COMMAND ${CMAKE_C_COMPILER} ${flags} -Os -Wall -Wextra -Werror -ffreestanding -ffunction-sections
      -I${PROJECT_SOURCE_DIR} -c ${source} -o ${output}/${name}.o
    DEPENDS ${source} ${example}/board.h VERBATIM)
  list(APPEND files ${output}/${name}.o)
endforeach()
foreach(source ${example}/sections.ld ${PERPEND_BARE_LIBC}/libc.a ${found})
  get_filename_component(name ${source} NAME)
  add_custom_command(OUTPUT ${output}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${source} ${output}/${name} DEPENDS ${source} VERBATIM)
  list(APPEND files ${output}/${name})
endforeach()
perpend_copy_terms(${output} ${PERPEND_BARE_LIBC}/libc.a ${found})
file(GLOB terms ${output}/*.copyright)
list(APPEND files ${terms})
add_custom_target(perpend_bare_runtime ALL DEPENDS ${files})
install(FILES ${files} DESTINATION lib/cortex-m)
install(FILES ${files} DESTINATION perpend/lib/cortex-m COMPONENT python)
