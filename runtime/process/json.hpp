// runtime/process/json.hpp -- JSON values that can be destroyed where there is no memory.
//
// nlohmann's destructor lists a value's children in a std::vector of values, so as not to recurse;
// it may not throw, and where that vector finds no memory the process ends: an exception that says
// so would never arrive. The type here is nlohmann::ordered_json (members in the order written) in
// all but its allocator's name, which makes std::allocator of its values one of our own: it falls
// back on memory kept for that.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// Allocates as std::allocator does.
template <class T>
struct JsonAllocator {
  using value_type = T;
  JsonAllocator() = default;
  template <class U>
  JsonAllocator(const JsonAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T))); }
  void deallocate(T* values, size_t) noexcept { ::operator delete(values); }
  friend bool operator==(JsonAllocator, JsonAllocator) { return true; }
};

/// Objects keep the order in which members were added. Begin an empty array or object with
/// Json::array() or Json::object(): nlohmann 3.11.2 cannot destroy a null that became one by
/// push_back or [] without memory.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t,
                                  uint64_t, double, JsonAllocator>;

/// For what a destructor has to list. Memory of the process if it has some, else of a part kept
/// aside, one thread at a time. That is enough for values with 30,000 elements; for a larger one
/// std::bad_alloc is thrown, and ends the process.
void* take_json_memory(size_t bytes);
void give_back_json_memory(void* memory) noexcept;

}  // namespace adjit::process

/// Used by nlohmann's destructor alone: arrays have JsonAllocator.
template <>
struct std::allocator<adjit::process::Json> {
  using value_type = adjit::process::Json;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;
  allocator() = default;
  template <class U>
  allocator(const std::allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)
  adjit::process::Json* allocate(size_t count) {
    return static_cast<adjit::process::Json*>(
        adjit::process::take_json_memory(count * sizeof(adjit::process::Json)));
  }
  void deallocate(adjit::process::Json* values, size_t) noexcept {
    adjit::process::give_back_json_memory(values);
  }
  friend bool operator==(const allocator&, const allocator&) { return true; }
};
