// jit/cpu/code.hpp -- objects linked into this process, and removed again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::cpu {

/// Code of one object, mapped executable until this ends. Keeps what it needs of its loader alive.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  /// Address of one of the symbols that were named when loading; throws ErrorCode::Internal for
  /// another one.
  virtual void* lookup(std::string_view name) const = 0;
  /// Memory that the code and its constants take, in bytes, rounded to pages.
  virtual size_t bytes() const = 0;

 protected:
  LoadedCode() = default;
};

/// Links objects into the process. An object's undefined symbols are looked up in our own table and
/// nowhere else (math_symbols.hpp): code from a cache cannot call into the process at will.
/// Thread-safe. Where memory runs out inside the linker, it is std::bad_alloc, what the linker held
/// is lost, and later loads have a linker of their own.
class CodeLoader {
 public:
  CodeLoader();
  ~CodeLoader();
  CodeLoader(const CodeLoader&) = delete;
  CodeLoader& operator=(const CodeLoader&) = delete;

  /// Links `object` (copied) and finds `symbols` in it. Two objects may define the same names.
  /// Throws ErrorCode::Compile when it is no object for this machine, needs a symbol that the table
  /// lacks, or does not define one of `symbols`.
  std::shared_ptr<LoadedCode> load(std::span<const char> object,
                                   std::span<const std::string> symbols);

 private:
  struct Session;
  class OrcCode;
  static std::shared_ptr<Session> new_session();
  std::shared_ptr<Session> session();

  std::mutex mutex_;  // of session_
  std::shared_ptr<Session> session_;
};

}  // namespace adjit::cpu
