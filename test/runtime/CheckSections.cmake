# cmake -DARCHIVE=... -DREADELF=... -DLIMIT=bytes -P CheckSections.cmake: the bytes of all sections that are loaded.
execute_process(COMMAND ${READELF} -SW ${ARCHIVE} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
# Type, address, offset, size, size of entries, flags with A for allocated.
string(REGEX MATCHALL "[A-Z0-9_]+ +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +[A-Z]*A[A-Z]* " sections "${text}")
set(bytes 0)
foreach(section ${sections})
  string(REGEX REPLACE "[^ ]+ +[^ ]+ +[^ ]+ +([^ ]+) .*" "0x\\1" size "${section}")
  math(EXPR bytes "${bytes} + ${size}")
endforeach()
message(STATUS "${ARCHIVE}: ${bytes} bytes of sections")
if(bytes EQUAL 0 OR bytes GREATER LIMIT)
  message(FATAL_ERROR "${ARCHIVE}: expected 1 to ${LIMIT} bytes of sections, got ${bytes}")
endif()
