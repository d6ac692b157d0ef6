// containment-host: a program with requests, by default 24 in flight and one that traps. A supervisor runs it in a
// child process, and prints the result as one line of JSON.
import CTestKit
import CrashShield
import Glibc

if CommandLine.arguments.dropFirst().first == "--ways" {
  for way in Way.all { print(way.name) }
  exit(0)
}
guard CommandLine.arguments.dropFirst().first == "--run" else {
  guard let options = Options(Array(CommandLine.arguments.dropFirst())), options.containment != nil else {
    // Invariant: the text has as many bytes as its UTF-8 view.
    unsafe write(STDERR_FILENO, Options.usage, Options.usage.utf8.count)
    exit(64)
  }
  exit(unsafe ch_supervise(CommandLine.argc, CommandLine.unsafeArgv))
}
guard let options = Options(Array(CommandLine.arguments.dropFirst(2))), let containment = options.containment else {
  exit(64)
}

var configuration = Shield.Configuration()
configuration.containment = containment
configuration.onDrain = { ch_add(CH_DRAINS, 1) }
ch_open()
options.way.prepare()

let requests = Requests(way: options.way, count: options.requests, trapCount: options.traps)
switch options.moment {
case .running:
  try Shield.startOrThrow(configuration)
  ch_await_supervisor()
  await requests.run()
  await Requests.measureCapacity()
case .load:
  try Shield.startOrThrow(configuration)
  ch_await_supervisor()
  await requests.runLoad()
  await Requests.measureCapacity()
case .before:
  try Shield.startOrThrow(configuration)
  ch_await_supervisor()
  await requests.runAfterTrap(longest: options.longest)
case .start:
  Task.detached { await requests.run() }
  try Shield.startOrThrow(configuration)
case .exit:
  try Shield.startOrThrow(configuration)
  ch_await_supervisor()
  Task.detached { await requests.run() }
  while ch_get(CH_TRAPPING) == 0 { try await Task.sleep(for: .milliseconds(1)) }
}
// The shield ends the process at the end of the drain. If the drain does not end, the supervisor reports it.
while Shield.isDraining && !options.exits { try await Task.sleep(for: .milliseconds(10)) }
exit(0)
