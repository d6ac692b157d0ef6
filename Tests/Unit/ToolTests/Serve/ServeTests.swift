import Foundation
import LinuxSystem
import TestKit
import Testing

/// Tests `crashctl serve` with real processes.
@Suite("crashctl serve")
struct ServeTests {
  /// Runs a program that ends at once.
  ///
  /// Returns the messages without pids and times, and the exit status.
  private func run(_ program: [String], options: [String] = []) throws -> (messages: [String], status: Int32) {
    let serve = try ServeProcess(program, options: options)
    let status = serve.end()
    let messages = serve.complaints.map { line in
      line.replacing(/process \d+/, with: "process N").replacing(/after (\d+ ms|\d+ s|\d+m)/, with: "after T")
        .replacing("crashctl: ", with: "").replacing(/127.0.0.1:\d+/, with: "ADDRESS")
    }
    return (messages, status)
  }

  @Test("a server that crashes under load loses only the connection of the crash; none is refused or reset")
  func load() throws {
    let serve = try ServeProcess(ServeProcess.server("serve"), options: ["--min-uptime", "0s"])
    let port = try serve.port()
    let deaths = 12
    let clients = Process()
    clients.executableURL = URL(filePath: "/usr/bin/env")
    clients.arguments = ServeProcess.server("load", port, "\(deaths)", "16")
    let output = Pipe()
    clients.standardOutput = output
    try clients.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let words = text.split(separator: " ")
    #expect(text.hasPrefix("served "))
    #expect(text.contains(" lost 0 deaths \(deaths) {}"), "\(text)")
    #expect(try #require(words.dropFirst().first.flatMap { Int($0) }) > deaths)
    clients.waitUntilExit()
    kill(serve.pid, SIGTERM)
    #expect(serve.end() == -SIGTERM)
    #expect(serve.complaints.filter { $0.contains("restart at once") }.count == deaths)
    #expect(serve.complaints.filter { $0.contains(" started") }.count == deaths + 1)
  }

  @Test("the program gets its sockets from descriptor 3 on, with LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES")
  func protocolOfSystemd() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/socket"
    let serve = try ServeProcess(ServeProcess.server("serve"), listen: ["http=127.0.0.1:0", path, "any=0"])
    #expect(try serve.output(beginningWith: "sockets ") == ["http:unknown:any", "AF_INET", "AF_UNIX", "AF_INET6"])
    #expect(FileManager.default.fileExists(atPath: path))
    kill(serve.pid, SIGTERM)
    #expect(serve.end() == -SIGTERM)
    // When crashctl ends, it removes the file of its socket.
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("serve replaces the file of a Unix socket only if no process listens on it")
  func leftOverFile() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/socket"
    let socket = Descriptor(owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
    #expect(try #require(UnixAddress(path: path)).bind(socket.number) == 0)
    // The file exists, but no process listens on its socket, as if a process had ended without removing the file.
    let first = try ServeProcess(ServeProcess.server("signals"), listen: [path])
    try first.complaint(containing: "listening on \(path)")
    _ = try first.output(beginningWith: "ready")
    let second = try ServeProcess(["true"], listen: [path])
    #expect(second.end() == 125)
    #expect(second.complaints == ["crashctl: cannot listen on '\(path)': Address already in use"])
    kill(first.pid, SIGTERM)
    #expect(first.end() == 9)
    let file = try directory.write([], to: "file")
    #expect(try ServeProcess(["true"], listen: [file]).end() == 125)
    #expect(FileManager.default.fileExists(atPath: file))
  }

