import Glibc
import Synchronization
import Testing

@testable import CrashControl

@Suite("Supervisor")
struct SupervisorTests {
  /// Replaces the processes, the signals and the clock of a supervisor by a script.
  ///
  /// The clock advances only when a program runs, or during a delay.
  private final class Script: SupervisorSystem {
    enum Step {
      /// The program runs for this time, and then ends.
      case end(Int32, after: Duration)
      case exit(Int32)
      case signal(Int32, isSent: Bool = true)
      /// An orphan ends. The orphan is a child of the supervisor, because its own parent has ended.
      case orphan
    }

    private let state: Mutex<State>

    struct State {
      var steps: [Step]
      var failures: Int
      var now = ContinuousClock.Instant.now
      var pid: pid_t = 100
      var isRunning = false
      var sent: [Int32] = []
      var delays: [Duration] = []
      var said: [String] = []
    }

    /// `failures` is how many starts fail after the first start.
    init(_ steps: [Step], failures: Int = 0) { state = Mutex(State(steps: steps, failures: failures)) }

    var record: State { state.withLock { $0 } }

    func now() -> ContinuousClock.Instant { state.withLock { $0.now } }

    func start() throws(ChildProcess.StartError) -> pid_t {
      let pid: pid_t? = state.withLock { state in
        state.pid += 1
        if state.pid > 101, state.failures > 0 {
          state.failures -= 1
          return nil
        }
        state.isRunning = true
        return state.pid
      }
      guard let pid else { throw ChildProcess.StartError(file: "shop", errno: ENOENT) }
      return pid
    }

    func send(_ signal: Int32, to pid: pid_t) { state.withLock { $0.sent.append(signal) } }

    func say(_ message: String) { state.withLock { $0.said.append(message) } }

    func next(until end: ContinuousClock.Instant?) -> SupervisorEvent {
      state.withLock { state in
        if let end, !state.isRunning {
          // While no program runs, only a signal can be the next step. Without one, the delay passes.
          if case .signal(let signal, let isSent)? = state.steps.first {
            state.steps.removeFirst()
            return .signal(signal, isSent: isSent)
          }
          state.delays.append(state.now.duration(to: end))
          state.now = end
          return .timeout
        }
        switch state.steps.isEmpty ? .exit(0) : state.steps.removeFirst() {
        case .end(let signal, let uptime):
          state.now += uptime
          state.isRunning = false
          return .ended(state.pid, .signaled(signal))
        case .exit(let code):
          state.isRunning = false
          return .ended(state.pid, .exited(code))
        case .signal(let signal, let isSent): return .signal(signal, isSent: isSent)
        case .orphan: return .ended(7, .signaled(SIGSEGV))
        }
      }
    }
  }

  private static let policy = RestartPolicy(
    minimumUptime: .seconds(1), firstDelay: .seconds(2), longestDelay: .seconds(5), quickEndLimit: 5)

  private func run(_ script: Script, _ policy: RestartPolicy = policy) throws -> ChildProcess.End {
    var supervisor = Supervisor(script, policy: policy)
    return try supervisor.run()
  }

  @Test("a program that ran long enough is restarted at once, even if signals end it repeatedly")
  func longRuns() throws {
    let script = Script(Array(repeating: .end(SIGILL, after: .seconds(1)), count: 200))
    #expect(try run(script) == .exited(0))
    #expect(script.record.delays == Array(repeating: .zero, count: 200))
  }

  @Test("if the program ends soon after its start, its restart is delayed; a longer run resets the delay")
  func delays() throws {
    let quick = Script.Step.end(SIGILL, after: .milliseconds(999))
    let script = Script([quick, quick, quick, quick, .end(SIGILL, after: .seconds(1)), quick, quick])
    #expect(try run(script) == .exited(0))
    let seconds: [Int] = [0, 2, 4, 5, 0, 0, 2]
    #expect(script.record.delays == seconds.map { .seconds($0) })
  }

  @Test("after too many quick ends in a row, serve ends with the program's own status")
  func givingUp() throws {
    let script = Script(Array(repeating: .end(SIGSEGV, after: .zero), count: 9))
    #expect(try run(script) == .signaled(SIGSEGV))
    #expect(script.record.steps.count == 4)
    #expect(script.record.said.last?.hasSuffix("no restart, because it was quick end number 5 in a row") == true)
  }

  @Test("without a limit, serve restarts a program forever, even if it always ends soon after its start")
  func noLimit() throws {
    let script = Script(Array(repeating: .end(SIGILL, after: .zero), count: 1_000))
    let policy = RestartPolicy(
      minimumUptime: .seconds(1), firstDelay: .seconds(2), longestDelay: .seconds(5), quickEndLimit: 0)
    #expect(try run(script, policy) == .exited(0))
    #expect(script.record.delays.max() == .seconds(5))
  }

