// Accesses of elements inside the bounds, whose results must be the same with and without CrashShieldImplicit (guards
// for plain operators). scripts/check/implicit compiles this file with and without CrashShieldImplicit, optimized and
// unoptimized, and compares the output.
import Glibc

#if IMPLICIT
  import CrashShield
  import CrashShieldGuards
  import CrashShieldImplicit
#endif

@inline(never) @_optimize(none) func opaque<Value>(_ value: Value) -> Value { value }

final class Thing {
  nonisolated(unsafe) static var alive = 0
  var name: String
  var parts: [String] = []
  init(_ name: String) {
    self.name = name
    Thing.alive += 1
  }
  deinit { Thing.alive -= 1 }
}

struct Failed: Error {}

struct Point: Equatable {
  var x = 1
  var y = 2
  var tags: [String] = []
  mutating func fail() throws {
    x = 9
    throw Failed()
  }
  mutating func wait() async {
    x += 1
    await Task.yield()
    y += x
  }
}

struct Holder {
  var changes = 0
  var list = [1, 2, 3] { didSet { changes += 1 } }
  var texts = ["a", "b"]
  var computed: [Int] {
    get { list.reversed() }
    set { list = newValue.reversed() }
  }
}

// Checks that the address of an element is inside the storage of its list, and not in a copy.

func places() -> [Bool] {
  var numbers = opaque(Array(0..<8))
  var texts = opaque(ContiguousArray(["a", "b", "c", "d"]))
  var part = opaque(Array(0..<8))[3...]
  let base = numbers.withUnsafeMutableBufferPointer { $0.baseAddress }
  let textBase = texts.withUnsafeMutableBufferPointer { $0.baseAddress }
  let partBase = part.withUnsafeMutableBufferPointer { $0.baseAddress }
  return [
    withUnsafeMutablePointer(to: &numbers[opaque(2)]) { $0 == base.map { $0 + 2 } },
    withUnsafeMutablePointer(to: &texts[opaque(3)]) { $0 == textBase.map { $0 + 3 } },
    withUnsafeMutablePointer(to: &part[opaque(5)]) { $0 == partBase.map { $0 + 2 } },
    withUnsafeMutableBytes(of: &numbers[opaque(7)]) { $0.baseAddress == base.map { UnsafeMutableRawPointer($0 + 7) } },
  ]
}

func received() -> String {
  var ends: [Int32] = [0, 0]
  guard pipe(&ends) == 0 else { return "no pipe" }
  let sent = (0..<100).map { UInt8($0 + 100) }
  let written = write(ends[1], sent, sent.count)
  // `opaque` hides the list from the optimizer. Otherwise, the optimizer would assume that read() changes only one
  // element, even without the import of CrashShieldImplicit.
  var buffer = opaque([UInt8](repeating: 7, count: 160))
  let copy = buffer
  let count = read(ends[0], &buffer[opaque(28)], 100)
  // This call writes only one byte. Even without the import, optimized code is allowed to copy one element, and to pass
  // the copy's address to a function that only reads its argument.
  let again = write(ends[1], &buffer[opaque(120)], 1)
  var back = opaque([UInt8](repeating: 0, count: 10))
  let last = read(ends[0], &back[opaque(1)], 1)
  for end in ends { close(end) }
  return "\(written) \(count) \(buffer) \(copy == [UInt8](repeating: 7, count: 160)) \(again) \(last) \(Array(back))"
}

func locked() -> [Int32] {
  var locks = (0..<3).map { _ in pthread_mutex_t() }
  for number in locks.indices { pthread_mutex_init(&locks[number], nil) }
  let which = opaque(1)
  var results = [pthread_mutex_lock(&locks[which])]
  results.append(pthread_mutex_trylock(&locks[which]))
  results.append(pthread_mutex_trylock(&locks[opaque(2)]))
  results.append(pthread_mutex_unlock(&locks[which]))
  results.append(pthread_mutex_trylock(&locks[which]))
  for number in locks.indices { pthread_mutex_unlock(&locks[number]) }
  return results
}

// Checks whether operations that change a list in place copy it.