  @Test("serve does not block at a Unix socket whose listener has a full queue")
  func fullQueue() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/socket"
    let address = try #require(UnixAddress(path: path))
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let server = Descriptor(owning: socket(AF_UNIX, type, 0))
    #expect(address.bind(server.number) == 0)
    #expect(listen(server.number, 0) == 0)
    let clients = (0..<4).map { _ in Descriptor(owning: socket(AF_UNIX, type, 0)) }
    #expect(clients.map { address.connect($0.number) }.last == EAGAIN)
    let serve = try ServeProcess(["true"], listen: [path])
    #expect(serve.end() == 125)
    #expect(serve.complaints == ["crashctl: cannot listen on '\(path)': Address already in use"])
  }

  // Under a low limit of open files, the helper module CLinux reserves no low descriptors, so without /dev/null the
  // first socket would become the standard input.
  @Test(
    "without standard input and standard error, serve and the program have /dev/null instead of a socket",
    arguments: ["ulimit -n 32", "ulimit -n 1024"])
  func missingDescriptors(_ limit: String) throws {
    let serve = try ServeProcess(
      ["sh", "-c", "readlink /proc/$$/fd/0 /proc/$$/fd/2; exit 3"], preparation: "\(limit); exec <&- 2>&-")
    #expect(try serve.output(beginningWith: "/dev/null").isEmpty)
    #expect(try serve.output(beginningWith: "/dev/null").isEmpty)
    #expect(serve.end() == 3)
  }

  @Test("serve continues if no process reads its standard error")
  func closedError() throws {
    let directory = try TestDirectory()
    let pipe = directory.path + "/pipe"
    let serve = try ServeProcess(
      ["sh", "-c", "exit 3"], preparation: "mkfifo '\(pipe)' && exec 3<>'\(pipe)' 2>'\(pipe)' 3<&-")
    #expect(serve.end() == 3)
  }

  @Test("if serve is killed, the kernel sends SIGTERM to the program")
  func killed() throws {
    let serve = try ServeProcess(ServeProcess.server("signals"))
    _ = try serve.output(beginningWith: "ready")
    kill(serve.pid, SIGKILL)
    #expect(try serve.output(beginningWith: "SIGTERM").isEmpty)
    #expect(serve.end() == -SIGKILL)
  }

  @Test("repeated quick ends double the delay up to its limit, and then stop the restarts")
  func crashLoop() throws {
    let (messages, status) = try run(
      ["sh", "-c", "ulimit -c 0; kill -ILL $$"],
      options: ["--min-uptime", "1h", "--delay", "1ms", "--max-delay", "3ms", "--quick-ends", "6"])
    #expect(status == -SIGILL)
    let end = "process N was ended by SIGILL after T; "
    let rests = [
      "restart at once", "restart in 1 ms, quick end number 2 in a row", "restart in 2 ms, quick end number 3 in a row",
      "restart in 3 ms, quick end number 4 in a row", "restart in 3 ms, quick end number 5 in a row",
      "no restart, because it was quick end number 6 in a row",
    ]
    #expect(messages == ["listening on ADDRESS"] + rests.flatMap { ["process N started", end + $0] })
  }

  @Test("a program that exits by itself is not restarted, and serve has its exit status", arguments: [0, 1, 7])
  func exitStatus(_ code: Int32) throws {
    let (messages, status) = try run(["sh", "-c", "exit \(code)"])
    #expect(status == code)
    #expect(messages.last == "process N exited with status \(code) after T")
  }

  @Test(
    "serve exits with 127 for a missing program, and with 126 for one that cannot be executed",
    arguments: [("nope", 127), ("/etc", 126)])
  func notStarted(program: String, status: Int32) throws {
    let (messages, end) = try run([program])
    #expect(end == status)
    #expect(messages.last?.hasPrefix("cannot run '\(program)' (") == true)
  }

  @Test("serve forwards HUP, USR1, USR2 and INT, and SIGTERM ends it with the program's own status")
  func forwarding() throws {
    let serve = try ServeProcess(ServeProcess.server("signals"))
    _ = try serve.output(beginningWith: "ready")
    for (signal, name) in [(SIGHUP, "SIGHUP"), (SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2"), (SIGINT, "SIGINT")] {
      kill(serve.pid, signal)
      #expect(try serve.output(beginningWith: name).isEmpty)
    }
    kill(serve.pid, SIGTERM)
    #expect(try serve.output(beginningWith: "SIGTERM").isEmpty)
    #expect(serve.end() == 9)
    #expect(serve.complaints.filter { $0.contains("forwarded") }.count == 5)
    #expect(serve.complaints.filter { $0.contains("no restart follows") }.count == 2)
  }

  @Test("serve and its program ignore SIGHUP, SIGINT and SIGQUIT if they were ignored at the start, as by nohup")
  func ignoredSignals() throws {
    let serve = try ServeProcess(ServeProcess.server("signals"), preparation: "trap '' HUP INT QUIT")
    _ = try serve.output(beginningWith: "ready")
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGUSR1] { kill(serve.pid, signal) }
    #expect(try serve.output(beginningWith: "SIG") == ["USR1"])
    kill(serve.pid, SIGTERM)
    #expect(try serve.output(beginningWith: "SIG") == ["TERM"])
    #expect(serve.end() == 9)
    #expect(serve.complaints.filter { $0.contains("forwarded") }.count == 2)
  }

  @Test("a signal that stops serve during a delay ends it by the same signal, and other signals are dropped")
  func stopDuringDelay() throws {
    let serve = try ServeProcess(
      ["sh", "-c", "ulimit -c 0; kill -SEGV $$"],
      options: ["--min-uptime", "1h", "--delay", "1h", "--max-delay", "1h"])
    try serve.complaint(containing: "restart in 60m, quick end number 2 in a row")
    kill(serve.pid, SIGUSR1)
    try serve.complaint(containing: "SIGUSR1: dropped, because no process runs")
    kill(serve.pid, SIGTERM)
    #expect(serve.end() == -SIGTERM)
    #expect(serve.complaints.last == "crashctl: SIGTERM: no restart follows")
  }

  @Test("serve becomes the parent of its program's orphans, and reaps them")
  func orphans() throws {
    let serve = try ServeProcess(ServeProcess.server("orphan"))
    let words = try serve.output(beginningWith: "orphan ")
    #expect(words.last == "\(serve.pid)")
    let orphan = try #require(words.first.flatMap { pid_t($0) })
    // The orphan has printed this line before its end, so it can still exist. The test polls, because only crashctl,
    // its parent, can wait for it.
    while kill(orphan, 0) == 0 { sched_yield() }
    #expect(errno == ESRCH)
    kill(serve.pid, SIGTERM)
    #expect(serve.end() == 9)
  }

  @Test(
    "the errors of serve name the wrong argument and the reason",
    arguments: [
      (["--", "true"], "serve needs an address: crashctl serve --listen PORT -- PROGRAM ARGS…"),
      (["--listen", "80"], "serve needs a program: crashctl serve --listen PORT -- PROGRAM ARGS…"),
      (["--listen", "80", "true"], "unexpected argument 'true'; the program follows --: crashctl serve --listen PORT"),
      (
        ["--listen", "x", "--", "true"],
        "the value 'x' is invalid for '--listen <address>': it does not end with a port"
      ),
      (["--listen", "a.sock", "--", "true"], "the path of a Unix socket contains a slash, such as ./a.sock"),
      (["--listen", "localhost:80", "--", "true"], "a host is an IPv4 address, or an IPv6 address in brackets"),
      (["--listen", "99999", "--", "true"], "the port is not 0 to 65535; see crashctl serve --help"),
      (["--listen", "127.0.0.1", "--", "true"], "the port is missing, such as 127.0.0.1:8080"),
      (["--listen", "[::1]", "--", "true"], "the port is missing, such as [::1]:8080"),
      (["--listen", ":80", "--", "true"], "for all addresses, give only the port: 80"),
      (["--listen", "80", "--delay", "5", "--", "true"], "a time is a number with a unit, such as 250ms, 10s or 5m"),
      (["--listen", "80", "--delay", "-5s", "--", "true"], "invalid value '-5s' for --delay: it takes no negative"),
      (["--listen", "80", "--quick-ends", "-1", "--", "true"], "invalid value '-1' for --quick-ends: it takes no neg"),
      (["--listen", "80", "--delay", "0s", "--", "true"], "invalid value for --delay: it takes 1ms or more"),
      (["--listen", "80", "--max-delay", "0s", "--", "true"], "--delay (100 ms) exceeds --max-delay (0 ms): lower"),
      (["--listen", "80", "--delay", "11s", "--", "true"], "--delay (11 s) exceeds --max-delay (10 s): lower --delay"),
      (["--listen", "80", "--quick-ends=-1", "--", "true"], "invalid value '-1' for --quick-ends"),
      (
        ["--listn", "80", "--", "true"], "unknown option '--listn'. Did you mean '--listen'? see crashctl serve --help"
      ),
    ])
  func wrongArguments(_ arguments: [String], _ message: String) throws {
    let result = try CommandLineTests.crashctl(["serve"] + arguments)
    #expect(result.status == 2 && !result.isSignal)
    #expect(result.complaint.contains(message), "\(result.complaint)")
  }

  @Test("serve passes an option --json after the program's name to the program")
  func programOptions() throws {
    let result = try CommandLineTests.crashctl(
      ["serve", "--listen", "127.0.0.1:0", "--", "sh", "-c", "echo $1; exit 1", "sh", "--json", "--exit-zero"])
    #expect(result.status == 1)
    #expect(result.output == "--json\n")
  }
}
