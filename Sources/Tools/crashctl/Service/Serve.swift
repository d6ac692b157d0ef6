import ArgumentParser
import CrashControl
import LinuxSystem

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Hold listening sockets, and restart a server that a signal ended",
    usage: "crashctl serve --listen [HOST:]PORT|PATH ... [OPTION ...] -- PROGRAM [ARGUMENT ...]",
    discussion: """
      While no process of the server runs, the kernel queues new connections, and refuses none. The server gets the \
      sockets as from systemd: see sd_listen_fds(3). For machines with systemd, a socket unit is better.

      A signal that ends the server, such as SIGILL or SIGTRAP of a Swift trap, restarts it at once. Repeated quick \
      ends (--min-uptime) delay the restart, and later stop the restarts. SIGTERM, SIGINT and SIGQUIT are forwarded \
      and stop the restarts. SIGHUP, SIGUSR1 and SIGUSR2 are forwarded. crashctl reaps orphans, and can be the first \
      process of a container. It writes a line to standard error for each event. A time has the unit ms, s, m, h, d \
      or w, such as 250ms.

      crashctl ends with the exit code of the server's last process, or by the signal that ended it. The exit code is \
      127 if the program is not found, 126 if it cannot be executed, and 125 if a socket cannot be opened.

      Examples:
        crashctl serve --listen 8080 -- shop
        crashctl serve --listen http=80 --listen admin=/run/shop/admin -- shop
      """)

  @Option(
    name: .customLong("listen"),
    help: ArgumentHelp(
      "Listen on a port, or on a Unix socket (a path with a slash); repeatable, with an optional name: http=8080",
      valueName: "address"),
    transform: listenAddress)
  var addresses: [ListenAddress] = []

  @Option(
    help: ArgumentHelp(
      "An end is quick if the server ran for less than this, crash handlers included (default: 250ms)",
      valueName: "time"),
    transform: time)
  var minUptime = Duration.milliseconds(250)

  @Option(
    help: ArgumentHelp(
      "Wait this long after the second quick end in a row, and twice as long after each more (default: 100ms)",
      valueName: "time"),
    transform: time)
  var delay = Duration.milliseconds(100)

  @Option(
    help: ArgumentHelp("Wait at most this long before a restart (default: 10s)", valueName: "time"), transform: time)
  var maxDelay = Duration.seconds(10)

  @Option(
    name: .customLong("quick-ends"),
    help: ArgumentHelp("Stop after this many quick ends in a row; 0: never", valueName: "number"))
  var quickEndLimit = 10

  @Argument(parsing: .postTerminator, help: "Program and its arguments", completion: .file())
  var command: [String] = []

  func run() throws {
    // These checks are not in validate(), because an error of validate() would hide the error of an unknown option.
    let usage = "crashctl serve --listen PORT -- PROGRAM ARGS…"
    if addresses.isEmpty { throw ValidationError("serve needs an address: \(usage)") }
    if command.isEmpty { throw ValidationError("serve needs a program: \(usage)") }
    if quickEndLimit < 0 {
      throw ValidationError("invalid value '\(quickEndLimit)' for --quick-ends: it takes a number from 0")
    }
    // Without a delay, a server that cannot start would restart in a loop.
    if delay == .zero { throw ValidationError("invalid value for --delay: it takes 1ms or more") }
    if maxDelay < delay {
      let (delay, most) = (DurationText.text(delay), DurationText.text(maxDelay))
      throw ValidationError("--delay (\(delay)) exceeds --max-delay (\(most)): lower --delay or raise --max-delay")
    }
    let policy = RestartPolicy(
      minimumUptime: minUptime, firstDelay: delay, longestDelay: maxDelay, quickEndLimit: quickEndLimit)
    try ProgramService(command: command, addresses: addresses, policy: policy, environment: processEnvironment())
      .runAndEndAlike()
  }
}

@Sendable private func time(_ text: String) throws -> Duration {
  guard let duration = DurationText.parse(text) else {
    throw ValidationError("a time is a number with a unit, such as 250ms, 10s or 5m, and at most a year")
  }
  return duration
}

@Sendable private func listenAddress(_ text: String) throws -> ListenAddress {
  do throws(ListenAddress.Invalid) {
    return try ListenAddress(text)
  } catch {
    throw ValidationError(error.reason)
  }
}