  @Test("if a restart of the program fails, it is repeated after a delay")
  func failedStart() throws {
    let script = Script([.end(SIGILL, after: .seconds(9)), .exit(3)], failures: 2)
    #expect(try run(script) == .exited(3))
    #expect(script.record.delays == [.zero, .zero, .seconds(2)])
  }

  @Test("if starts keep failing, the supervision ends with the error of the start")
  func failedStarts() throws {
    let script = Script([.end(SIGILL, after: .seconds(9))], failures: 99)
    #expect(throws: ChildProcess.StartError(file: "shop", errno: ENOENT)) { try run(script) }
    #expect(script.record.delays.count == 5)
  }

  @Test("after a stop signal, a program that a signal ends is not restarted", arguments: [SIGTERM, SIGINT, SIGQUIT])
  func stop(_ signal: Int32) throws {
    let script = Script([.signal(signal), .end(SIGILL, after: .seconds(9))])
    #expect(try run(script) == .signaled(SIGILL))
    #expect(script.record.sent == [signal])
  }

  @Test("a stop signal during the delay before a restart prevents the restart")
  func stopBetween() throws {
    let script = Script([.end(SIGILL, after: .seconds(9)), .signal(SIGTERM)])
    #expect(try run(script) == .signaled(SIGTERM))
    #expect(script.record.pid == 101)
    #expect(script.record.sent.isEmpty)
  }

  @Test("a SIGHUP that a process sends is forwarded, and does not stop the restarts")
  func reload() throws {
    let script = Script([.signal(SIGHUP), .end(SIGHUP, after: .seconds(9)), .exit(4)])
    #expect(try run(script) == .exited(4))
    #expect(script.record.sent == [SIGHUP])
  }

  @Test(
    "a signal of the terminal is not forwarded, ends the restarts, and causes one line on standard error",
    arguments: [(SIGHUP, "SIGHUP"), (SIGINT, "SIGINT")])
  func terminal(_ signal: Int32, _ name: String) throws {
    let script = Script([.signal(signal, isSent: false), .end(signal, after: .seconds(9))])
    #expect(try run(script) == .signaled(signal))
    #expect(script.record.pid == 101)
    #expect(script.record.sent.isEmpty)
    #expect(script.record.said.dropFirst().first == "\(name) sent by the terminal, no restart follows")
  }

  @Test("while no program runs, signals that are not stop signals are dropped")
  func dropped() throws {
    let script = Script([.end(SIGILL, after: .seconds(9)), .signal(SIGUSR1), .signal(SIGHUP), .exit(6)])
    #expect(try run(script) == .exited(6))
    #expect(script.record.sent.isEmpty)
    #expect(script.record.said.filter { $0.hasSuffix("dropped, because no process runs") }.count == 2)
  }

  @Test("the end of an adopted orphan is not treated as the end of the program")
  func orphan() throws {
    let script = Script([.orphan, .orphan, .exit(5)])
    #expect(try run(script) == .exited(5))
    #expect(script.record.pid == 101)
  }
}

@Suite("ListenAddress")
struct ListenAddressTests {
  @Test(
    "a listen address is a port, a host with a port, or a path with a slash, with an optional name",
    arguments: [
      ("8080", "unknown", .any(port: 8080)), ("http=80", "http", .any(port: 80)),
      ("127.0.0.1:65535", "unknown", .ipv4(host: "127.0.0.1", port: 65_535)),
      ("a-b.c_1=[::1]:0", "a-b.c_1", .ipv6(host: "::1", port: 0)), ("/run/a=b", "unknown", .path("/run/a=b")),
      ("x=./s", "x", .path("./s")), ("/run/http:80", "unknown", .path("/run/http:80")),
    ] as [(String, String, ListenAddress.Place)])
  func valid(_ text: String, _ name: String, _ place: ListenAddress.Place) throws {
    let address = try ListenAddress(text)
    #expect(address.name == name)
    #expect(address.place == place)
  }

  @Test(
    "strings of other forms are refused as listen addresses",
    arguments: [
      "", "x", "-1", "65536", "+80", "http=", "a:b=80", "1.2.3:80", "::1:80", "[::1]", "[1.2.3.4]:80", ":80", "*:80",
      "1.2.3.4:", "٨٠", "/" + String(repeating: "x", count: 108),
    ])
  func invalid(_ text: String) {
    #expect(throws: ListenAddress.Invalid.self) { try ListenAddress(text) }
  }

  @Test(
    "a time option is a number with a unit",
    arguments: [
      ("0ms", .zero), ("250ms", .milliseconds(250)), ("10s", .seconds(10)), ("5m", .seconds(300)), ("5", nil),
      ("ms", nil), ("-1s", nil), ("1.5s", nil), ("400d", nil), ("99999999999999999999s", nil),
    ] as [(String, Duration?)])
  func time(_ text: String, _ duration: Duration?) {
    #expect(DurationText.parse(text) == duration)
  }
}
