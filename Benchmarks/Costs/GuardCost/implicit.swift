// Operations whose cost is measured with and without CrashShieldImplicit. scripts/build/implicit compiles this file
// twice: without the import, and with the import (-D IMPLICIT).
#if IMPLICIT
  import CrashShield
  import CrashShieldImplicit
#endif

@inline(never) func nothing(_ places: [Int]) -> Int {
  var sum = 0
  for place in 0..<places.count { sum = sum &+ place }
  return sum
}

@inline(never) func add(_ list: [Int], _ other: [Int]) -> Int {
  var sum = 0
  for place in 0..<list.count { sum = sum + (list[place] + other[place]) }
  return sum
}

@inline(never) func part(_ list: [Int], _ places: [Int]) -> Int {
  var sum = 0
  for place in 0..<places.count { sum = sum &+ list[places[place]..<1000].count }
  return sum
}

@inline(never) func read(_ list: [Int], _ places: [Int]) -> Int {
  var sum = 0
  for place in 0..<places.count { sum = sum &+ list[places[place]] }
  return sum
}

@inline(never) func readText(_ list: [String], _ places: [Int]) -> Int {
  var sum = 0
  for place in 0..<places.count { sum = sum &+ list[places[place]].utf8.count }
  return sum
}

@inline(never) func write(_ list: inout [Int]) { for place in 0..<list.count { list[place] = place } }

@inline(never) func change(_ list: inout [Int], _ places: [Int]) {
  for place in 0..<places.count { list[places[place]] += 1 }
}

@inline(never) func changeNested(_ list: inout [[Int]], _ places: [Int]) {
  for place in 0..<places.count { list[places[place]][0] &+= 1 }
}

let count = 10_000
let places = (0..<count).map { ($0 &* 7) % 1000 }
var few = Array(0..<1000)
var many = Array(0..<count)
var nested = (0..<1000).map { _ in Array(0..<100) }
let texts = (0..<1000).map { "a text that is long enough \($0)" }
var result = 0
let rounds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 0 : 0
for _ in 0..<rounds {
  switch CommandLine.arguments[1] {
  case "add": result = add(many, places)
  case "read": result = read(few, places)
  case "text": result = readText(texts, places)
  case "write": write(&many)
  case "change": change(&few, places)
  case "nested": changeNested(&nested, places)
  case "part": result = part(few, places)
  default: result = nothing(places)
  }
}
print(result, many[3], few[7], nested[7][0])
