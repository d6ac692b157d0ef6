// Symbolicates with Swift's own Runtime module. It reads a backtrace as JSON on standard input, and prints each address
// and its chain on standard output. compare.py creates the JSON, because the module has no other way to symbolicate an
// image of another process.
import Foundation
import Runtime

let input = try FileHandle.standardInput.readToEnd() ?? Data()
let backtrace = try JSONDecoder().decode(Backtrace.self, from: input)
guard let symbolicated = backtrace.symbolicated() else { exit(1) }

/// Inlined frames come first.
///
/// The frame that is not inlined ends the chain.
var isFirst = true
for frame in symbolicated.frames {
  if isFirst { print(frame.captured.originalProgramCounter) }
  isFirst = !frame.inlined
  guard let symbol = frame.symbol else { continue }
  let place = symbol.sourceLocation
  print("\(symbol.rawName)\t\(place?.path ?? "??"):\(place?.line ?? 0):\(place?.column ?? 0)")
}
