// Symbolicates with Swift's own Runtime module: a backtrace as JSON on standard input, an address and its chain a
// time on standard output. compare.py makes the JSON; the module has no other way to name a foreign image.
import Foundation
import Runtime

let input = try FileHandle.standardInput.readToEnd() ?? Data()
let backtrace = try JSONDecoder().decode(Backtrace.self, from: input)
guard let symbolicated = backtrace.symbolicated() else { exit(1) }

/// Inlined frames come first; the one that is not inlined ends the chain.
var isFirst = true
for frame in symbolicated.frames {
  if isFirst { print(frame.captured.originalProgramCounter) }
  isFirst = !frame.inlined
  guard let symbol = frame.symbol else { continue }
  let place = symbol.sourceLocation
  print("\(symbol.rawName)\t\(place?.path ?? "??"):\(place?.line ?? 0):\(place?.column ?? 0)")
}
