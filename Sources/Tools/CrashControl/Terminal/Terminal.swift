import Glibc

/// When to use color.
public enum ColorUse: String, Sendable, CaseIterable {
  /// Use color on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
  case auto
  /// Use color also if the output is not a terminal.
  case always
  /// Use no color.
  case never
}

/// The properties of standard output: its width, whether it has color, and the clock for times.
public struct Terminal: Sendable {
  /// The number of columns of the terminal.
  ///
  /// If the output is not a terminal, the number is nil and lines have any length.
  public var width: Int?
  /// Whether to use color.
  public var hasColor: Bool
  /// The clock that formats times.
  public var clock: Clock
  /// Whether the output is an overview, which is the default on a terminal: with ages instead of times, repeated rows
  /// in one line, and without columns for details.
  public var isBrief: Bool

  /// Creates a terminal from known properties.
  public init(width: Int?, hasColor: Bool, clock: Clock = Clock()) {
    self.width = width
    self.hasColor = hasColor
    self.clock = clock
    isBrief = width != nil
  }

  /// Inspects a descriptor.
  ///
  /// With `auto`, color is used on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
  public init(descriptor: Int32, environment: [String: String], color: ColorUse = .auto) {
    guard isatty(descriptor) == 1 else {
      self.init(width: nil, hasColor: color == .always)
      return
    }
    var size = winsize()
    // Invariant: TIOCGWINSZ fills in a winsize, and ioctl uses the pointer only during the call.
    let known = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 0
    let dull = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
    self.init(
      width: max(40, known ? Int(size.ws_col) : columns > 0 ? columns : 80),
      hasColor: color == .always || color == .auto && !dull)
  }

  /// Returns a time for a table: its age in an overview, otherwise the full time.
  func moment(_ rfc3339: String) -> String { isBrief ? clock.age(rfc3339) : clock.text(rfc3339) }

  /// The style of a text.
  public enum Style: String, Sendable {
    /// The style of titles.
    case bold = "1"
    /// The style of secondary text.
    case dim = "2"
    /// The style of errors.
    case red = "31"
    /// The style of source locations.
    case cyan = "36"
  }

  /// Returns the text in a style if color is on, and the unchanged text otherwise.
  public func styled(_ text: String, _ style: Style?) -> String {
    guard hasColor, let style, !text.isEmpty else { return text }
    return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
  }
}
