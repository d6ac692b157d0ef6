/// The kind of a fault that a guard handles.
///
/// Each kind has a mode of its own. The numbers are those of the ring; they never change their meaning.
public enum ShieldKind: UInt8, Sendable, Hashable, CaseIterable {
  /// An element outside of a collection.
  case index = 1
  /// A part of a collection that is not all there, or bounds the wrong way round.
  case range = 2
  /// A change of a collection at a place that it does not have.
  case mutation = 3
  /// A count below zero, or too large.
  case capacity = 4
  /// A key given twice.
  case duplicateKey = 5
  /// nil where a collection wants elements.
  case missingValue = 6
  /// A place outside of a string.
  case stringIndex = 7
  /// nil where a value was expected.
  case unwrap = 8
  /// A value of another type than expected.
  case cast = 9
  /// A null where a value was expected.
  case null = 10
  /// An error where none was expected.
  case `try` = 11
  /// A result that its type cannot hold.
  case arithmetic = 12
  /// A number, or a text, that another type cannot hold.
  case conversion = 13
  /// A choice from nothing.
  case emptyRange = 14
  /// Steps of no length.
  case zeroStride = 15
  /// A condition that does not hold.
  case precondition = 16
  /// A timer whose target was deallocated.
  case timer = 17
  /// A notification for a deallocated observer.
  case notification = 18
  /// An observer added twice, or removed without having been added.
  case observation = 19
  /// A message that its receiver does not respond to.
  case message = 20
  /// A transition during another one.
  case transition = 21
  /// A second entry into an exclusive section.
  case gate = 22
  /// Work on another executor than its own.
  case isolation = 23
  /// A handle to a deallocated object.
  case handle = 24
  /// A continuation resumed twice, or never.
  case continuation = 25
  /// An unowned reference to a deallocated object.
  case reference = 26
  /// A synchronous wait for the current queue.
  case queue = 27
  /// A group left more often than it was entered.
  case group = 28
  /// An unbalanced dispatch source or semaphore.
  case source = 29
  /// A range outside of one of Foundation's objects.
  case foundationRange = 30
  /// A value that JSON or an archive cannot hold.
  case json = 31
  /// A process that was not started.
  case process = 32
  /// A file handle that was closed.
  case fileHandle = 33
  /// A pipe without a reader.
  case pipe = 34
  /// Bytes outside of a buffer.
  case memory = 35

  /// The name that the environment, crashd and reports use.
  public var name: String { "\(self)" }
}

/// The reaction of a guard to a fault.
public enum ShieldMode: UInt8, Sendable, Hashable, CaseIterable {
  /// Performs the operation as if the guard were not there, and records nothing.
  case off = 0
  /// Records the fault, and performs the operation as if the guard were not there: with the same signal.
  case observe = 1
  /// Records the fault and returns the documented value. The default.
  case absorb = 2
}
