extension CrashReport {
  /// The unwind cross-check of a crashed thread.
  ///
  /// The signal handler unwinds the stack inside the crashed process. After that, `crash-analyse` unwinds the stack
  /// again with libunwind, from the registers and the copy of the stack.
  public struct Unwinding: Codable, Sendable, Equatable {
    /// The tid of the thread.
    public var tid: Int
    /// The result of comparing the two stacks.
    public var agreement: Agreement
    /// The unwinder whose frames the report shows where the two stacks differ.
    ///
    /// Both unwinders found the same frames before the first difference.
    public var shown: Source
    /// The number of equal frames, counted from the innermost frame.
    public var common: Int
    /// The number of frames that the cross-check found.
    public var found: Int
    /// The other unwinder's frames after the first difference, which the report does not show; at most 32.
    public var others: [OtherFrame]

    /// Creates a comparison from its parts.
    public init(
      tid: Int, agreement: Agreement, shown: Source, common: Int, found: Int, others: [OtherFrame] = []
    ) {
      self.tid = tid
      self.agreement = agreement
      self.shown = shown
      self.common = common
      self.found = found
      self.others = others
    }
  }
}

extension CrashReport.Unwinding {
  /// The result of comparing two stacks.
  public struct Agreement: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Both unwinders found the same frames.
    public static let equal = Agreement(rawValue: "equal")
    /// The cross-check found the same frames as the handler, but fewer of them.
    ///
    /// The cross-check usually finds fewer frames because the size of the stack copy is limited.
    public static let shorter = Agreement(rawValue: "shorter")
    /// The cross-check found the same frames as the handler, and further frames after them.
    public static let longer = Agreement(rawValue: "longer")
    /// The two stacks have different callers for one frame.
    public static let different = Agreement(rawValue: "different")
  }

  /// One of the two unwinders.
  public struct Source: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The signal handler, which unwinds inside the crashed process.
    public static let handler = Source(rawValue: "handler")
    /// libunwind, which unwinds outside the crashed process.
    public static let snapshot = Source(rawValue: "snapshot")
  }

  /// A frame that only one of the unwinders found, and that the report does not show among the frames of the thread.
  public struct OtherFrame: Codable, Sendable, Equatable {
    /// The pc of the frame.
    public var address: Address
    /// How the unwinder found the frame.
    public var trust: CrashReport.Trust

    /// Creates a frame from its parts.
    public init(address: Address, trust: CrashReport.Trust) {
      self.address = address
      self.trust = trust
    }
  }
}

extension TextRenderer {
  /// Returns a paragraph for each thread in the verbose form.
  ///
  /// The short form returns paragraphs only for threads whose stack is uncertain.
  func unwindingSection(_ report: CrashReport) -> [String] {
    let shown = (report.unwinding ?? []).filter { verbose || $0.agreement == .different }
    guard !shown.isEmpty else { return [] }
    let isDoubtful = shown.contains { $0.agreement == .different }
    let title = "Unwind cross-check outside the process"
    return [isDoubtful ? style.warning(title) : style.strong(title)] + shown.flatMap(lines)
  }

  private func lines(_ unwinding: CrashReport.Unwinding) -> [String] {
    let name = "Thread \(unwinding.tid)"
    let same = counted(unwinding.common, "frame")
    let text =
      switch unwinding.agreement {
      case .equal: "\(name): both stacks have the same \(same)."
      case .shorter: "\(name): both stacks have the same \(same), then the copy of the stack ends."
      case .longer:
        "\(name): both stacks have the same \(same), then the cross-check has "
          + "\(unwinding.found - unwinding.common) more; \(choice(unwinding))."
      default: "\(name): both stacks have the same \(same), then different callers; \(choice(unwinding))."
      }
    return text.wrapped(to: width - 2).map { "  " + $0 }
      + unwinding.others.map { "    \($0.address)  \(style.faint(CleanText.line($0.trust.rawValue)))" }
  }

  private func choice(_ unwinding: CrashReport.Unwinding) -> String {
    let others = unwinding.others.isEmpty ? "" : ", the others below"
    return "the frames of the \(unwinding.shown == .snapshot ? "cross-check" : "handler") are shown above" + others
  }
}
