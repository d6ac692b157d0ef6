import Testing

/// One crashd for all tests of a suite.
///
/// The suite has the trait `@Suite(.sharedDaemon)`. Its tests use `SharedDaemon.current`.
struct SharedDaemon: SuiteTrait, TestScoping {
  @TaskLocal private static var daemon: PrivateDaemon?

  /// The daemon of the suite.
  static var current: PrivateDaemon {
    get throws { try #require(daemon, "the suite lacks the trait .sharedDaemon") }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await PrivateDaemon.run { daemon in
      try await Self.$daemon.withValue(daemon) { try await function() }
    }
  }
}

extension Trait where Self == SharedDaemon {
  /// One crashd for all tests of the suite.
  static var sharedDaemon: SharedDaemon { SharedDaemon() }
}
