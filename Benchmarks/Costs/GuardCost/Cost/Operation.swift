import Dispatch
import Glibc
import Marks
import Synchronization

/// An operation of Swift in its plain form, which traps for a wrong value, and in its guarded form (CrashShieldGuards).
///
/// Both forms run the given number of loop iterations, and return the same sum.
struct Operation: Sendable {
  typealias Work = @Sendable (Input) throws -> Int

  /// The documented limit of the guarded form's cost.
  enum Promise: Equatable {
    /// The guarded form takes at most 1.1 times the plain form's time. In addition, the limit of `instructions`
    /// applies.
    case time
    /// Only the limit of `instructions` applies. The time is measured and reported, but has no limit.
    case timed
    /// The guarded form executes at most three times as many instructions as the plain form. Each guard that the
    /// compiler specializes for its types stays below this limit.
    case instructions
    /// The guarded form executes at most this number of instructions per iteration. This limit is for guards that do
    /// additional work, such as taking a lock.
    case atMost(Int)

    /// The limit for a plain operation that only reads a value, while the guard also retains and releases the value.
    static let looked = atMost(90)
  }

  let name: String
  let promise: Promise
  let plain: Work
  let guarded: Work

  init(_ name: String, _ promise: Promise = .instructions, plain: @escaping Work, guarded: @escaping Work) {
    self.name = name
    self.promise = promise
    self.plain = plain
    self.guarded = guarded
  }

  /// Runs each form once between the marks of callgrind (marks.h), so that callgrind counts only the instructions of
  /// this run.
  func count(_ input: Input) throws {
    for (form, work) in [("plain", plain), ("guarded", guarded)] {
      // The first run of each form is outside the marks, because it includes one-time initialization.
      let sum = try work(input)
      mark_begin()
      let again = try work(input)
      mark_end("\(form) \(name)")
      guard sum == again, try sum == plain(input) else { fail("\(name): another result") }
    }
  }

  /// Returns for each form the nanoseconds of a run with all iterations: the minimum of many rounds.
  ///
  /// Each round runs both forms.
  func time(_ input: Input) throws -> (plain: Int, guarded: Int) {
    var best = (plain: Int.max, guarded: Int.max)
    for _ in 0..<100 {
      let start = now()
      let sum = try plain(input)
      let middle = now()
      guard try guarded(input) == sum else { fail("\(name): another result") }
      best = (min(best.plain, middle - start), min(best.guarded, now() - middle))
    }
    return best
  }
}

/// Classes for measuring casts.
class Animal {}

final class Dog: Animal {
  let age: Int
  init(_ age: Int) { self.age = age }
}

struct Point {
  var x: Int
  var y: Int
  var name: String
}

/// The inputs of the operations.
///
/// The compiler cannot compute their values.
struct Input {
  let turns: Int
  /// Indices below 1,000, in random order.
  let places: [Int]
  let numbers: [Int]
  let texts: [String]
  let optionals: [Int?]
  let optionalTexts: [String?]
  let pairs: [(Int, Int)]
  let optionalPairs: [(Int?, Int?)]
  let doubles: [Double]
  let words: [Int32]
  let dogs: [Dog?]
  let anyNumbers: [Any]
  let optionalAnyNumbers: [Any?]
  let anyTexts: [Any]
  let anyPoints: [Any]
  let anyDogs: [Any]
  let animals: [Animal]

  init(turns: Int) {
    self.turns = turns
    places = opaque((0..<turns).map { $0 &* 7919 % 1000 })
    numbers = opaque(Array(0..<1024))
    texts = opaque((0..<1024).map { "text \($0)" })
    optionals = opaque(places.map { $0 })
    optionalTexts = opaque(places.map { "text \($0)" })
    pairs = opaque(places.map { ($0, $0 + 10) })
    optionalPairs = opaque(places.map { ($0, $0) })
    doubles = opaque(places.map { Double($0) + 0.5 })
    words = opaque(places.map { Int32($0) })
    dogs = opaque(places.map { Dog($0) })
    anyNumbers = opaque(places)
    optionalAnyNumbers = opaque(places)
    anyTexts = opaque(places.map { "text \($0)" })
    anyPoints = opaque(places.map { Point(x: $0, y: 1, name: "a point of some length") })
    anyDogs = opaque(places.map { Dog($0) })
    animals = opaque(places.map { Dog($0) })
  }
}

@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

func now() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

func fail(_ what: String) -> Never {
  let line = "guard-cost: \(what)\n"
  _ = write(STDERR_FILENO, line, line.utf8.count)
  exit(3)
}

/// Returns the result of asynchronous work.
func awaited(_ work: @escaping @Sendable () async throws -> Int) -> Int {
  let result = Mutex(0)
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    guard let value = try? await work() else { fail("asynchronous work throws") }
    result.withLock { $0 = value }
    isDone.signal()
  }
  isDone.wait()
  return result.withLock { $0 }
}
