// Corrupted heaps and stacks. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let heap = [
    c(
      "heap-overwrite-metadata", "SIGABRT", "free a block whose size was overwritten", reason: "free(): invalid size",
      cs_fault_heap_overwrite_metadata),
    c(
      "malloc-corrupt-top", "SIGABRT", "allocate after the top of the heap was overwritten",
      reason: "corrupted top size", cs_fault_malloc_corrupt_top
    ).with { $0.threads = [.main] },
    c("inside-malloc", "SIGSEGV", "allocate after free blocks were overwritten", cs_fault_inside_malloc),
    c(
      "stack-smash", "SIGABRT", "return after the stack protector's canary was overwritten",
      reason: "stack smashing detected", cs_fault_stack_smash),
  ]

  static let stacks =
    [
      c("stack-overflow", "SIGSEGV", "call without end", cs_fault_stack_overflow).withoutLine(),
      c(
        "stack-overflow-small-thread", "SIGSEGV", "call without end, on a small stack", function: "descend",
        cs_fault_stack_overflow_small_thread
      ).withoutLine(),
      c(
        "qsort-callback", "SIGSEGV", "crash in a callback of qsort", function: "cs_fault_compare",
        cs_fault_qsort_callback),
      c("memcpy-bad-pointer", "SIGSEGV", "copy from where nothing is mapped", cs_fault_memcpy_bad_pointer),
    ] + assembled

  private static let assembled = [
    c(
      "no-frame-pointer-leaf", "SIGSEGV", "crash in a function without a frame", function: "cs_fault_leaf",
      cs_fault_no_frame_pointer_leaf),
    c("smashed-return-address", "SIGSEGV", "return to where nothing is mapped", cs_fault_smashed_return_address).with {
      $0.function = ""
      $0.mark = ""
      $0.withoutDebugger = "gdb cannot find the overwritten return address either"
    },
    c("smashed-frame-pointer", "SIGSEGV", "write through an invalid frame pointer", cs_fault_smashed_frame_pointer)
      .with {
        $0.withoutDebugger = "gdb cannot find the overwritten frame pointer either"
      },
    c("corrupt-stack-pointer", "SIGSEGV", "push with an invalid stack pointer", cs_fault_corrupt_stack_pointer).with {
      $0.withoutDebugger = "gdb cannot find the overwritten stack pointer either"
    },
  ]
}
