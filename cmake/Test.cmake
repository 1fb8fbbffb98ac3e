# perpend_test(): a test of GoogleTest.
include(GoogleTest)

# The headers that most tests include, parsed once.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/PrecompiledTest.cpp CONTENT "")
add_library(PerpendPrecompiledTest OBJECT ${PROJECT_BINARY_DIR}/PrecompiledTest.cpp)
set_target_properties(PerpendPrecompiledTest PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(PerpendPrecompiledTest PRIVATE ${PERPEND_COMPILER_OPTIONS} ${PERPEND_PRECOMPILED_FLAGS} -fPIE) # as executables
target_link_libraries(PerpendPrecompiledTest PRIVATE GTest::gtest)
target_precompile_headers(PerpendPrecompiledTest PRIVATE ${PERPEND_PRECOMPILED_HEADERS}
  <gtest/gtest.h> <mlir/AsmParser/AsmParser.h> <mlir/Parser/Parser.h> <mlir/Pass/PassManager.h>
  <filesystem> <fstream> <map> <random> <thread>)

# perpend_test(Name sources... [LINK libraries...] [INCLUDE folders...] [DEFINE definitions...] [EACH prefix] [TIMEOUT seconds])
# One test of ctest; with EACH as many as there are cases, by their names after this prefix, each with this TIMEOUT
# (default 300).
function(perpend_test name)
  cmake_parse_arguments(ARG "" "EACH;TIMEOUT" "LINK;INCLUDE;DEFINE" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${PERPEND_COMPILER_OPTIONS} ${PERPEND_PRECOMPILED_FLAGS})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINE})
  target_include_directories(${name} PRIVATE ${ARG_INCLUDE})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR GTest::gtest GTest::gtest_main) # MLIR: inline functions of its headers
  target_precompile_headers(${name} REUSE_FROM PerpendPrecompiledTest)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(ARG_EACH)
    gtest_discover_tests(${name} TEST_PREFIX ${ARG_EACH}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
endfunction()
