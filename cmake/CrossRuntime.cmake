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

# WebAssembly: an engine has no system, so a module contains its C library, of which the archives are copied. The module in
# JavaScript that loads models lies with them.
function(perpend_wasm_runtime package)
  set(triple wasm32-wasi)
  set(folder ${PROJECT_BINARY_DIR}/runtime-wasm32)
  file(CONFIGURE OUTPUT ${folder}/probe.cpp CONTENT "#include <algorithm>\n#include <stdlib.h>\nextern \"C\" void *probe() { return malloc(1); }\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} --target=${triple} -c ${folder}/probe.cpp -o ${folder}/probe.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  set(archives "")
  set(copied "")
  foreach(name libc.a libc++.a libclang_rt.builtins-wasm32.a)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} --target=${triple} -print-file-name=${name}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT EXISTS ${path})
      set(failed TRUE)
    endif()
    string(REPLACE "-wasm32" "" name ${name})
    list(APPEND copied ${path})
    list(APPEND archives COMMAND ${CMAKE_COMMAND} -E copy_if_different ${path} ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/wasm32/${name})
  endforeach()
  if(failed)
    message(STATUS "No runtime for wasm32: install ${package} to have it")
    return()
  endif()
  set(output ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/wasm32)
  file(MAKE_DIRECTORY ${output})
  perpend_copy_terms(${output} ${copied})
  ExternalProject_Add(perpend_runtime_wasm32
    SOURCE_DIR ${PROJECT_SOURCE_DIR}/runtime
    BINARY_DIR ${folder}
    PREFIX ${folder}/steps
    CMAKE_ARGS -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_SYSTEM_PROCESSOR=wasm32 -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_AR=${CMAKE_AR} -DCMAKE_RANLIB=${CMAKE_RANLIB}
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_C_COMPILER_TARGET=${triple}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_COMPILER_TARGET=${triple}
      -DCMAKE_ARCHIVE_OUTPUT_DIRECTORY=${output} -DPERPEND_TESTS=OFF
    BUILD_COMMAND ${CMAKE_COMMAND} --build ${folder} --target perpend_runtime perpend_segments perpend_state perpend_library
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/runtime/wasm/module ${output}
    COMMAND ${CMAKE_COMMAND} -DFILE=${output}/perpend.mjs -P ${PROJECT_SOURCE_DIR}/cmake/StripComments.cmake
    COMMAND ${CMAKE_COMMAND} -DFILE=${output}/perpend-engine.mjs -P ${PROJECT_SOURCE_DIR}/cmake/StripComments.cmake
    ${archives}
    BUILD_ALWAYS TRUE
    INSTALL_COMMAND "")
  add_dependencies(perpend_cross_runtimes perpend_runtime_wasm32)
  install(DIRECTORY ${output} DESTINATION lib)
  install(DIRECTORY ${output} DESTINATION perpend/lib COMPONENT python)
endfunction()

add_custom_target(perpend_cross_runtimes ALL)
perpend_cross_runtime(aarch64 aarch64-linux-gnu g++-aarch64-linux-gnu)
perpend_cross_runtime(riscv64 riscv64-linux-gnu g++-riscv64-linux-gnu)
perpend_wasm_runtime("libc++-19-dev-wasm32, libclang-rt-19-dev-wasm32 and wasi-libc")
