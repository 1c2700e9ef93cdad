// autosched/machine/table_row.hpp -- a row of a table of numbers that are fields of a struct.
#pragma once

#include <cmath>
#include <string_view>
#include <type_traits>

#include "runtime/process/rooms.hpp"

namespace adjit::sched {

/// "value unit meaning", and the measurement that set it ("" where none is recorded).
template <class Table>
struct TableRow {
  std::string_view name, unit, meaning, finding;
  double (*get)(const Table& table);
  /// Writes this value, rounded where the number is a whole one, and returns what it became.
  double (*set)(Table& table, double value);
};

template <class T>
double assign_rounded(T& field, double value) {
  if constexpr (std::is_integral_v<T>)
    field = static_cast<T>(std::llround(value));
  else
    field = value;
  return static_cast<double>(field);
}

}  // namespace adjit::sched

/// A row of the table `Table`, out of one of its fields.
#define ADJIT_TABLE_ROW(Table, name, unit, meaning, finding)                        \
  TableRow<Table> {                                                                 \
    #name, unit, meaning, finding,                                                  \
        [](const auto& table) { return static_cast<double>(table.name); },          \
        [](auto& table, double value) { return assign_rounded(table.name, value); } \
  }
