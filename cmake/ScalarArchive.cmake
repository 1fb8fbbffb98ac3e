# Of the C library, the functions of numbers and those that move bytes.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${AR} x ${LIBC} WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB members ${FOLDER}/libm_math* ${FOLDER}/libm_common* ${FOLDER}/libm_machine* ${FOLDER}/memcpy*.o ${FOLDER}/memmove*.o
  ${FOLDER}/memset*.o)
execute_process(COMMAND ${STRIP} --strip-debug ${members} COMMAND_ERROR_IS_FATAL ANY)
get_filename_component(output ${ARCHIVE} DIRECTORY)
file(MAKE_DIRECTORY ${output})
file(REMOVE ${ARCHIVE})
execute_process(COMMAND ${AR} rcsD ${ARCHIVE} ${OBJECTS} ${members} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${FOLDER})
