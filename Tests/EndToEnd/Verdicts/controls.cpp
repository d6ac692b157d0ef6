// Crashes of a C++ program that do not use freed memory: null pointers, overwritten or wrong objects, and exceptions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "heap.h"
}

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  double scale = 1;
};
struct Square : Shape {
  double side = static_cast<double>(heap_random() % 100);
  double area() const override { return side * side * scale; }
};

#define FAULT __attribute__((noinline)) void

void use(double number) {
  heap_opaque(static_cast<uint64_t>(number));
}

template <typename T> T *hidden(T *pointer) {
  return reinterpret_cast<T *>(heap_opaque(reinterpret_cast<uint64_t>(pointer)));
}

// Allocates and deletes objects before the crash.
void trade() {
  std::map<std::string, std::unique_ptr<Shape>> shapes;
  for (int round = 0; round < 500; round++) {
    auto name = "shape " + std::to_string(heap_random() % 64);
    if (heap_random() % 2 == 0) {
      shapes[name] = std::make_unique<Square>();
    } else {
      shapes.erase(name);
    }
  }
}

FAULT null_object() {
  use(hidden<Shape>(nullptr)->area());
}

// Calls a method of an object whose vtable pointer is overwritten by a pattern.
FAULT overwritten_object() {
  auto *square = new Square;
  std::memset(static_cast<void *>(hidden(square)), static_cast<int>(heap_random()) | 1, 16);
  use(hidden<Shape>(square)->area());
}

// Uses the words of a live vector as an object.
FAULT wrong_kind() {
  std::vector<uint64_t> words(16);
  for (auto &word : words)
    word = heap_random();
  use(reinterpret_cast<Shape *>(hidden(words.data()))->area());
}

FAULT empty_function() {
  std::function<void()> function;
  function();
}
FAULT out_of_range() {
  use(std::vector<double>(heap_random() % 5).at(7));
}
FAULT uncaught() {
  throw std::runtime_error("out of stock");
}
FAULT terminate() {
  std::terminate();
}
FAULT missing_element() {
  use(*hidden(std::map<int, double *>()[3]));
}
FAULT wild_string() {
  std::string name = "a name that is too long to be kept in the string itself";
  // The first word of a C++ string is its pointer to the characters.
  const uint64_t address = heap_random() >> 17;
  std::memcpy(static_cast<void *>(hidden(&name)), &address, sizeof address);
  use(static_cast<double>(name[3]));
}

struct Node {
  std::unique_ptr<Node> next;
  std::vector<int> numbers{1, 2, 3};
};
// Each destructor calls the next destructor.
FAULT deep_destructor() {
  auto list = std::make_unique<Node>();
  for (int count = 0; count < 2000000; count++) {
    auto node = std::make_unique<Node>();
    node->next = std::move(list);
    list = std::move(node);
  }
}

// A destructor that uses its own object. The object's memory is not freed yet.
struct Receipt {
  double *total = reinterpret_cast<double *>(heap_random() >> 18);
  std::string text = "receipt";
  ~Receipt() { use(*hidden(total)); }
};
FAULT in_destructor() {
  auto receipt = std::make_unique<Receipt>();
}

struct Kind {
  const char *name;
  void (*fault)();
};
const Kind kinds[] = {
    {"null-object", null_object},     {"overwritten-object", overwritten_object},
    {"wrong-kind", wrong_kind},       {"empty-function", empty_function},
    {"out-of-range", out_of_range},   {"uncaught", uncaught},
    {"terminate", terminate},         {"missing-element", missing_element},
    {"wild-string", wild_string},     {"deep-destructor", deep_destructor},
    {"in-destructor", in_destructor},
};

} // namespace

int main(int count, char **arguments) {
  if (count == 2 && std::string(arguments[1]) == "--list") {
    for (const auto &kind : kinds)
      std::puts(kind.name);
    return 0;
  }
  if (count != 4) return 2;
  heap_prepare(arguments[2], std::strtoull(arguments[3], nullptr, 10));
  trade();
  for (const auto &kind : kinds)
    if (std::string(kind.name) == arguments[1]) heap_call(kind.fault);
  return 4;
}
