extension CrashReport {
  /// A crash signal whose handler other code replaced after the in-process library had started.
  ///
  /// The library still captures the crash if the new handler calls the previous handler.
  public struct ReplacedHandler: Codable, Sendable, Equatable {
    /// The name of the signal, such as `SIGSEGV`.
    public var signal: String
    /// The disposition that the signal now has.
    public var kind: Kind
    /// The address of the new handler; nil if `kind` is not `handler`.
    public var address: Address?
    /// The image that contains the new handler; nil if unknown.
    public var image: String?
    /// The function of the new handler; empty if unknown.
    public var function: String

    /// Creates a value from its parts.
    public init(signal: String, kind: Kind, address: Address? = nil, image: String? = nil, function: String = "") {
      self.signal = signal
      self.kind = kind
      self.address = address
      self.image = image
      self.function = function
    }
  }
}

extension TextRenderer {
  func replacedHandlersSection(_ report: CrashReport) -> [String] {
    guard let handlers = report.replacedHandlers, !handlers.isEmpty else { return [] }
    return [style.warning("Signal handlers replaced after the start")]
      + handlers.flatMap { handler in
        CleanText.line("\(handler.signal): \(describe(handler))").wrapped(to: width - 2).map { "  " + $0 }
      }
  }

  private func describe(_ handler: CrashReport.ReplacedHandler) -> String {
    switch handler.kind {
    case .byDefault: return "back at its default action"
    case .ignored: return "ignored"
    default:
      let place = handler.image ?? handler.address.map { "\($0)" } ?? "unknown code"
      return "by \(place)" + (handler.function.isEmpty ? "" : ", \(handler.function)")
    }
  }
}
