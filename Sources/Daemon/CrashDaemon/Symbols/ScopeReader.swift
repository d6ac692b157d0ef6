import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// Describes the variables and types in scope at a fault, with `crash-analyse`, crashd's helper program for untrusted
/// images.
///
/// The description is made only after a crash. If the symbol caches contained the variables and types of all functions,
/// the caches would be several times as large.
actor ScopeReader {
  private let configuration: SymbolCaches.Configuration
  private let permits: FairSemaphore
  /// A request for one address of an image.
  ///
  /// Answers are cached by request. Therefore, a program that crashes repeatedly at one address needs only one child
  /// process.
  private struct Question: Hashable {
    var user: UInt32
    var path: String
    var buildID: String
    var pc: UInt64
    var isOfClasses: Bool
  }
  /// The cached answers, by request.
  ///
  /// Empty answers are also cached, because images without debug information are common.
  private var known: [Question: (answer: ScopeDescription?, time_ns: UInt64)] = [:]
  private static let knownLimit = 64
  /// The age after which a cached answer expires, because debug information could have been installed in the meantime.
  private static let knowledge_ns: UInt64 = 60_000_000_000

  init(_ configuration: SymbolCaches.Configuration) {
    self.configuration = configuration
    let limits = configuration.limits
    permits = FairSemaphore(PermitLimit(total: limits.scopes, perUser: limits.scopesPerUser), limits.accounts)
  }

  /// Returns the variables and types in scope at a link address (an address in the image file).
  ///
  /// The result is nil if no information about the address was found, if too many requests are running, or if the user
  /// has no CPU time left. The method opens the file at the path that the process reported. If this file belongs to
  /// another build, the result is nil.
  func scope(of image: ImageFile, at pc: UInt64, for user: UInt32) async -> ScopeDescription? {
    await describe(image, pc, user, isOfClasses: false)
  }

  /// Returns the classes that the function at a link address refers to, according to the image's own symbols.
  ///
  /// The result is nil if the child process failed or could not run.
  func classes(of image: ImageFile, at pc: UInt64, for user: UInt32) async -> [ScopeDescription.NamedClass]? {
    await describe(image, pc, user, isOfClasses: true)?.namedClasses
  }

  private func describe(
    _ image: ImageFile, _ pc: UInt64, _ user: UInt32, isOfClasses: Bool
  ) async -> ScopeDescription? {
    let question = Question(user: user, path: image.path, buildID: image.buildID, pc: pc, isOfClasses: isOfClasses)
    let now = Moment.monotonic_ns()
    if let known = known[question], now - known.time_ns < Self.knowledge_ns { return known.answer }
    let limits = configuration.limits
    guard let program = configuration.program, configuration.cpu.wait_ns(for: user) == 0,
      let permit = permits.enterIfFree(user)
    else { return nil }
    defer { permit.giveBack() }
    let job = Job(
      program: program, buildID: image.buildID, pc: pc, isOfClasses: isOfClasses, timeout_ms: limits.scope_ms,
      charge: configuration.charge(user),
      debugFiles: DebugFiles(
        directory: configuration.debugDirectory, others: configuration.symbolDirectories, imagePath: image.path,
        user: user, owner: .allUsers))
    var answer: ScopeDescription?
    do {
      answer = try await ask(job, image, user)
    } catch {
      configuration.logger.debug("no scope description at \(String(pc, radix: 16)) of '\(image.path)': \(error)")
      // Cache a failure only if the same request would fail again. Do not cache a temporary failure or a failure of
      // crashd itself, because the next request for this address can succeed.
      guard let failure = error as? HelperChild.Failure, failure.status != nil, !failure.isPassing else { return nil }
    }
    remember(answer, question, now)
    return answer
  }

  private func remember(_ answer: ScopeDescription?, _ question: Question, _ time_ns: UInt64) {
    // Remove empty answers first, because a program can crash at a different address each time.
    if known.count >= Self.knownLimit { known = known.filter { $0.value.answer != nil } }
    if known.count >= Self.knownLimit { known = [:] }
    known[question] = (answer, time_ns)
  }

  /// Runs the child process on a dedicated thread, because the thread blocks until the child ends.
  private func ask(_ job: Job, _ image: ImageFile, _ user: UInt32) async throws -> ScopeDescription? {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try Thread.start(named: "scope") { continuation.resume(with: Result { try job.run(image, user) }) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  private struct Job {
    var program: String
    var buildID: String
    var pc: UInt64
    var isOfClasses: Bool
    var timeout_ms: Int
    var charge: @Sendable (_ cpu_ns: UInt64) -> Void
    var debugFiles: DebugFiles

    /// Reads the description of variables and types from the image itself.
    ///
    /// If the image has no debug information, the method reads the first debug file that has debug information. The
    /// bytes of the code are always read from the image.
    func run(_ image: ImageFile, _ user: UInt32) throws -> ScopeDescription? {
      let opened = try open(image, user)
      let own = try describe(opened.descriptor)
      // Code and classes come only from the image, because debug files do not contain code.
      if isOfClasses || !own.types.isEmpty { return own }
      var files = debugFiles
      files.owner = opened.owner
      for file in files.open(buildID: buildID, link: nil) {
        guard var other = try? describe(file.descriptor), !other.types.isEmpty else { continue }
        other.codeBefore = own.codeBefore
        return other
      }
      return own.codeBefore.isEmpty ? nil : own
    }

    /// Opens the file of the image.
    ///
    /// The time-out for the description also limits the opening of the file, because the file system of the image can
    /// block.
    private func open(_ image: ImageFile, _ user: UInt32) throws -> ImageFile.Opened {
      let result = ForeignFileWork.shared.wait(of: user, at: image.place, timeout_ms: timeout_ms) {
        CPUAccounts.measure { Result { try image.open(for: user, in: debugFiles.others) } }
      }
      guard let (opened, cost_ns) = result else { throw SystemError("open image '\(image.path)'", code: ETIMEDOUT) }
      charge(cost_ns)
      return try opened.get()
    }

    private func describe(_ file: Descriptor) throws -> ScopeDescription {
      // The output file has a fixed size, so that a compromised child cannot use up memory.
      let output = try MemoryFile(size: ScopeDescription.limitBytes)
      try output.seal()
      let verb = isOfClasses ? "describe-classes" : "describe-scope"
      let arguments = [verb, "--build-id", buildID, "--pc", String(pc, radix: 16)]
      try HelperChild(program: program, arguments: arguments, timeout_ms: timeout_ms, charge: charge)
        .run(input: file, output: output.descriptor)
      return ScopeDescription(try output.read(limitBytes: ScopeDescription.limitBytes))
    }
  }
}
