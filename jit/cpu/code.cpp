// jit/cpu/code.cpp -- an ORC session of our own: object linking by JITLink, no platform, no process
// symbols.
#include "jit/cpu/code.hpp"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <mutex>
#include <new>
#include <system_error>
#include <unordered_map>

#include "jit/cpu/math_symbols.hpp"
#include "jit/emit/ir/lost_if_thrown.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cpu {
namespace {

namespace orc = llvm::orc;

[[noreturn]] void fail(const std::string& what, llvm::Error error) {
  throw Error(ErrorCode::Compile, what + ": " + llvm::toString(std::move(error)));
}

template <class T>
T value_or_throw(llvm::Expected<T> value, const char* what) {
  if (!value) fail(what, value.takeError());
  return std::move(*value);
}

/// Adds up the memory that objects take as they are linked.
class SizePlugin : public orc::ObjectLinkingLayer::Plugin {
 public:
  explicit SizePlugin(size_t& bytes) : bytes_(bytes) {}

  void modifyPassConfig(orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& passes) override {
    const auto measure = [this](llvm::jitlink::LinkGraph& graph) {
      constexpr size_t kPage = 4096;
      for (const llvm::jitlink::Section& section : graph.sections()) {
        if (section.getMemLifetime() != orc::MemLifetime::Standard) continue;
        size_t in_section = 0;
        for (const llvm::jitlink::Block* block : section.blocks()) in_section += block->getSize();
        bytes_ += (in_section + kPage - 1) / kPage * kPage;
      }
      return llvm::Error::success();
    };
    passes.PostAllocationPasses.emplace_back(measure);
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}

 private:
  size_t& bytes_;
};

}  // namespace

/// Memory that runs out inside LLVM is an exception that passes through its frames, which release
/// neither locks nor half-built objects: such a session is `broken`, and is left alone from then
/// on.
struct CodeLoader::Session {
  Session();
  ~Session();
  orc::JITDylib& new_dylib();
  /// With the mutex locked. What ORC reports is an Error; anything else leaves the session broken.
  void link(std::span<const char> object, std::span<const std::string> symbols, OrcCode& code);
  void remove(orc::JITDylib& dylib) noexcept;

  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  orc::JITDylib* runtime = nullptr;  // our table
  std::atomic<uint64_t> loaded{0};   // numbers the dylibs
  // Linking in one thread at a time: a link takes a tenth of a millisecond, and a failure's text is
  // then its own.
  std::mutex mutex;
  bool broken = false;
  std::string reported;    // what ORC told its error reporter during the present load
  bool no_memory = false;  // among it that memory ran out
  size_t bytes = 0;        // what it mapped

 private:
  void open();
  void note(llvm::Error error);
  [[noreturn]] void failed(llvm::Error error);
};

class CodeLoader::OrcCode final : public LoadedCode {
 public:
  explicit OrcCode(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~OrcCode() override {
    if (dylib_) session_->remove(*dylib_);
  }

  void* lookup(std::string_view name) const override {
    const auto found = addresses_.find(std::string(name));
    invariant(found != addresses_.end(), "looking up a symbol that was not named when loading");
    return found->second;
  }
  size_t bytes() const override { return bytes_; }

  orc::JITDylib* dylib_ = nullptr;
  std::unordered_map<std::string, void*> addresses_;
  size_t bytes_ = 0;

 private:
  std::shared_ptr<Session> session_;
};

CodeLoader::Session::Session() {
  try {
    open();
  } catch (...) {  // they may be half built
    static_cast<void>(layer.release());
    static_cast<void>(session.release());
    throw;
  }
}

void CodeLoader::Session::open() {
  session = std::make_unique<orc::ExecutionSession>(
      value_or_throw(orc::SelfExecutorProcessControl::Create(
                         nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()),
                     "no linker for this process"));
  session->setErrorReporter([this](llvm::Error error) { note(std::move(error)); });
  layer = std::make_unique<orc::ObjectLinkingLayer>(*session);
  layer->addPlugin(std::make_shared<SizePlugin>(bytes));
  runtime = &session->createBareJITDylib("adjit.runtime");
  LostIfThrown<orc::SymbolMap> table;
  for (const RuntimeSymbol& symbol : runtime_symbols())
    (*table)[session->intern(symbol.name)] = {
        orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error = runtime->define(orc::absoluteSymbols(std::move(*table))))
    fail("the runtime's symbols", std::move(error));
}

CodeLoader::Session::~Session() {
  const ForkDelay no_fork;
  if (!broken) try {
      llvm::consumeError(session->endSession());
      return;
    } catch (...) {  // NOLINT(bugprone-empty-catch): as broken as those before
    }
  static_cast<void>(layer.release());
  static_cast<void>(session.release());
}

// Of an error that ORC reports by itself: which memory is it that ran out?
void CodeLoader::Session::note(llvm::Error error) {
  error =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<llvm::ECError> e) -> llvm::Error {
        no_memory |= e->convertToErrorCode() == std::errc::not_enough_memory;
        return llvm::Error(std::move(e));
      });
  if (!reported.empty()) reported += "; ";
  reported += llvm::toString(std::move(error));
}

