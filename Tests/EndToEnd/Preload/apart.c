// A program without frame pointers, which crashes three calls below main. scripts/check/preload links it with gaps
// between its ELF segments.
__attribute__((noinline)) static int apart_fault(volatile int *place, int depth) {
  int room[16];
  for (int index = 0; index < 16; index++)
    room[index] = depth + index;
  __asm__ volatile("" : : "r"(room) : "memory");
  *place = depth;
  return room[depth & 15];
}

__attribute__((noinline)) static int apart_middle(volatile int *place, int depth) {
  return apart_fault(place, depth + 1) + 1;
}

__attribute__((noinline)) static int apart_outer(volatile int *place, int depth) {
  return apart_middle(place, depth + 1) + 1;
}

int main(int count, char **arguments) {
  (void)arguments;
  return apart_outer((volatile int *)8, count) + 1;
}
