// crashd's child: requests the debug information of a build from debuginfod servers, and writes it to stdout.
import CConfine
import CCurl
import Glibc

/// Why it exits, as an exit status of sysexits.h.
enum Status: Int32 {
  case good = 0
  case usage = 64
  /// Every server replied that it has no debug information of this build.
  case notThere = 66
  /// No server has sent it, and not all have denied it.
  case failed = 69
  case confinement = 71
}

let usage = "usage: crash-fetch --build-id HEX --limit-bytes COUNT --timeout-ms COUNT URL… >FILE"

func end(_ status: Status, _ message: String) -> Never {
  let line = Array("crash-fetch: \(message)\n".utf8)
  // write reads as many bytes as the array has.
  _ = unsafe write(STDERR_FILENO, line, line.count)
  exit(status.rawValue)
}

func text(_ problem: cs_fetch_problem) -> String {
  // snprintf has ended the text.
  unsafe withUnsafeBytes(of: problem.text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

guard let question = Question(Array(CommandLine.arguments.dropFirst())) else { end(.usage, usage) }
// The strings live as long as the process: a server keeps the pointer to its URL.
let urls: [UnsafePointer<CChar>?] = unsafe question.urls.map { unsafe UnsafePointer(strdup($0)) }
var problem = cs_fetch_problem()
guard let fetcher = unsafe cs_fetcher_make(urls, urls.count, &problem) else { end(.failed, text(problem)) }
let code = cs_confine_fetch(question.limitBytes)
guard code == 0 else { end(.confinement, "cannot confine itself: errno \(code)") }

var problems: [String] = []
for (index, url) in question.urls.enumerated() {
  // The path lives during the call.
  let result = unsafe question.path.withCString { path in
    var request = unsafe cs_fetch_request(
      path: path, output: STDOUT_FILENO, limit_bytes: question.limitBytes, timeout_ms: question.timeout_ms)
    return unsafe cs_fetcher_get(fetcher, index, &request, &problem)
  }
  if result == CS_FETCH_GOOD { exit(Status.good.rawValue) }
  if result == CS_FETCH_FAILED { problems.append("\(url): \(text(problem))") }
}
// A partial transfer is discarded.
_ = ftruncate(STDOUT_FILENO, 0)
if problems.isEmpty { end(.notThere, "no server has it") }
end(.failed, problems.joined(separator: "; "))
