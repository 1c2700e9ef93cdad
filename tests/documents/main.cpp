// tests/documents/main.cpp -- prints what tools/documents puts into docs/.
//
//   print_documents walkthrough TRACED STRIDED MASKED SOFTMAX DENSE   JSON: the blocks of
//                                                                     docs/walkthrough
//   print_documents moves                                             docs/moves.md
//
// TRACED, STRIDED, MASKED, SOFTMAX and DENSE are files with a graph in text notation.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/documents/print_gpu_walkthrough.hpp"
#include "tests/documents/print_moves.hpp"
#include "tests/documents/print_walkthrough.hpp"

namespace adjit::testing {
namespace {

Graph graph_in(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("'" + file + "' cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return parse_graph(text.str());
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 6 && arguments[0] == "walkthrough") {
    Json blocks =
        print_walkthrough(graph_in(arguments[1]), graph_in(arguments[2]), graph_in(arguments[3]));
    add_gpu_walkthrough(blocks, graph_in(arguments[4]));
    add_gpu_product(blocks, graph_in(arguments[5]));
    std::cout << blocks.dump(1) << "\n";
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "moves") {
    std::cout << print_moves();
    return 0;
  }
  std::cerr << "print_documents walkthrough TRACED STRIDED MASKED SOFTMAX DENSE | print_documents "
               "moves\n";
  return 2;
}

}  // namespace
}  // namespace adjit::testing

int main(int count, char** arguments) {
  try {
    return adjit::testing::run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << "print_documents: " << e.what() << "\n";
    return 1;
  }
}
