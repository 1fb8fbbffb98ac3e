# cmake -DFILE=... -DSTRIP=... -DLIMIT=bytes -P CheckStripped.cmake: the size of the stripped file.
set(stripped ${FILE}.stripped)
execute_process(COMMAND ${STRIP} -o ${stripped} ${FILE} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${stripped} bytes)
file(REMOVE ${stripped})
message(STATUS "${FILE}: ${bytes} bytes stripped")
if(bytes GREATER LIMIT)
  message(FATAL_ERROR "${FILE}: expected at most ${LIMIT} bytes stripped, got ${bytes}")
endif()
