import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// Has `crash-analyse` describe what the place of a fault can see.
///
/// Only for what needs it, after the crash: to keep all types of all images would make the symbol caches several times
/// as large.
actor ScopeReader {
  private let configuration: SymbolCaches.Configuration
  private let permits: FairSemaphore
  /// What was asked of a place: a program that crashes again and again there costs one process.
  private struct Question: Hashable {
    var user: UInt32
    var path: String
    var buildID: String
    var pc: UInt64
    var isOfClasses: Bool
  }
  /// That nothing tells is an answer, too: of a program without debug information it is always that one.
  private var known: [Question: (answer: ScopeDescription?, time_ns: UInt64)] = [:]
  private static let knownLimit = 64
  /// Afterwards it is asked again: debug information may have come.
  private static let knowledge_ns: UInt64 = 60_000_000_000

  init(_ configuration: SymbolCaches.Configuration) {
    self.configuration = configuration
    let limits = configuration.limits
    permits = FairSemaphore(PermitLimit(total: limits.scopes, perUser: limits.scopesPerUser), limits.accounts)
  }

  /// What the place at a link address of an image can see; nil when nothing tells, or too many ask.
  ///
  /// The file is opened by the path that the process gave: where another build stands there now, nothing tells.
  func scope(of image: ImageFile, at pc: UInt64, for user: UInt32) async -> ScopeDescription? {
    await describe(image, pc, user, isOfClasses: false)
  }

  /// The classes that the function there names, by the image's own symbols; nil when nothing could be asked.
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
        directory: configuration.debugDirectory, imagePath: image.path, user: user, owner: .everybody))
    var answer: ScopeDescription?
    do {
      answer = try await ask(job, image, user)
    } catch {
      configuration.logger.debug("nothing is described at \(String(pc, radix: 16)) of '\(image.path)': \(error)")
      // Trouble that passes, or of crashd's own, says nothing of the place.
      guard let failure = error as? HelperChild.Failure, failure.status != nil, !failure.isPassing else { return nil }
    }
    remember(answer, question, now)
    return answer
  }

  private func remember(_ answer: ScopeDescription?, _ question: Question, _ time_ns: UInt64) {
    // Empty answers make room first: a program may crash at ever other places.
    if known.count >= Self.knownLimit { known = known.filter { $0.value.answer != nil } }
    if known.count >= Self.knownLimit { known = [:] }
    known[question] = (answer, time_ns)
  }

  /// Runs the child on a thread of its own, which waits for it in the kernel.
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

    /// Of the image itself, or of the first debug file that has something to tell; the code is the image's.
    func run(_ image: ImageFile, _ user: UInt32) throws -> ScopeDescription? {
      let opened = try open(image, user)
      let own = try describe(opened.descriptor)
      // Debug files have no code.
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

    /// The place of the image may hang: then it takes no more than the description may.
    private func open(_ image: ImageFile, _ user: UInt32) throws -> ImageFile.Opened {
      let result = ForeignFileWork.shared.wait(of: user, at: image.place, timeout_ms: timeout_ms) {
        CPUAccounts.measure { Result { try image.open(for: user) } }
      }
      guard let (opened, cost_ns) = result else { throw SystemError("open image '\(image.path)'", code: ETIMEDOUT) }
      charge(cost_ns)
      return try opened.get()
    }

    private func describe(_ file: Descriptor) throws -> ScopeDescription {
      // Of a fixed size: a child that was taken over cannot fill the memory.
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