func copied() -> String {
  var nested = opaque([[1], [2], [3]])
  let nestedCopy = nested
  nested[1].append(9)
  nested[opaque(2)][0] += 5
  var texts = opaque(["a", "b"])
  let textCopy = texts
  texts[opaque(0)] = "new"
  texts[1] += "x"
  var numbers = opaque([1, 2, 3])
  var numberCopies: [[Int]] = []
  for number in numbers.indices {
    numberCopies.append(numbers)
    numbers[number] += 10
    numbers[opaque(0)] = number
  }
  var part = numbers[1...]
  part[opaque(1)] = 77
  part[part.endIndex - 1] += 1
  return "\(nested) \(nestedCopy) \(texts) \(textCopy) \(numbers) \(numberCopies) \(part) \(part.startIndex)"
}

func kept() -> String {
  var lines: [String] = []
  do {
    var things = (0..<4).map { Thing("thing \($0)") }
    things[opaque(2)] = Thing("other")
    lines.append("\(Thing.alive)")
    things[1].parts.append("part")
    things[opaque(1)].name += "!"
    var some = ArraySlice<Thing?>(things)[2...]
    some[opaque(2)] = nil
    some[3] = Thing("last")
    things[3] = things[0]
    lines.append("\(Thing.alive) \(things.map(\.name)) \(some.map { $0?.name ?? "-" }) \(things[1].parts)")
    let taken = ContiguousArray(things)
    things[0] = taken[1]
    taken[opaque(0)].name = "shared"
    lines.append("\(Thing.alive) \(things[0].name) \(things[3].name)")
  }
  lines.append("\(Thing.alive)")
  return lines.joined(separator: " / ")
}

/// Checks that an inner list with free capacity is not copied when it grows.
func grown() -> [Bool] {
  var nested = opaque([[Int]](repeating: [], count: 4))
  for number in nested.indices { nested[number].reserveCapacity(100) }
  let before = nested.map { $0.withUnsafeBufferPointer { $0.baseAddress } }
  for number in 0..<50 { nested[number % 4].append(nested[number % 4].count) }
  let after = nested.map { $0.withUnsafeBufferPointer { $0.baseAddress } }
  return zip(before, after).map { $0 == $1 } + [nested[1] == Array(0..<13), nested[3].count == 12]
}

// Checks changes of elements through inout arguments.

func replaced<Value>(_ list: inout [Value], _ place: Int, _ value: Value) -> Value {
  let old = list[place]
  list[place] = value
  return old
}

func changed<Value>(_ list: inout ArraySlice<Value>, _ place: Int, _ change: (inout Value) throws -> Void) rethrows {
  try change(&list[place])
}

func exchanged<List: MutableCollection>(_ list: inout List, _ a: List.Index, _ b: List.Index) { list.swapAt(a, b) }

func add(_ number: inout Int, _ other: inout Int) {
  number += 10
  other += number
}

func handed() -> String {
  var numbers = opaque([1, 2, 3, 4])
  var texts = opaque(["a", "b", "c"])
  let old = replaced(&numbers, 3, 40)
  let oldText = replaced(&texts, opaque(1), "B")
  swap(&numbers[0], &texts2[opaque(1)])
  add(&numbers[opaque(1)], &texts2[0])
  exchanged(&numbers, 0, 2)
  numbers.swapAt(1, 3)
  var part = texts[1...]
  changed(&part, opaque(2)) { $0 += "!" }
  try? changed(&part, 1) {
    $0 += "?"
    throw Failed()
  }
  numbers.withUnsafeMutableBufferPointer { $0[1] += 1 }
  return "\(old) \(oldText) \(numbers) \(texts) \(part) \(texts2)"
}

nonisolated(unsafe) var texts2 = [5, 6, 7]
nonisolated(unsafe) var told: [String] = []

func next(_ name: String, _ value: Int) -> Int {
  told.append(name)
  return value
}

