# cmake -DOBJECT=... -DREADELF=... -P CheckObject.cmake: the dependencies.
execute_process(COMMAND ${READELF} -d ${OBJECT} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*" needed "${dynamic}")
foreach(line ${needed})
  if(NOT line MATCHES "\\[(libc|libm|libpthread|ld-linux)[-.]")
    message(FATAL_ERROR "${OBJECT}: expected no dependency but libc, libm and pthread, got ${line}")
  endif()
endforeach()
