# The compiler's flags, and perpend_library(): a static library of one folder of src/.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/src ${PROJECT_SOURCE_DIR}/runtime/include)
separate_arguments(PERPEND_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${PERPEND_LLVM_DEFINITIONS})
add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter -fvisibility-inlines-hidden)
set(PERPEND_COMPILER_OPTIONS -fno-exceptions -fno-rtti)
set(MLIR_TABLEGEN_FLAGS -I${PROJECT_SOURCE_DIR}/src)

# The headers that most files include, parsed once: half the time of a full build, and of a changed line's. A file still
# includes what it uses: the presets asan and fuzz build without (CMAKE_DISABLE_PRECOMPILE_HEADERS).
set(PERPEND_PRECOMPILED_HEADERS
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h>
  <llvm/ADT/StringExtras.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/FileSystem.h> <llvm/Support/FormatVariadic.h>
  <llvm/Support/Path.h> <llvm/Support/raw_ostream.h> <optional>)
set(PERPEND_PRECOMPILED_FLAGS -Xclang -fno-pch-timestamp) # the same headers give the same bytes, which ccache needs

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/Precompiled.cpp CONTENT "")
add_library(PerpendPrecompiled OBJECT ${PROJECT_BINARY_DIR}/Precompiled.cpp)
target_compile_options(PerpendPrecompiled PRIVATE ${PERPEND_COMPILER_OPTIONS} ${PERPEND_PRECOMPILED_FLAGS})
target_precompile_headers(PerpendPrecompiled PRIVATE ${PERPEND_PRECOMPILED_HEADERS})

# perpend_library(Name sources... [DEPENDS targets...] [LINK libraries...] [PRECOMPILE headers... | PRECOMPILED_BY library])
# PRECOMPILE adds headers of ours to the precompiled ones, for this library and those that name it in PRECOMPILED_BY.
function(perpend_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED_BY" "DEPENDS;LINK;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${PERPEND_COMPILER_OPTIONS} ${PERPEND_PRECOMPILED_FLAGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${PERPEND_PRECOMPILED_HEADERS} ${ARG_PRECOMPILE})
  elseif(ARG_PRECOMPILED_BY)
    target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED_BY})
  else()
    target_precompile_headers(${name} REUSE_FROM PerpendPrecompiled)
  endif()
endfunction()
