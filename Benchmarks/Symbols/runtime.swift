// Symbolicates with Swift's own Runtime module. Reads a backtrace as JSON on standard input, and prints each address
// and its chain of functions on standard output. compare.py creates the JSON, because a backtrace in JSON is the
// module's only way to symbolicate an image of another process.
import Foundation
import Runtime

let input = try FileHandle.standardInput.readToEnd() ?? Data()
let backtrace = try JSONDecoder().decode(Backtrace.self, from: input)
guard let symbolicated = backtrace.symbolicated() else { exit(1) }

/// Whether the next frame is the first one of a chain.
///
/// A chain has its inlined frames first, and ends with the frame that is not inlined.
var isFirst = true
for frame in symbolicated.frames {
  if isFirst { print(frame.captured.originalProgramCounter) }
  isFirst = !frame.inlined
  guard let symbol = frame.symbol else { continue }
  let place = symbol.sourceLocation
  print("\(symbol.rawName)\t\(place?.path ?? "??"):\(place?.line ?? 0):\(place?.column ?? 0)")
}
