// crashd's child: reads an untrusted ELF file on stdin and writes its symbol cache to stdout.
import CrashSymbolBuilder
import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
let status: BuildCacheJob.Status =
  if arguments.count == 3, arguments[0] == "build-cache", arguments[1] == "--build-id" {
    BuildCacheJob.run(buildID: arguments[2].lowercased())
  } else {
    BuildCacheJob.fail(.usage, "usage: crash-analyse build-cache --build-id HEX <IMAGE >CACHE")
  }
exit(status.rawValue)
