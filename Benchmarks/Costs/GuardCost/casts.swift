// Casts that succeed, and conditional casts that fail. Their results must be the same with and without
// CrashShieldCasts. scripts/measure/implicit links this file.
// swift-format-ignore-file: NeverForceUnwrap
#if IMPLICIT
  import CrashShield
  import CrashShieldCasts
#endif

@inline(never) func conditional(_ list: [Any]) -> Int {
  var sum = 0
  for value in list { sum = sum &+ (value as? Int ?? 0) }
  return sum
}

@inline(never) func forced(_ list: [Any]) -> Int {
  var sum = 0
  for value in list { sum = sum &+ (value as! Int) }
  return sum
}

@inline(never) func forcedLists(_ list: [Any]) -> Int {
  var sum = 0
  for value in list { sum = sum &+ (value as! [Int]).count }
  return sum
}

let numbers = (0..<10_000).map { $0 as Any }
let lists = (0..<10_000).map { [$0, $0] as [Any] as Any }
var result = 0
let rounds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 0 : 0
for _ in 0..<rounds {
  switch CommandLine.arguments[1] {
  case "conditional": result = conditional(numbers)
  case "forced": result = forced(numbers)
  default: result = forcedLists(lists)
  }
}
print(result)