orc::JITDylib& CodeLoader::Session::new_dylib() {
  orc::JITDylib& dylib = session->createBareJITDylib("code." + std::to_string(++loaded));
  dylib.addToLinkOrder(*runtime, orc::JITDylibLookupFlags::MatchExportedSymbolsOnly);
  return dylib;
}

void CodeLoader::Session::remove(orc::JITDylib& dylib) noexcept {
  const BriefLock lock(mutex);
  if (broken) return;
  try {
    llvm::consumeError(session->removeJITDylib(dylib));
  } catch (...) {
    broken = true;
  }
}

void CodeLoader::Session::failed(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (no_memory) throw std::bad_alloc();
  if (!reported.empty()) text += ": " + reported;
  throw Error(ErrorCode::Compile, "linking generated code: " + text);
}

void CodeLoader::Session::link(std::span<const char> object, std::span<const std::string> symbols,
                               OrcCode& code) {
  reported.clear();
  no_memory = false;
  bytes = 0;
  std::unique_ptr<llvm::MemoryBuffer> copy =
      llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "adjit");
  if (!copy) throw std::bad_alloc();
  orc::JITDylib& dylib = new_dylib();
  code.dylib_ = &dylib;
  if (llvm::Error error = layer->add(dylib, std::move(copy))) failed(std::move(error));
  orc::SymbolLookupSet wanted;
  for (const std::string& name : symbols) wanted.add(session->intern(name));
  llvm::Expected<orc::SymbolMap> found =
      session->lookup({{&dylib, orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted));
  if (!found) failed(found.takeError());
  for (const auto& [name, definition] : *found)
    code.addresses_[(*name).str()] = definition.getAddress().toPtr<void*>();
  code.bytes_ = bytes;
}

CodeLoader::CodeLoader() : session_(new_session()) {}
CodeLoader::~CodeLoader() = default;

std::shared_ptr<CodeLoader::Session> CodeLoader::new_session() {
  const ForkDelay no_fork;
  return std::make_shared<Session>();
}

// The session, or a new one for one that is broken.
std::shared_ptr<CodeLoader::Session> CodeLoader::session() {
  const BriefLock lock(mutex_);
  const auto is_broken = [&] {
    const std::lock_guard inner(session_->mutex);
    return session_->broken;
  };
  if (is_broken()) session_ = new_session();
  return session_;
}

std::shared_ptr<LoadedCode> CodeLoader::load(std::span<const char> object,
                                             std::span<const std::string> symbols) {
  const ForkDelay no_fork;
  const std::shared_ptr<Session> current = session();
  const auto code = std::make_shared<OrcCode>(current);
  const std::lock_guard lock(current->mutex);  // ends before the code, whose end takes it
  try {
    current->link(object, symbols, *code);
  } catch (const Error&) {
    throw;
  } catch (...) {
    current->broken = true;
    throw;
  }
  return code;
}

}  // namespace adjit::cpu
