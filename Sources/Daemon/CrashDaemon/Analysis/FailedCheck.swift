import CrashReport

/// The kind of check that failed in a trap, in words that are the same in debug builds and in optimized builds.
///
/// A debug build prints a message. An optimized build traps at many checks without a message, and its debug information
/// names the check.
enum FailedCheck: Sendable, Equatable {
  /// A check that is written in the source of the program or of a library: `precondition`, `assert`, `fatalError` and
  /// similar functions.
  ///
  /// The text of such a check is not known in optimized builds. `preconditionFailure` prints the same words as
  /// `fatalError`, so both are one kind.
  case stated
  /// A check of the standard library or of the compiler, such as `Index out of range`.
  case builtIn(String)
  case unknown

  private static let textLimit = 60
  /// The first words of the messages of checks that the compiler emits.
  ///
  /// The path before these words is that of a source file of the program, because the check is in the program's code.
  private static let ofCompiler = [
    "Unexpectedly found nil while", "'try!' expression unexpectedly raised an error", cast,
    "Fatal access conflict detected", "Attempted to read an unowned reference", "Incorrect actor executor assumption",
  ]
  private static let cast = "Could not cast value of type"
  /// The names that `precondition`, `assert` and `fatalError` have in the debug information of optimized code.
  private static let statedNames = ["precondition failure", "assertion failure", "unspecified"]

  /// Finds the kind of a check.
  ///
  /// `failure` is the name of the check in the debug information, and `message` is what the runtime printed.
  init(failure: String?, message: String) {
    if let failure, !failure.isEmpty {
      self = Self.statedNames.contains(failure) ? .stated : .builtIn(Self.words(failure))
      return
    }
    let line = MessageText.line(message)
    guard !line.isEmpty else {
      self = .unknown
      return
    }
    let core = MessageText.core(line)
    if Self.ofCompiler.contains(where: core.hasPrefix) {
      self = .builtIn(Self.words(core))
    } else if line.hasPrefix("Swift/"), !core.isEmpty {
      self = .builtIn(Self.words(core))
    } else {
      self = .stated
    }
  }

  /// Returns the words of a message up to its first number or value, because numbers and values differ from crash to
  /// crash.
  private static func words(_ text: String) -> String {
    if text.hasPrefix(cast) { return target(ofCast: text) }
    if let check = ofCompiler.first(where: text.hasPrefix) { return check }
    let start = text.prefix { !"(:'\"".contains($0) && !$0.isNumber }
    return CleanText.line(String(start.prefix(textLimit)))
  }

  /// Returns the message of a failed cast, reduced to the type to which the program casts.
  ///
  /// The whole message is `Could not cast value of type 'A' (0x7f00) to 'B' (0x7f01).` The result omits the type A,
  /// because A depends on the value that was cast.
  private static func target(ofCast text: String) -> String {
    guard let start = text.firstRange(of: " to '") else { return cast }
    return CleanText.line("\(cast) to \(text[start.upperBound...].prefix { $0 != "'" }.prefix(textLimit))")
  }

  /// Whether the source column of the check is a part of the crash group's key.
  ///
  /// For a cast, the type in the message is a part of the key instead, because optimized builds often lack the column.
  var hasColumn: Bool {
    guard case .builtIn(let words) = self else { return false }
    return !words.hasPrefix(Self.cast)
  }

  /// The part of the crash group's key that names the check.
  var key: String {
    switch self {
    case .stated: "stated check"
    case .builtIn(let words): words
    case .unknown: ""
    }
  }
}
