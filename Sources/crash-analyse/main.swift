// crashd's child: reads an untrusted ELF file on stdin and writes its symbol cache to stdout.
import CrashSymbolBuilder
import Glibc

let usage = "usage: crash-analyse build-cache --build-id HEX [--at HEX,…] <IMAGE >CACHE"
let arguments = Array(CommandLine.arguments.dropFirst())
let addresses = arguments.count == 5 && arguments[3] == "--at" ? BuildCacheJob.addresses(of: arguments[4]) : nil
let status: BuildCacheJob.Status =
  if arguments.count == 3 || addresses != nil, arguments[0] == "build-cache", arguments[1] == "--build-id" {
    BuildCacheJob.run(buildID: arguments[2].lowercased(), addresses: addresses)
  } else {
    BuildCacheJob.fail(.usage, usage)
  }
exit(status.rawValue)
