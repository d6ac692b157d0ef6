// These cases contain faults on purpose, which guards must detect.
// swift-format-ignore-file: NeverForceUnwrap
import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

extension GuardCase {
  static let foundation: [GuardCase] = [
    GuardCase("a wait for the current queue", .queue, plain: { waitForOneself() }) {
      let queue = ShieldedQueue(label: "own")
      return queue.sync { queue.sync { 5 } } == 5
    },
    GuardCase("a wait for the current queue, through another queue", .queue, plain: { waitForOneself() }) {
      let (first, second) = (ShieldedQueue(label: "first"), ShieldedQueue(label: "second"))
      return first.sync { second.sync { first.sync { 6 } } } == 6
    },
    GuardCase("a dispatch group left once too often", .group, plain: { DispatchGroup().leave() }) {
      let group = ShieldedGroup()
      group.enter()
      return group.leave() && !group.leave() && group.wait(timeout: .now())
    },
    GuardCase("a dispatch source resumed twice", .source, plain: { resumeTwice() }) {
      let source = ShieldedSource(DispatchSource.makeUserDataAddSource())
      return source.resume() && !source.resume()
    },
    GuardCase("a dispatch group deallocated while it is entered", .group, nil, plain: { DispatchGroup().enter() }) {
      ShieldedGroup().enter() == ()
    },
    GuardCase("a dispatch source deallocated before its resumption", .source, plain: { letGo { _ in } }) {
      use(ShieldedSource(DispatchSource.makeUserDataAddSource()))
      return true
    },
    GuardCase(
      "a dispatch source deallocated while suspended", .source,
      plain: {
        letGo {
          $0.resume()
          $0.suspend()
        }
      }
    ) {
      let source = ShieldedSource(DispatchSource.makeUserDataAddSource())
      defer { source.suspend() }
      return source.resume()
    },
    GuardCase("a semaphore deallocated while in use", .source, plain: { takeAndLetGo() }) {
      ShieldedSemaphore(value: 1).wait()
    },
    GuardCase(
      "a semaphore with a negative value", .source, SIGSEGV, plain: { use(DispatchSemaphore(value: opaque(-1))) }
    ) {
      !ShieldedSemaphore(value: opaque(-1)).wait(timeout: .now())
    },
    GuardCase(
      "an object past the end of an NSArray", .foundationRange, plain: { use(numbers.object(at: opaque(3))) }
    ) {
      numbers.shieldedObject(at: opaque(3)) == nil
    },
    GuardCase("an invalid range of an NSArray", .foundationRange, plain: { use(numbers.subarray(with: far)) }) {
      numbers.shieldedSubarray(with: far).count == 2
    },
    GuardCase("an invalid range of an NSString", .foundationRange, plain: { use(text.substring(with: far)) }) {
      text.shieldedSubstring(with: far) == "bc"
    },
    GuardCase(
      "a range that was not found, in an NSString", .foundationRange, plain: { use(text.substring(with: notFound)) }
    ) {
      text.shieldedSubstring(with: notFound).isEmpty
    },
    GuardCase(
      "a substring from past the end of an NSString", .foundationRange, plain: { use(text.substring(from: opaque(4))) }
    ) {
      text.shieldedSubstring(from: opaque(4)).isEmpty
    },
    GuardCase(
      "a substring to past the end of an NSString", .foundationRange, plain: { use(text.substring(to: opaque(4))) }
    ) {
      text.shieldedSubstring(to: opaque(4)) == "abc"
    },
    GuardCase(
      "a code unit past the end of an NSString", .foundationRange, plain: { use(text.character(at: opaque(3))) }
    ) {
      text.shieldedCharacter(at: opaque(3)) == nil
    },
    GuardCase(
      "an invalid range of an attributed string", .foundationRange,
      plain: { use(attributed().attributedSubstring(from: far)) }
    ) {
      attributed().shieldedAttributedSubstring(from: far).string == "bc"
    },
    GuardCase(
      "an attribute past the end", .foundationRange, SIGSEGV,
      plain: { attributed().addAttribute(key, value: 1, range: huge) }
    ) {
      let string = attributed()
      string.shieldedAddAttribute(key, value: 1, range: huge)
      return string.length == 3
    },
    GuardCase("a decimal that is too large", .conversion, nil, plain: {}) {
      UInt8(shielded: Decimal(string: "1e30") ?? 0) == .max
    },
    GuardCase("nil for an NSMutableArray", .missingValue, nil, plain: {}) {
      let array = NSMutableArray()
      return !array.shieldedAdd(nil) && array.shieldedAdd(1) && array.count == 1
    },
    GuardCase(
      "a JSON document that is only a text", .json,
      plain: { use(try? JSONSerialization.data(withJSONObject: opaque("text"))) }
    ) {
      isRefused { try JSONSerialization.shieldedData(withJSONObject: opaque("text")) }
    },
    GuardCase("the status of a process that was not started", .process, plain: { use(Process().terminationStatus) }) {
      Process().shieldedTerminationStatus() == nil
    },
    GuardCase("the termination of a process that was not started", .process, plain: { Process().terminate() }) {
      !Process().shieldedTerminate()
    },
    GuardCase("a write to a closed file handle", .fileHandle, plain: { closed().write(Data([1])) }) {
      isThrown { try closed().shieldedWrite(Data([1])) }
    },
    GuardCase("a read from a closed file handle", .fileHandle, plain: { use(closed().readDataToEndOfFile()) }) {
      isThrown { _ = try closed().shieldedReadToEnd() }
    },
    GuardCase(
      "an NSNumber cast to a text", .cast, SIGABRT,
      plain: { use(opaque(NSNumber(value: 42) as Any) as! String) }
    ) {
      Shield.cast(opaque(NSNumber(value: 42)), to: String.self) == "42"
    },
    GuardCase(
      "an NSNumber with a Bool cast to a text", .cast, SIGABRT,
      plain: { use(opaque(NSNumber(value: true) as Any) as! String) }
    ) {
      Shield.cast(opaque(NSNumber(value: true)), to: String.self) == "true"
    },
    GuardCase("an NSNull cast to a number", .null, SIGABRT, plain: { use(opaque(NSNull() as Any) as! Int) }) {
      Shield.cast(opaque(NSNull()), orDefault: Int.self) == 0
    },
  ]

