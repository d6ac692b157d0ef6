import Glibc
import LinuxSystem

/// A terminal screen that is redrawn in place, until the user quits.
public struct LiveScreen: ~Copyable, Sendable {
  private let before: termios

  /// Switches to the alternate screen, hides the cursor, and reads keys unbuffered.
  /// - Throws: `Failure` if standard input or output is not a terminal.
  public static func take() throws(Failure) -> LiveScreen {
    var now = termios()
    // Invariant: tcgetattr fills in the structure and uses the pointer only during the call.
    guard isatty(STDOUT_FILENO) == 1, unsafe tcgetattr(STDIN_FILENO, &now) == 0 else {
      throw Failure(.usage, "top is for a terminal: see --once, or crashctl groups")
    }
    // Block the signals before changing the terminal. If a signal ended the process after the change but before the
    // block, the terminal would stay changed.
    _ = ends.block()
    let screen = LiveScreen(before: now)
    now.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &now)
    try Output.write("\u{1b}[?1049h\u{1b}[?25l")
    return screen
  }

  private init(before: termios) { self.before = before }

  private static var ends: SignalSet { SignalSet([SIGINT, SIGTERM, SIGHUP, SIGQUIT]) }

  /// The number of lines of the terminal.
  public static var rows: Int? {
    var size = winsize()
    // Invariant: TIOCGWINSZ fills in a winsize, and ioctl uses the pointer only during the call.
    let isKnown = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0
    return isKnown ? Int(size.ws_row) : nil
  }

  /// Redraws the screen.
  public func show(_ text: String) throws(Failure) {
    // To avoid flicker, overwrite each line and clear only the rest of the line. The last line is not followed by a
    // line break, because it would scroll the screen.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let trimmed = lines.last?.isEmpty == true ? lines.dropLast() : lines[...]
    try Output.write("\u{1b}[H" + trimmed.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J")
  }

  /// The reason why a wait ended.
  public enum Event: Sendable, Equatable {
    /// The user pressed q or Ctrl-C, a signal arrived, or the terminal's input ended.
    case quit
    /// The timeout of the wait expired.
    case timeout
    /// The user pressed any other key.
    case key(Character)
  }

  /// Waits for a key.
  public func wait(_ time_ms: Int32) -> Event {
    let end = ContinuousClock.now + .milliseconds(Int64(time_ms))
    while ContinuousClock.now < end, Self.ends.pending() == nil {
      let left = Int32(ContinuousClock.now.duration(to: end) / .milliseconds(1)) + 1
      guard isReadable(STDIN_FILENO, timeout_ms: min(left, 250)) else { continue }
      var key: UInt8 = 0
      // Invariant: read writes at most one byte.
      guard unsafe read(STDIN_FILENO, &key, 1) == 1 else { return .quit }
      // The keys q, Q, Ctrl-C and Ctrl-D.
      if [0x71, 0x51, 3, 4].contains(key) { return .quit }
      return .key(Character(Unicode.Scalar(key)))
    }
    return Self.ends.pending() == nil ? .timeout : .quit
  }

  deinit {
    // Ignore a write error, because it means that the terminal is closed and cannot show the error.
    do throws(Failure) { try Output.write("\u{1b}[?25h\u{1b}[?1049l") } catch {}
    var before = before
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }
}
