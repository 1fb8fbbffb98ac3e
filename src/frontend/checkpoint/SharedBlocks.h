//===- SharedBlocks.h - packed blocks of several imports --------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_SHAREDBLOCKS_H
#define PERPEND_FRONTEND_CHECKPOINT_SHAREDBLOCKS_H

#include <memory>

namespace perpend::checkpoint {

/// While it lives, imports of this thread pack each matrix of a file once: the entries of a program are imports of one
/// checkpoint. It keeps no memory that nobody else has.
class SharedBlocks {
public:
  SharedBlocks();
  ~SharedBlocks();
  SharedBlocks(const SharedBlocks &) = delete;
  SharedBlocks &operator=(const SharedBlocks &) = delete;

  struct Packed;
  Packed *operator->() const { return packed.get(); }
  /// Null: there is none.
  static SharedBlocks *current();

private:
  std::unique_ptr<Packed> packed;
  SharedBlocks *previous;
};
} // namespace perpend::checkpoint

#endif
