// A C++ program that does not link the shield. It ends by an uncaught exception.
#include <stdexcept>

namespace {
__attribute__((noinline)) void buy(int count) {
  if (count > 0) throw std::runtime_error("sold out");
}
} // namespace

int main(int count, char **) {
  buy(count);
}
