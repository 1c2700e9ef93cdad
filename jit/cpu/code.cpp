// jit/cpu/code.cpp -- an ORC session of our own: object linking by JITLink, no platform, no process
// symbols.
#include "jit/cpu/code.hpp"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "jit/cpu/math_symbols.hpp"
#include "runtime/expr/error.hpp"

namespace adjit {
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

struct CodeLoader::Session {
  Session();
  ~Session();
  orc::JITDylib& new_dylib();

  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  orc::JITDylib* runtime = nullptr;  // our table
  std::atomic<uint64_t> loaded{0};   // numbers the dylibs
  // Linking in one thread at a time: a link takes a tenth of a millisecond, and a failure's text is
  // then its own.
  std::mutex mutex;
  std::string reported;  // what ORC told its error reporter during the present load
  size_t bytes = 0;      // what it mapped
};

CodeLoader::Session::Session() {
  session = std::make_unique<orc::ExecutionSession>(
      value_or_throw(orc::SelfExecutorProcessControl::Create(
                         nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()),
                     "no linker for this process"));
  session->setErrorReporter([this](llvm::Error error) {
    if (!reported.empty()) reported += "; ";
    reported += llvm::toString(std::move(error));
  });
  layer = std::make_unique<orc::ObjectLinkingLayer>(*session);
  layer->addPlugin(std::make_shared<SizePlugin>(bytes));
  runtime = &session->createBareJITDylib("adjit.runtime");
  orc::SymbolMap table;
  for (const RuntimeSymbol& symbol : runtime_symbols())
    table[session->intern(symbol.name)] = {
        orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error = runtime->define(orc::absoluteSymbols(std::move(table))))
    fail("the runtime's symbols", std::move(error));
}

CodeLoader::Session::~Session() { llvm::consumeError(session->endSession()); }

orc::JITDylib& CodeLoader::Session::new_dylib() {
  orc::JITDylib& dylib = session->createBareJITDylib("code." + std::to_string(++loaded));
  dylib.addToLinkOrder(*runtime, orc::JITDylibLookupFlags::MatchExportedSymbolsOnly);
  return dylib;
}

namespace {

class OrcCode final : public LoadedCode {
 public:
  OrcCode(std::shared_ptr<void> keep, std::mutex& mutex, orc::ExecutionSession& session,
          orc::JITDylib& dylib)
      : keep_(std::move(keep)), mutex_(mutex), session_(session), dylib_(dylib) {}
  ~OrcCode() override {
    const std::lock_guard lock(mutex_);
    llvm::consumeError(session_.removeJITDylib(dylib_));
  }

  void* lookup(std::string_view name) const override {
    const auto found = addresses_.find(std::string(name));
    invariant(found != addresses_.end(), "looking up a symbol that was not named when loading");
    return found->second;
  }
  size_t bytes() const override { return bytes_; }

  std::unordered_map<std::string, void*> addresses_;
  size_t bytes_ = 0;

 private:
  std::shared_ptr<void> keep_;  // the session
  std::mutex& mutex_;
  orc::ExecutionSession& session_;
  orc::JITDylib& dylib_;
};

}  // namespace

CodeLoader::CodeLoader() : session_(std::make_shared<Session>()) {}
CodeLoader::~CodeLoader() = default;

std::shared_ptr<LoadedCode> CodeLoader::load(std::span<const char> object,
                                             std::span<const std::string> symbols) {
  Session& s = *session_;
  std::unique_lock lock(s.mutex);
  s.reported.clear();
  orc::JITDylib& dylib = s.new_dylib();
  auto code = std::make_shared<OrcCode>(session_, s.mutex, *s.session, dylib);
  const auto failed = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (!s.reported.empty()) text += ": " + s.reported;
    lock.unlock();  // the code's destructor takes it
    code.reset();
    throw Error(ErrorCode::Compile, "linking generated code: " + text);
  };

  if (llvm::Error error = s.layer->add(
          dylib, llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "adjit")))
    failed(std::move(error));
  orc::SymbolLookupSet wanted;
  for (const std::string& name : symbols) wanted.add(s.session->intern(name));
  s.bytes = 0;
  llvm::Expected<orc::SymbolMap> found =
      s.session->lookup({{&dylib, orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted));
  if (!found) failed(found.takeError());
  for (const auto& [name, definition] : *found)
    code->addresses_[(*name).str()] = definition.getAddress().toPtr<void*>();
  code->bytes_ = s.bytes;
  return code;
}

}  // namespace adjit
