import CrashReport

extension Expectation {
  /// Strings that the reason or the diagnosis of a report must contain, by scenario.
  ///
  /// These strings are additional to the scenario's own field `reason`. The runtime of Swift 6.3 says that an object
  /// "was already destroyed"; the runtime of 6.2 says "was already deallocated".
  static let words: [String: [String]] = [
    "forced-cast-any": ["to 'Swift.Int'"],
    "forced-cast-class": ["'CrashMaker.Bicycle'", "to 'CrashMaker.Lorry'"],
    "unowned-dangling": ["was already de", "its object, a CrashMaker.Customer"],
    "continuation-twice": ["faultContinuationTwice"],
    "dispatch-sync-self": ["__DISPATCH_WAIT_FOR_QUEUE__"],
    "dispatch-over-resume": ["_dispatch_lane_resume"],
    "dispatch-unbalanced-leave": ["dispatch_group_leave"],
    "null-read": ["read of address 0"],
    "null-write": ["write to address 0"],
    "null-plus-offset": ["read of offset 512 of null, probably the field 'total' of 'order'"],
    "null-call": ["null function pointer"],
    "wild-read": ["read of 0x123456789000"],
    "memcpy-bad-pointer": ["read of 0x123456789000"],
    "non-canonical": ["0x4141414141414141", "non-canonical"],
    "inside-malloc": ["non-canonical"],
    "read-only-write": ["Write to", "read-only"],
    "no-exec-jump": ["Jump to", "holds no code"],
    "jump-to-odd-address": ["Jump to 0x123456789001"],
    "smashed-return-address": ["Jump to 0x123456789000"],
    "smashed-frame-pointer": ["write to 0x41414149"],
    "bus-truncated-mmap": ["byte 100 of '/memfd:truncated (deleted)'"],
    "privileged-instruction": ["only the kernel may use"],
    "float-divide": ["Integer division by zero"],
    "kill-from-outside": ["sent it SIGSEGV"],
    "kill-abort-from-outside": ["sent it SIGABRT"],
    "kill-ill-from-outside": ["sent it SIGILL"],
    "kill-over-namespace": ["outside of its container", "sent it SIGABRT"],
    "raise": ["sent itself SIGSEGV"],
    "cxx-throw-int": ["exception of type int"],
    "noexcept-throw": ["exception of type std::runtime_error"],
    "abort": ["called abort()"],
    "abort-as-pid-1": ["called abort()"],
    "warned-before-abort": ["called abort()"],
    "pure-virtual": ["pure virtual function"],
    "reraise-segv": ["write to address 0"],
    "reraise-pending": ["write to address 0"],
    "reraise-overflow": ["calls deep"],
    "stack-smash": ["past the end of a buffer on its stack"],
    "stack-overflow": ["calls deep"],
    "stack-overflow-small-thread": ["calls deep"],
    "sigaltstack-owned-by-app": ["calls deep"],
    "use-after-free-call": ["freed"],
    "c-callback-context": ["freed"],
    "sigkill": ["SIGKILL from outside"],
    "sigkill-with-child": ["SIGKILL from outside"],
    "exec-again-with-child": ["SIGKILL from outside"],
    "killed-mid-record": ["SIGKILL from outside"],
    "all-signals-blocked": ["SIGSEGV without a record"],
  ]

  /// Scenarios whose message begins with file and line in debug builds and in optimized programs.
  ///
  /// For the scenarios of `placedInDebug`, this is so only in debug builds.
  static let placedAlways = [
    "fatal-error", "fatal-error-long", "fatal-error-as-pid-1", "forced-try", "warned-before-fatal-error",
    "line-zero-several",
  ]
  static let placedInDebug = ["precondition-message", "assertion", "force-unwrap", "line-zero-implicit"]

  static let losses = [
    "crash-in-our-handler": ["minimal": 1], "killed-mid-record": ["torn": 1], "no-proc": ["threadList": 1],
    "chroot": ["threadList": 1], "pid-namespace": ["threadList": 1], "no-descriptors": ["threadList": 1],
    "seccomp-strict-profile": ["threadList": 1], "kill-over-namespace": ["threadList": 1],
    "abort-as-pid-1": ["threadList": 1], "trap-as-pid-1": ["threadList": 1], "fatal-error-as-pid-1": ["threadList": 1],
  ]

  /// The expected number of threads in the report, by scenario: the crashing thread and the threads that the scenario
  /// starts, without those of the shield.
  static let threadCounts = [
    "many-threads": 1001, "spinning-threads": 101, "blocked-signals-thread": 2, "uninterruptible-thread": 2,
    "loader-lock-held-by-other": 2, "stdio-lock-held": 2, "thread-list-lock": 2, "malloc-lock-held": 2,
    "fork-lock-held-by-other": 2, "inside-setxid": 2, "task-beside-task": 3,
  ]

  static let silences = [
    "blocked-signals-thread": CrashReport.Silence(isBlocking: true, runState: "S"),
    "uninterruptible-thread": CrashReport.Silence(isBlocking: false, runState: "D"),
  ]
}
