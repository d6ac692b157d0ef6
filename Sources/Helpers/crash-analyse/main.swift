// A child process of crashd. The process reads untrusted input on stdin, such as an ELF file or the memory of an ended
// process, and writes its result to stdout.
import CrashSymbolBuilder
import Glibc

let usage = """
  usage: crash-analyse build-cache --build-id HEX [--at HEX,…] <IMAGE >CACHE \
  or crash-analyse unwind-tables --build-id HEX [--urgent] <IMAGE >TABLES or crash-analyse unwind <REQUEST >ANSWER \
  or crash-analyse check-names <NAMES >VERDICTS \
  or crash-analyse describe-scope --build-id HEX --pc HEX <IMAGE >DESCRIPTION \
  or crash-analyse describe-classes --build-id HEX --pc HEX <IMAGE >DESCRIPTION
  """
let arguments = Array(CommandLine.arguments.dropFirst())
let addresses = arguments.count == 5 && arguments[3] == "--at" ? BuildCacheJob.addresses(of: arguments[4]) : nil
let pc = arguments.count == 5 && arguments[3] == "--pc" ? UInt64(arguments[4], radix: 16) : nil
let isOfBuild = arguments.count >= 3 && arguments[1] == "--build-id"
let status: BuildCacheJob.Status =
  switch (arguments.first, arguments.count) {
  case ("build-cache", 3) where isOfBuild, ("build-cache", 5) where isOfBuild && addresses != nil:
    BuildCacheJob.run(buildID: arguments[2].lowercased(), addresses: addresses)
  case ("unwind-tables", 3) where isOfBuild: UnwindTablesJob.run(buildID: arguments[2].lowercased())
  case ("unwind-tables", 4) where isOfBuild && arguments[3] == "--urgent":
    UnwindTablesJob.run(buildID: arguments[2].lowercased(), isUrgent: true)
  case ("unwind", 1): UnwindJob.run()
  case ("check-names", 1): CheckNamesJob.run()
  case ("describe-scope", 5) where isOfBuild && pc != nil:
    DescribeScopeJob.run(buildID: arguments[2].lowercased(), pc: pc ?? 0)
  case ("describe-classes", 5) where isOfBuild && pc != nil:
    DescribeScopeJob.run(buildID: arguments[2].lowercased(), pc: pc ?? 0, isOfClasses: true)
  default: BuildCacheJob.fail(.usage, usage)
  }
exit(status.rawValue)
