extension CrashReport {
  /// A handler of the program that caught the signal of the crash, and then raised the same or another signal, as
  /// faulthandler and glog do.
  ///
  /// The report describes the original fault.
  public struct RaisedAgain: Codable, Sendable, Equatable {
    /// The signal that the handler raised.
    public var signal: Signal
    /// The function of the handler; nil if it has no name.
    public var function: String?
    /// The source file of the handler; nil if unknown.
    public var file: String?
    /// The line that raised the signal; nil if unknown.
    public var line: Int?

    /// Creates a value from its parts.
    public init(signal: Signal, function: String? = nil, file: String? = nil, line: Int? = nil) {
      self.signal = signal
      self.function = function
      self.file = file
      self.line = line
    }

    /// A readable description, such as `SIGSEGV by on (chain.c:8)`.
    var text: String {
      let name = file?.split(separator: "/").last.map(String.init)
      let place = [name, line.map(String.init)].compactMap { $0 }.joined(separator: ":")
      return signal.name + (function.map { " by \($0)" } ?? "") + (place.isEmpty ? "" : " (\(place))")
    }
  }
}
