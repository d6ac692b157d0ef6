internal import CTestKit
internal import CrashShield
internal import Glibc

extension Way {
  /// Faults that end the process at once.
  static let died: [Way] = [
    Way("foreign") { _ = ch_foreign_trap() },
    Way("forked-child") {
      announce()
      ch_in_forked_child(boomForC)
    },
    Way("bad-access") { ch_write_null() },
    Way("abort") {
      announce()
      abort()
    },
    Way("forced-cast") {
      announce()
      let value: any Sendable = getpid()
      // This abort is the purpose of the request.
      // swift-format-ignore: NeverForceUnwrap
      _ = value as! String
    },
    Way("breakpoint") { ch_breakpoint() },
    Way("sent-signal") { ch_send_illegal() },
    Way("heap-message") {
      ch_corrupt_heap()
      boom()
    },
    Way("replaced-handler") {
      ch_replace_handler()
      boom()
    },
  ]
}
