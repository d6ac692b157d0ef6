// Classes for the use-after-frees in these tests.
import CrashShield
import Glibc
import Synchronization

/// The number of deinits that have run, for all classes in this file.
private let deinits = Atomic<Int>(0)

func countDeinit() { deinits.add(1, ordering: .sequentiallyConsistent) }

func deinitCount() -> Int { deinits.load(ordering: .sequentiallyConsistent) }

class Session {
  var number = 7
  var title = "seven"
  var friend: Session?
  func greet() -> Int { number }
  func label() -> String { title }
  func scale() -> Double { Double(number) / 2 }
  func later() async -> Int {
    await Task.yield()
    return number
  }
  func fail() throws -> Int { number }
  deinit { countDeinit() }
}

final class Guest: Session {
  override func greet() -> Int { number + 1 }
}

class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
  func get() -> Value { value }
}

enum Outer {
  class Nested {
    func answer() -> Int { 42 }
  }
}

actor Counter {
  var count = 3
  func next() -> Int {
    count += 1
    return count
  }
}

protocol Greeting: AnyObject { func greet() -> Int }
extension Session: Greeting {}

/// Holds objects until a test drops them.
///
/// The optimizer cannot determine which objects these are.
nonisolated(unsafe) var kept: [AnyObject] = []

@inline(never)
func drop() { unsafe kept.removeAll() }

/// Creates an object that only `kept` references.
///
/// Returns an unretained reference, which dangles after `drop()`.
@inline(never)
func dangling<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let object = make()
  unsafe kept.append(object)
  let result = unsafe Unmanaged.passUnretained(object)
  release(object)
  return unsafe result
}

/// Ends the lifetime of the caller's reference.
///
/// After this call, only `kept` references the object.
@inline(never)
private func release(_ object: AnyObject) { unsafe kept.append(object) }

/// Returns a closure with an unowned reference to an object that `kept` holds.
@inline(never)
func unownedReader() -> () -> Int {
  let object = Session()
  unsafe kept.append(object)
  return { [unowned object] in object.number }
}

/// The exit status of a child that has reached its end, and in which all checks have passed.
let right: Int32 = 42

/// If the condition is false, prints which check failed, and ends this child.
func check(_ condition: Bool, line: Int32 = #line) {
  if condition { return }
  print("check in line \(line) failed")
  Glibc.exit(Int32(line % 250) + 1 == right ? 1 : line % 250 + 1)
}
