import CrashReport
import CrashRing
import CrashSymbols

/// Symbolicates the addresses of a record, and expands them into frames with inlined functions.
struct FrameExpansion<Symbols: SymbolLookup> {
  private let images: [Int: RingContents.Image]
  private let symbols: Symbols
  private let limitBytes: Int

  struct Result: Sendable {
    var frames: [CrashReport.Frame] = []
    /// The reason of a trap, from the name of the inlined function `Swift runtime failure: …` at the innermost frame.
    ///
    /// swiftc marks the address of a trap with an inlined function. This function has no code, and its name contains
    /// the reason. The result does not contain a frame for this function.
    var runtimeFailure: String?
    /// The number of frames that the record omits.
    var omitted: Int?
    var beforeGap: Int?
  }

  /// The stack of one thread, as the signal handler recorded the stack.
  struct Walk {
    var frames: [CrashRecord.Frame]
    /// The number of frames before the omitted frames, if the record omits frames of a deep recursion.
    var head: Int
    /// The total number of frames of the stack.
    var total: Int
  }

  private static var runtimeFailurePrefix: String { "Swift runtime failure: " }

  /// - Parameters:
  ///   - images: The images that the ring lists.
  ///   - symbols: Symbolicates addresses in the images.
  ///   - limitBytes: The maximum total size of the strings in the frames of one thread. There is a limit because the
  ///     strings come from untrusted files.
  init(images: [RingContents.Image], symbols: Symbols, limitBytes: Int) {
    self.limitBytes = limitBytes
    self.images = Dictionary(images.map { ($0.index, $0) }) { first, _ in first }
    self.symbols = symbols
  }

  func frames(of walk: Walk) -> Result {
    var result = Result()
    let onStack = walk.frames.count { !$0.isAsync }
    let omitted = walk.total - onStack
    var bytes = 0
    for (index, frame) in walk.frames.enumerated() {
      if omitted > 0, index == walk.head { result.beforeGap = result.frames.count }
      let image = frame.image.flatMap { images[$0] }
      var chain = image.map { symbols.frames(buildID: $0.buildID, linkAddress: frame.linkAddress(in: $0)) } ?? []
      if let failure = chain.first(where: { $0.mangled.hasPrefix(Self.runtimeFailurePrefix) }) {
        if index == 0 { result.runtimeFailure = String(failure.mangled.dropFirst(Self.runtimeFailurePrefix.count)) }
        chain.removeAll { $0.mangled.hasPrefix(Self.runtimeFailurePrefix) }
        chain = TrapPlace.chain(chain)
      }
      if chain.isEmpty { chain = [SourceFrame(mangled: "")] }
      for source in chain {
        let isFull = bytes > limitBytes
        // Once the strings have reached the limit, expand further frames without names.
        let expanded = expand(frame, isFull ? SourceFrame(mangled: "") : source, in: image)
        bytes += Self.bytes(expanded)
        result.frames.append(expanded)
        if isFull { break }
      }
    }
    if omitted > 0 { result.omitted = omitted }
    Self.disownDependencies(in: &result.frames)
    return result
  }

  /// Marks a function without a source file as not in-app (not the program's own) if its module belongs to a
  /// dependency.
  ///
  /// A module is treated as a dependency if the source file of another function of the module belongs to a dependency.
  private static func disownDependencies(in frames: inout [CrashReport.Frame]) {
    let nameless = frames.indices.filter { frames[$0].isOwn && frames[$0].file == nil && !frames[$0].mangled.isEmpty }
    guard !nameless.isEmpty else { return }
    let dependencies = Set(
      frames.filter { $0.file.map(Ownership.isDependency) == true }.compactMap { Demangler.module(of: $0.mangled) })
    guard !dependencies.isEmpty else { return }
    for index in nameless where Demangler.module(of: frames[index].mangled).map(dependencies.contains) == true {
      frames[index].isOwn = false
    }
  }

  /// Returns the source line of a frame; nil if the function is compiler-generated and has no source line.
  ///
  /// For a thunk, the debug information has a line only for the function's entry, and this line has no column.
  private static func ownLine(of source: SourceFrame) -> Int? {
    source.isLineApproximate && source.column == nil ? nil : source.line
  }

  /// Returns the approximate size of the frame in JSON.
  private static func bytes(_ frame: CrashReport.Frame) -> Int {
    300 + frame.function.utf8.count + frame.mangled.utf8.count + (frame.file?.utf8.count ?? 0)
      + (frame.signature?.utf8.count ?? 0)
  }

  private func expand(
    _ frame: CrashRecord.Frame, _ source: SourceFrame, in image: RingContents.Image?
  ) -> CrashReport.Frame {
    let symbolAddress = source.symbolAddress.flatMap { address in image.map { address &+ $0.bias } }
    let start = symbolAddress ?? (source.isInline ? nil : frame.functionStart)
    let name = source.mangled.isEmpty ? nil : KnownNames.shared.name(source.mangled)
    let (function, full) = (name?.simplified ?? "", name?.full ?? "")
    var expanded = CrashReport.Frame(
      address: Address(frame.pc), symbolAddress: start.map { Address($0) }, function: function,
      mangled: CleanText.line(source.mangled), file: source.file.map(CleanText.line),
      line: source.line, column: source.column, image: image?.path, isInline: source.isInline,
      isAsync: frame.isAsync,
      isOwn: Ownership.isOwn(
        mangled: source.mangled, file: source.file, line: Self.ownLine(of: source), image: image?.path),
      trust: frame.trust, signature: full == function ? nil : full)
    if source.isLineApproximate { expanded.isLineApproximate = true }
    return expanded
  }
}