  private static var numbers: NSArray { [1, 2, 3] }
  private static var text: NSString { "abc" }
  private static let far = NSRange(location: 1, length: 9)
  private static let huge = NSRange(location: 1, length: Int.max - 1)
  private static let notFound = NSRange(location: NSNotFound, length: 1)
  private static let key = NSAttributedString.Key("key")

  private static func attributed() -> NSMutableAttributedString { NSMutableAttributedString(string: "abc") }

  private static func closed() -> FileHandle {
    let pipe = Pipe()
    try? pipe.fileHandleForWriting.close()
    try? pipe.fileHandleForReading.close()
    return pipe.fileHandleForWriting
  }

  private static func waitForOneself() {
    let queue = DispatchQueue(label: "own")
    queue.sync { queue.sync {} }
  }

  private static func resumeTwice() {
    let source = DispatchSource.makeUserDataAddSource()
    source.resume()
    source.resume()
  }

  private static func letGo(_ body: (any DispatchSourceUserDataAdd) -> Void) {
    var source: (any DispatchSourceUserDataAdd)? = DispatchSource.makeUserDataAddSource()
    source.map(body)
    source = nil
    use(source == nil)
  }

  private static func takeAndLetGo() {
    var semaphore: DispatchSemaphore? = DispatchSemaphore(value: 1)
    semaphore?.wait()
    semaphore = nil
    use(semaphore)
  }

  private static func isRefused(_ body: () throws -> Data) -> Bool {
    do { _ = try body() } catch { return error as? ShieldFault != nil }
    return false
  }

  private static func isThrown(_ body: () throws -> Void) -> Bool {
    do { try body() } catch { return true }
    return false
  }
}
