// jit/codegen/error_collector.hpp -- what LLVM reports while it works, as an exception.
#pragma once

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::codegen {

/// Keeps the first error that a context reports while this lives; other diagnostics are dropped.
class ErrorCollector {
 public:
  explicit ErrorCollector(llvm::LLVMContext& context)
      : context_(context), previous_(context.getDiagnosticHandler()) {
    context_.setDiagnosticHandler(std::make_unique<Handler>(first_));
  }
  ~ErrorCollector() { context_.setDiagnosticHandler(std::move(previous_)); }
  ErrorCollector(const ErrorCollector&) = delete;
  ErrorCollector& operator=(const ErrorCollector&) = delete;

  void throw_if_any() const {
    if (!first_.empty()) throw Error(ErrorCode::Compile, "LLVM: " + first_);
  }

 private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string& first) : first(first) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
      if (info.getSeverity() == llvm::DS_Error && first.empty()) {
        llvm::raw_string_ostream out(first);
        llvm::DiagnosticPrinterRawOStream printer(out);
        info.print(printer);
      }
      return true;
    }
    std::string& first;
  };
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> previous_;
  std::string first_;
};

}  // namespace adjit::codegen
