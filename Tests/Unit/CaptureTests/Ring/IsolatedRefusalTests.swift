import CShim
import CrashRing
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import TestKit
import Testing

/// Tests traps that end the process although they occur in isolated work (`Shield.isolated`).
///
/// Each test runs in its own process.
@Suite("Isolated work: traps that are not contained", .unlessSanitized)
struct IsolatedRefusalTests {
  @Test("a bad memory access in isolated work ends the process")
  func badAccess() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      await mustCrash {
        startShield()
        try Shield.isolated { unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(8))?.pointee = 1 }
      }
    }
  }

  @Test("an abort in isolated work ends the process")
  func abortion() async {
    await #expect(processExitsWith: .signal(SIGABRT)) {
      await mustCrash {
        startShield()
        try Shield.isolated { abort() }
      }
    }
  }

  @Test("a trap in isolated work that holds a lock of the shield ends the process")
  func gate() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        try Shield.isolated { _ = ExclusiveGate().run { shelf(0) } }
      }
    }
  }

  @Test("a trap of isolated work in the initializer of a global variable ends the process")
  func lazyGlobal() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        _ = try Shield.isolated { Lazy.shelf }
      }
    }
  }

  @Test("a trap of isolated work in a Dispatch block ends the process, because its queue would stay locked")
  func queue() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        _ = try Shield.isolated { DispatchQueue(label: "test").sync { shelf(0) } }
      }
    }
  }

  @Test("a trap of isolated work while a description is printed ends the process, because the stream would stay locked")
  func printing() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        try Shield.isolated { print(Label()) }
      }
    }
  }

  @Test(
    "if the shield does not know the C library, a trap of isolated work ends the process, and the reason is available")
  func unknownLibrary() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        // The string is never freed, because the function keeps the pointer until the process ends.
        unsafe cs_testing_contained_ignore(strdup("libc.so"))
        guard Shield.status.containmentObstacle == "the C library is not found among the images" else {
          complain("no reason")
        }
        _ = try Shield.isolated { shelf(0) }
      }
    }
  }

  @Test("a trap outside isolated work, before and after it, ends the process")
  func outside() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        guard (try? Shield.isolated { shelf(0) }) == nil, (try? Shield.isolated { 1 }) == 1 else { Glibc.exit(1) }
        _ = shelf(0)
      }
    }
  }

  @Test("without the shield a trap in isolated work ends the process")
  func notStarted() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash { _ = try Shield.isolated { shelf(0) } }
    }
  }

  @Test("a trap is not contained if a later handler calls the shield's handler, and the process ends")
  func anotherHandler() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        await mustCrash {
          startShield(spool: directory)
          chainHandler()
          try Shield.isolated { _ = shelf(0) }
        }
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.incidents.isEmpty)
    }
  }

  @Test("a trap in a forked child is not contained, and the parent's isolated work continues")
  func forked() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let status = try Shield.isolated {
        let child = fork_()
        if child == 0 { _ = shelf(0) }
        var status: Int32 = 0
        // waitpid() writes one status. Repeats the call if a signal interrupts it.
        while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
        return status
      }
      Glibc.exit(status & 0x7f == trapSignal && Shield.containedFaultCount == 0 ? rightStatus : 1)
    }
  }

  @Test("a child forked by isolated work is not in isolated work")
  func forkedChildIsInNone() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let status = try Shield.isolated {
        let child = fork_()
        if child == 0 { _exit(unsafe cs_shim_contained_hold(nil) == nil ? rightStatus : 1) }
        var status: Int32 = 0
        // waitpid() writes one status. Repeats the call if a signal interrupts it.
        while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
        return status
      }
      Glibc.exit(status >> 8)
    }
  }
}

private struct Label: CustomStringConvertible {
  var description: String { "\(shelf(0))" }
}

private enum Lazy {
  static let shelf = CaptureTests.shelf(0)
}

/// Swift marks fork() as unavailable.
///
/// Therefore the test imports the symbol by its name.
@_silgen_name("fork")
private func fork_() -> pid_t

/// The signal handler that `chainHandler` replaces: that of the shield.
///
/// Invariant: the variable is written once, before another handler can read it.
nonisolated(unsafe) private var before = sigaction()

/// Installs a signal handler that calls the shield's handler.
private func chainHandler() {
  var action = sigaction()
  action.sa_flags = SA_SIGINFO | SA_ONSTACK
  unsafe action.__sigaction_handler.sa_sigaction = { signal, information, context in
    unsafe before.__sigaction_handler.sa_sigaction(signal, information, context)
  }
  // Invariant: `action` and `before` are complete sigaction structures, and live until the call returns.
  guard unsafe sigaction(trapSignal, &action, &before) == 0 else { complain("no handler") }
}