func owned() -> String {
  var holder = opaque(Holder())
  holder.list[opaque(1)] += 5
  holder.list[0] = 9
  holder.texts[1].append("c")
  holder.computed[opaque(0)] = 30
  holder.computed[1] += 1
  let path: WritableKeyPath<Holder, Int> = \.list[2]
  holder[keyPath: path] += 100
  var table = opaque(["a": [1, 2], "b": [3]])
  table["a"]?[opaque(1)] += 5
  table["b"]?[0] = 8
  table["c", default: [0, 0]][1] += 4
  let thing = Thing("owner")
  thing.parts = ["x", "y"]
  thing.parts[opaque(1)] += "z"
  thing.parts[0] = "w"
  var maybe: [Int]? = opaque([1, 2])
  maybe?[1] = 7
  var optionals: [[Int]?] = opaque([[1], nil, [3]])
  optionals[0]?.append(2)
  optionals[1]?.append(2)
  optionals[opaque(2)] = nil
  optionals[1] = [4]
  var pairs: [(x: Int, text: String)] = opaque([(1, "a"), (2, "b")])
  pairs[opaque(1)].x += 3
  pairs[0].text += "b"
  pairs[0] = (pairs[1].x, pairs[0].text)
  var grid = opaque([[[1, 2], [3]], [[4]]])
  grid[0][1][0] += grid[1][0][0]
  grid[opaque(1)][0][opaque(0)] = 6
  var order = opaque([0, 0, 0])
  order[next("place", 1)] = next("value", 5)
  order[next("changed", 2)] += next("by", 6)
  var work = 0
  let closure = {
    order[opaque(0)] += 1
    work = order[0]
  }
  closure()
  closure()
  return """
    \(holder.list) \(holder.changes) \(holder.texts) \(table.sorted { $0.key < $1.key }) \(thing.parts) \(maybe ?? [])
    \(optionals) \(pairs) \(grid) \(order) \(told) \(work)
    """
}

func thrown() async -> String {
  var points = opaque([Point(), Point(x: 3, y: 4)])
  let copy = points
  try? points[opaque(1)].fail()
  points[0].tags.append("t")
  points[opaque(0)].y = points[1].x
  await points[1].wait()
  var part = points[1...]
  await part[opaque(1)].wait()
  return "\(points) \(copy) \(part)"
}

/// Performs a hundred thousand operations on three lists that sometimes share elements and storage.
func worked() -> String {
  var state: UInt64 = 42
  func random(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % bound
  }
  var numbers = Array(0..<64)
  var texts = ContiguousArray((0..<32).map { "text number \($0)" })
  var nested = (0..<16).map { [$0] }[4...]
  var keptNumbers = numbers
  var keptTexts = texts
  var keptNested = nested
  var sum = 0
  for step in 0..<100_000 {
    switch random(12) {
    case 0: numbers[random(64)] = numbers[random(64)] &* 31 &+ step
    case 1: numbers[random(64)] &+= numbers[random(64)]
    case 2: texts[random(32)] = "\(numbers[random(64)] & 0xFF) and a text that is long"
    case 3: texts[random(32)] += texts[random(32)].count < 60 ? texts[random(32)].prefix(3) : ""
    case 4: nested[4 + random(12)].append(step)
    case 5: nested[4 + random(12)] = [step, sum & 0xFF]
    case 6: nested[4 + random(12)][0] &+= nested[4 + random(12)].count
    case 7: keptNumbers = numbers
    case 8: keptTexts = texts
    case 9: keptNested = nested
    case 10: swap(&numbers[random(64)], &keptNumbers[random(64)])
    default: sum &+= keptNumbers[random(64)] ^ keptTexts[random(32)].utf8.count ^ nested[4 + random(12)].count
    }
    if texts[random(32)].utf8.count > 80 { texts[random(32)] = "" }
  }
  var hash: UInt64 = 5381
  for byte in "\(numbers) \(texts) \(nested) \(keptNumbers) \(keptTexts) \(keptNested)".utf8 {
    hash = hash &* 33 &+ UInt64(byte)
  }
  return "\(sum) \(hash)"
}

print(places())
print(received())
print(locked())
print(copied())
print(kept())
print(grown())
print(handed())
print(owned())
print(await thrown())
print(worked())
print(Thing.alive)
#if IMPLICIT
  if !Shield.guardIncidents.isEmpty { print(Shield.guardIncidents) }
#endif
