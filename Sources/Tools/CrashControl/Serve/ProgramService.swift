import Glibc
internal import LinuxSystem

/// Implements `serve`: holds listening sockets, and runs the program that accepts their connections.
public struct ProgramService: Sendable {
  /// The exit status if a socket cannot be opened.
  ///
  /// `timeout` and `docker run` use the same status for their own failures.
  private static let failureStatus: Int32 = 125

  private let command: [String]
  private let addresses: [ListenAddress]
  private let policy: RestartPolicy
  private let environment: [String: String]

  /// Prepares to run a command: a program, which is searched in PATH, and its arguments.
  public init(
    command: [String], addresses: [ListenAddress], policy: RestartPolicy, environment: [String: String]
  ) {
    self.command = command
    self.addresses = addresses
    self.policy = policy
    self.environment = environment
  }

  /// Runs the program until it exits or is stopped, and ends this process with the program's exit status or signal.
  ///
  /// - Throws: `Failure` if a socket cannot be opened, or if the program cannot be started. The exit codes 127 and 126
  ///   have the same meaning as in a shell.
  public func runAndEndAlike() throws(Failure) -> Never {
    try run().endAlike()
  }

  private func run() throws(Failure) -> ChildProcess.End {
    guard let file = command.first else { throw Failure(.usage, "serve needs a program") }
    guard !addresses.isEmpty, addresses.count <= ListeningSocket.limit else {
      throw Failure(.usage, "serve takes 1 to \(ListeningSocket.limit) addresses, and got \(addresses.count)")
    }
    var sockets: [ListeningSocket] = []
    defer { for socket in sockets { socket.removeFile() } }
    var system: SupervisedProgram
    do throws(SystemError) {
      system = try SupervisedProgram(file, Array(command.dropFirst()), environment: environment)
      for address in addresses {
        let socket = try ListeningSocket(address)
        sockets.append(socket)
        Output.complain("listening on \(socket.text)")
      }
      system.sockets = sockets
    } catch {
      throw Failure(status: Self.failureStatus, error.description)
    }
    var supervisor = Supervisor(system, policy: policy)
    do throws(ChildProcess.StartError) {
      return try supervisor.run()
    } catch {
      throw error.failure
    }
  }
}
