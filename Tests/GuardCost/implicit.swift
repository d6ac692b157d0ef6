// Work that is the same with and without CrashShieldImplicit: scripts/measure-implicit puts the import before it.
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

let count = 10_000
let places = (0..<count).map { ($0 &* 7) % 1000 }
let few = Array(0..<1000)
let many = Array(0..<count)
var result = 0
let rounds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 0 : 0
for _ in 0..<rounds {
  switch CommandLine.arguments[1] {
  case "add": result = add(many, places)
  case "part": result = part(few, places)
  default: result = nothing(places)
  }
}
print(result, many[3])
