# The runtime for architectures other than this machine's, in lib/<architecture>: built by the same compiler, with the C and
# C++ libraries that the distribution has for each (./dev setup installs them). Where they are missing, the compiler cannot
# link artifacts for that architecture; all else is as usual.
include(ExternalProject)

set(PERPEND_CROSS_ARCHIVES perpend_runtime perpend_segments perpend_loader perpend_state perpend_main perpend_library
  perpend_builtins perpend_tokenizer perpend_sampling perpend_variants perpend_template perpend_llm perpend_llm_main)

function(perpend_cross_runtime architecture triple package)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL architecture)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/runtime-${architecture})
  file(CONFIGURE OUTPUT ${folder}/probe.cpp CONTENT "#include <atomic>\n#include <pthread.h>\nint main() { return 0; }\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} --target=${triple} ${folder}/probe.cpp -o ${folder}/probe
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message(STATUS "No runtime for ${architecture}: install ${package} to have it")
    return()
  endif()
  set(output ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/${architecture})
  ExternalProject_Add(perpend_runtime_${architecture}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}/runtime
    BINARY_DIR ${folder}
    PREFIX ${folder}/steps
    CMAKE_ARGS -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=${architecture} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_C_COMPILER_TARGET=${triple}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_COMPILER_TARGET=${triple}
      -DCMAKE_ARCHIVE_OUTPUT_DIRECTORY=${output} -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${output}
      -DPERPEND_TESTS=OFF -DPERPEND_IMAGES=OFF
    BUILD_COMMAND ${CMAKE_COMMAND} --build ${folder} --target ${PERPEND_CROSS_ARCHIVES} perpend_runner
    BUILD_ALWAYS TRUE
    INSTALL_COMMAND "")
  set(PERPEND_CROSS_ARCHITECTURES ${PERPEND_CROSS_ARCHITECTURES} ${architecture} PARENT_SCOPE)
  add_dependencies(perpend_cross_runtimes perpend_runtime_${architecture})
  install(DIRECTORY ${output} DESTINATION lib USE_SOURCE_PERMISSIONS)
  install(DIRECTORY ${output} DESTINATION perpend/lib COMPONENT python USE_SOURCE_PERMISSIONS)
endfunction()

add_custom_target(perpend_cross_runtimes ALL)
perpend_cross_runtime(aarch64 aarch64-linux-gnu g++-aarch64-linux-gnu)
perpend_cross_runtime(riscv64 riscv64-linux-gnu g++-riscv64-linux-gnu)
