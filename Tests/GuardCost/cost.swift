// The plain operations are what the guards are compared with.
// swift-format-ignore-file: NeverForceUnwrap

// What a guard costs, from another module: for callgrind a plain operation or the guarded one, so many times; the time of
// the guarded one as ratio to that of the plain one; the nanoseconds of a fault that is absorbed.
import CrashShield
import Glibc

@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

let operation = CommandLine.arguments[1]
let count = Int(CommandLine.arguments[2]) ?? 0
let numbers = Array(0..<1024)
// In no order that a compiler could use.
let places = (0..<count).map { $0 &* 7919 % 1024 }
let optionals: [Int?] = opaque(places.map { $0 })
let values: [Any] = opaque(places.map { $0 as Any })

@inline(never)
func index(_ numbers: [Int], _ places: [Int]) -> Int {
  var sum = 0
  for place in places { sum &+= numbers[place] }
  return sum
}

@inline(never)
func shieldedIndex(_ numbers: [Int], _ places: [Int]) -> Int {
  var sum = 0
  for place in places { sum &+= numbers[shielded: place, default: 0] }
  return sum
}

@inline(never)
func unwrap(_ optionals: [Int?]) -> Int {
  var sum = 0
  for value in optionals { sum &+= value! }
  return sum
}

@inline(never)
func shieldedUnwrap(_ optionals: [Int?]) -> Int {
  var sum = 0
  for value in optionals { sum &+= value.shielded(or: 0) }
  return sum
}

// Places in place of a list's own order: what the list's iterator checks is not what the operation costs.
@inline(never)
func unwrapAt(_ places: [Int], _ optionals: [Int?]) -> Int {
  var sum = 0
  for place in places { sum &+= optionals[place]! }
  return sum
}

@inline(never)
func shieldedUnwrapAt(_ places: [Int], _ optionals: [Int?]) -> Int {
  var sum = 0
  for place in places { sum &+= optionals[place].shielded(or: 0) }
  return sum
}

@inline(never)
func add(_ numbers: [Int]) -> Int {
  var sum = 0
  for number in numbers { sum += number }
  return sum
}

@inline(never)
func shieldedAdd(_ numbers: [Int]) -> Int {
  var sum = 0
  for number in numbers { sum = sum.shieldedAdding(number) }
  return sum
}

@inline(never)
func cast(_ values: [Any]) -> Int {
  var sum = 0
  for value in values { sum &+= value as! Int }
  return sum
}

@inline(never)
func shieldedCast(_ values: [Any]) -> Int {
  var sum = 0
  for value in values { sum &+= Shield.cast(value, orDefault: Int.self) }
  return sum
}

@inline(never)
func keys(_ count: Int) -> Int {
  Dictionary(uniqueKeysWithValues: (0..<count).lazy.map { ($0, $0) }).count
}

@inline(never)
func shieldedKeys(_ count: Int) -> Int {
  Dictionary(shieldedUniqueKeysWithValues: (0..<count).lazy.map { ($0, $0) }).count
}

@inline(never)
func remove(_ numbers: [Int]) -> Int {
  var rest = numbers
  var sum = 0
  for _ in 0..<rest.count { sum &+= rest.remove(at: rest.count - 1) }
  return sum
}

@inline(never)
func shieldedRemove(_ numbers: [Int]) -> Int {
  var rest = numbers
  var sum = 0
  for _ in 0..<rest.count { sum &+= rest.shieldedRemove(at: rest.count - 1) ?? 0 }
  return sum
}

func now() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The time of the guarded operation as ratio to that of the plain one: of each the best of many rounds in turn.
func ratio(_ plain: () -> Int, _ guarded: () -> Int) -> Double {
  var best = (plain: Int.max, guarded: Int.max)
  for _ in 0..<400 {
    let start = now()
    let sum = plain()
    let middle = now()
    if guarded() != sum { exit(3) }
    best = (min(best.plain, middle - start), min(best.guarded, now() - middle))
  }
  return Double(best.guarded) / Double(best.plain)
}

/// Nanoseconds of one absorbed fault of the best of several rounds, after the first at its place.
func absorbed() -> Int {
  let nowhere = opaque(-1)
  var best = Int.max
  for _ in 0..<20 {
    let start = now()
    for _ in 0..<count { _ = opaque(numbers[shielded: nowhere]) }
    best = min(best, (now() - start) / max(count, 1))
  }
  return best
}

switch operation {
case "index": print(index(numbers, places))
case "shielded-index": print(shieldedIndex(numbers, places))
case "unwrap": print(unwrap(optionals))
case "shielded-unwrap": print(shieldedUnwrap(optionals))
case "add": print(add(places))
case "shielded-add": print(shieldedAdd(places))
case "cast": print(cast(values))
case "shielded-cast": print(shieldedCast(values))
case "keys": print(keys(count))
case "shielded-keys": print(shieldedKeys(count))
case "remove": print(remove(places))
case "shielded-remove": print(shieldedRemove(places))
case "absorbed": print(absorbed())
case "time-index": print(ratio({ index(numbers, places) }, { shieldedIndex(numbers, places) }))
case "time-unwrap": print(ratio({ unwrapAt(places, optionals) }, { shieldedUnwrapAt(places, optionals) }))
case "time-unwrap-list": print(ratio({ unwrap(optionals) }, { shieldedUnwrap(optionals) }))
case "time-add": print(ratio({ add(places) }, { shieldedAdd(places) }))
case "time-cast": print(ratio({ cast(values) }, { shieldedCast(values) }))
case "nothing": print(places.count)
case "absorbed-started":
  try Shield.start()
  print(absorbed())
default: exit(2)
}
