// Crashes of a C++ program that uses deleted objects.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "heap.h"
}

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  std::string name = "a shape with a name that is long";
  std::function<double()> scale = [this] { return static_cast<double>(name.size()); };
  std::vector<int> sides{1, 2, 3};
  Shape *parent = this;
};
template <size_t Extra> struct Polygon : Shape {
  uint64_t corners[Extra] = {1};
  double area() const override { return static_cast<double>(corners[0]); }
};

const char *age;

void use(double number) {
  heap_opaque(static_cast<uint64_t>(number));
}

#define FAULT __attribute__((noinline)) void

template <size_t Extra> Shape *deleted() {
  auto first = std::make_unique<Polygon<Extra>>();
  auto *shape = new Polygon<Extra>;
  heap_make_room(age, shape);
  first.reset();
  const auto address = heap_opaque(reinterpret_cast<uint64_t>(shape));
  delete shape;
  heap_age(age, sizeof(Polygon<Extra>));
  return reinterpret_cast<Shape *>(address);
}

Shape *any_deleted() {
  switch (heap_random() % 3) {
  case 0:
    return deleted<1>();
  case 1:
    return deleted<30>();
  default:
    return deleted<160>();
  }
}

FAULT method() {
  use(any_deleted()->area());
}
FAULT parents_method() {
  use(any_deleted()->parent->area());
}
FAULT function_field() {
  use(any_deleted()->scale());
}
FAULT delete_twice() {
  delete any_deleted();
}

// Uses an iterator into a vector that has moved its elements to a larger block.
FAULT iterator() {
  std::vector<Shape *> shapes;
  static Polygon<1> square;
  for (int count = 0; count < 4; count++)
    shapes.push_back(&square);
  auto **first = reinterpret_cast<Shape **>(heap_opaque(reinterpret_cast<uint64_t>(&shapes[0])));
  heap_make_room(age, first);
  shapes.resize(5000, &square);
  heap_age(age, 4 * sizeof(Shape *));
  use((*first)->area());
}

struct Kind {
  const char *name;
  void (*fault)();
};
const Kind kinds[] = {{"method", method},
                      {"parents-method", parents_method},
                      {"function-field", function_field},
                      {"delete-twice", delete_twice},
                      {"iterator", iterator}};

} // namespace

int main(int count, char **arguments) {
  if (count == 2 && std::string(arguments[1]) == "--list") {
    for (const auto &kind : kinds)
      std::puts(kind.name);
    return 0;
  }
  if (count != 4) return 2;
  age = arguments[2];
  heap_prepare("churned", std::strtoull(arguments[3], nullptr, 10));
  for (const auto &kind : kinds)
    if (std::string(kind.name) == arguments[1]) kind.fault();
  return 4;
}
