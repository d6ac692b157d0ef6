/// The kind of a fault that a guard handles.
///
/// Each kind has a mode of its own. The raw values are stored in the ring; the meaning of a raw value never changes.
public enum ShieldKind: UInt8, Sendable, Hashable, CaseIterable {
  /// An index outside the bounds of a collection.
  case index = 1
  /// A range that is not entirely inside a collection, or whose lower bound is above its upper bound.
  case range = 2
  /// A change of a collection at an index outside its bounds, or of an element that it does not contain.
  case mutation = 3
  /// A negative or too large count.
  case capacity = 4
  /// A key that occurs twice.
  case duplicateKey = 5
  /// A nil where a collection needs an element.
  case missingValue = 6
  /// An index outside the bounds of a string.
  case stringIndex = 7
  /// A nil where a value was expected.
  case unwrap = 8
  /// A value of another type than expected.
  case cast = 9
  /// A null where a value was expected.
  case null = 10
  /// An error where none was expected.
  case `try` = 11
  /// A result that its type cannot hold, or a division by zero.
  case arithmetic = 12
  /// A number or a string that another type cannot hold.
  case conversion = 13
  /// A random choice from an empty range.
  case emptyRange = 14
  /// A stride with a step of zero.
  case zeroStride = 15
  /// A failed condition.
  case precondition = 16
  /// A timer whose target was deallocated, or whose interval is too short.
  case timer = 17
  /// A notification for a deallocated observer.
  case notification = 18
  /// An observer that is added twice, or that is removed without having been added.
  case observation = 19
  /// A message that its receiver does not respond to.
  case message = 20
  /// A transition that was dropped, or that its driver did not end in time.
  case transition = 21
  /// A second entry into an exclusive section that is still running.
  case gate = 22
  /// Code of an actor that runs on an executor that is not the actor's.
  case isolation = 23
  /// A handle whose object was deallocated.
  case handle = 24
  /// A continuation that is resumed twice, or never.
  case continuation = 25
  /// An unowned reference whose object was deallocated.
  case reference = 26
  /// A synchronous wait for the current queue.
  case queue = 27
  /// A group that is left more often than it was entered, or deallocated before it was left as often.
  case group = 28
  /// An unbalanced dispatch source or semaphore.
  case source = 29
  /// A range outside the bounds of a Foundation object.
  case foundationRange = 30
  /// A value that JSON cannot hold, or an invalid value in JSON or in an archive.
  case json = 31
  /// A process that was not started, or has not ended yet.
  case process = 32
  /// A file handle that was closed.
  case fileHandle = 33
  /// A pipe without a reader.
  case pipe = 34
  /// An access outside the bounds of a buffer.
  case memory = 35

  /// The name that the environment, crashd and reports use.
  public var name: String { "\(self)" }
}

/// The reaction of a guard to a fault.
public enum ShieldMode: UInt8, Sendable, Hashable, CaseIterable {
  /// Performs the plain operation, and does not record faults.
  case off = 0
  /// Records the fault, and performs the plain operation as if there were no guard: the process ends with the same
  /// signal.
  case observe = 1
  /// Records the fault and returns the fallback value that the guard's documentation names. The default.
  case absorb = 2
}
