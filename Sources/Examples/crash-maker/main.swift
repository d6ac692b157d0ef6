import CrashMaker
import Glibc

switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
case .help:
  writeLine(Arguments.usage, to: STDOUT_FILENO)
case .list:
  for scenario in Scenario.all {
    writeLine(
      "\(scenario.name)\t\(scenario.signal.isEmpty ? "-" : scenario.signal)\t\(scenario.summary)", to: STDOUT_FILENO)
  }
case .table:
  for scenario in Scenario.native where scenario.isReported && !scenario.isSilentDeath {
    let columns = [
      scenario.name, scenario.reportedSignal, scenario.function, "\(scenario.crashedCount)", scenario.reason,
      scenario.threads.map(\.rawValue).joined(separator: ","),
    ]
    writeLine(columns.joined(separator: "\t"), to: STDOUT_FILENO)
  }
case .wrong(let message):
  writeLine("crash-maker: \(message)", to: STDERR_FILENO)
  exit(2)
case .run(let run):
  beginAnew(in: run.scenario.environment)
  switch run.run() {
  case .start(let error):
    writeLine("crash-maker: \(error)", to: STDERR_FILENO)
    exit(71)  // EX_OSERR
  case .notAttached:
    writeLine("crash-maker: crashd did not accept this process in \(CrashRun.attachLimit_s) s", to: STDERR_FILENO)
    exit(69)  // EX_UNAVAILABLE
  case .thread(let errno):
    writeLine("crash-maker: cannot create a thread: errno \(errno)", to: STDERR_FILENO)
    exit(71)
  case .notProtected(let name):
    writeLine("crash-maker: cannot protect class '\(name)': not found, or not a native Swift class", to: STDERR_FILENO)
    exit(69)
  case .survived:
    writeLine("crash-maker: '\(run.scenario.name)' did not crash", to: STDERR_FILENO)
    exit(70)  // EX_SOFTWARE
  }
}

func writeLine(_ line: String, to descriptor: Int32) {
  var bytes = Array((line + "\n").utf8)[...]
  while !bytes.isEmpty {
    // Invariant: the buffer outlives the call.
    let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    // Give up if the write fails, because there is no other output for an error.
    if written <= 0 { return }
    bytes = bytes.dropFirst(written)
  }
}

/// If a variable is missing in the environment, sets the variable and executes this program again, because the Swift
/// runtime reads its variables before `main`.
func beginAnew(in environment: [String: String]) {
  // Invariant: no other thread exists yet that could read or change the environment.
  let missing = environment.filter { name, value in
    unsafe getenv(name).map { unsafe String(cString: $0) } != value
  }
  if missing.isEmpty { return }
  for (name, value) in missing { unsafe setenv(name, value, 1) }
  // Invariant: the strings are valid until exec replaces the program. If exec fails, the program continues unchanged.
  var arguments = unsafe CommandLine.arguments.map { unsafe strdup($0) } + [nil]
  unsafe execv("/proc/self/exe", &arguments)
}
