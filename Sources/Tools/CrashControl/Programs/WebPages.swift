import FoundationEssentials
import Glibc
internal import LinuxSystem

/// Implements `web` and `report`: starts the program that makes the pages.
///
/// crash-web is a separate program, so that crashctl does not link a web server.
public struct WebPages: Sendable {
  private let environment: [String: String]

  /// Prepares to start the program.
  public init(environment: [String: String]) { self.environment = environment }

  /// Replaces crashctl by crash-web, so that crash-web controls the terminal and receives its signals.
  /// - Parameters:
  ///   - socket: The path of crashd's socket; nil means that crash-web finds it as crashctl does.
  ///   - listen: The port or the path on which crash-web listens; nil means any free port.
  ///   - html: The directory into which crash-web writes the pages instead of serving them.
  /// - Throws: `Failure` if crash-web is not installed.
  public func run(socket: String?, listen: String? = nil, html: String? = nil) throws(Failure) -> Never {
    guard let program = Programs.findHelper("crash-web") else {
      throw Failure(
        .nothingFound, "crash-web is not installed: build it with 'make fleet', and put it beside crashctl")
    }
    let options = [("--socket", socket), ("--listen", listen), ("--html", html)].flatMap { name, value in
      value.map { ["\(name)=\($0)"] } ?? []
    }
    execute(program, [program] + options)
    throw Failure(.nothingFound, "cannot run '\(program)' (\(SystemError.text(errno)))")
  }

  /// Returns only if the kernel refuses to execute the program; `errno` then has the reason.
  private func execute(_ program: String, _ words: [String]) {
    // Invariant: the strings stay valid, because nothing frees them: execve replaces the process, or crashctl ends.
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
    unsafe execve(program, &arguments, &variables)
  }
}
