import Glibc

/// Shows text in a pager on a terminal.
public enum Pager: Sendable {
  /// A function that writes a piece of text.
  public typealias Writer = (String) throws(Failure) -> Void

  /// Writes the text through `$PAGER` if it is set, otherwise through less if it is installed, and otherwise directly.
  ///
  /// `PagerCommand` selects the pager.
  public static func show(_ text: String, environment: [String: String]) throws(Failure) {
    try show(environment: environment) { (put: Writer) throws(Failure) in try put(text) }
  }

  /// Writes text in the pieces that the closure produces, through the pager that `PagerCommand` selects.
  public static func show(
    environment: [String: String], _ body: (_ put: Writer) throws(Failure) -> Void
  ) throws(Failure) {
    let plain: Writer = { (text: String) throws(Failure) in try Output.write(text) }
    guard let command = PagerCommand(environment: environment, caller: CallerRights(environment: environment)) else {
      return try body(plain)
    }
    var ends: [Int32] = [0, 0]
    // The pager must not inherit a write end of the pipe, because the pager reads until all write ends are closed.
    // Invariant: pipe fills in the two elements.
    guard unsafe pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
      return try body(plain)
    }
    // Block SIGINT and SIGQUIT, because Ctrl-C is meant for the pager. Block SIGPIPE, so that the write below fails if
    // the pager ends early.
    let before = SignalSet([SIGINT, SIGQUIT, SIGPIPE]).block()
    defer { close(ends[1]) }
    let options = ChildProcess.Options(standardInput: ends[0], environment: command.environment, signalMask: before)
    let pager: ChildProcess
    do throws(ChildProcess.StartError) {
      pager = try ChildProcess(command.program, command.arguments, options)
      close(ends[0])
    } catch {
      close(ends[0])
      before.install()
      return try body(plain)
    }
    let end = ends[1]
    var failure: Failure?
    do throws(Failure) {
      try body { (text: String) throws(Failure) in try Output.write(text, to: end) }
    } catch {
      // Ignore an error with an empty message, which means that the user has quit the pager.
      if !error.message.isEmpty { failure = error }
    }
    close(ends[1])
    ends[1] = -1
    _ = pager.wait(timeout_ms: -1)
    // If the user quit the pager early, a SIGPIPE can be pending. Keep SIGPIPE blocked, because this signal would end
    // the process although all output is written.
    SignalSet([SIGPIPE]).install()
    if let failure { throw failure }
  }
}
