/// What a guard takes care of.
///
/// Each kind has a mode of its own.
/// The numbers are those of the ring; they never change their meaning.
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
  /// A timer whose target has gone.
  case timer = 17
  /// An observer of notifications that has gone.
  case notification = 18
  /// An observer added twice, or removed without being there.
  case observation = 19
  /// A message that its receiver does not know.
  case message = 20
  /// A transition during another.
  case transition = 21
  /// A second one where one at a time may enter.
  case gate = 22
  /// Work on another executor than its own.
  case isolation = 23
  /// A handle whose object has gone.
  case handle = 24
  /// A continuation resumed twice, or never.
  case continuation = 25
  /// An object that has gone.
  case reference = 26
  /// A wait for the queue that one is on.
  case queue = 27
  /// A group left more often than entered.
  case group = 28
  /// A dispatch source or semaphore out of balance.
  case source = 29
  /// A range outside of one of Foundation's objects.
  case foundationRange = 30
  /// What JSON or an archive cannot hold.
  case json = 31
  /// A process that was not started.
  case process = 32
  /// A file handle that was closed.
  case fileHandle = 33
  /// A pipe that nobody reads.
  case pipe = 34
  /// Bytes outside of a buffer.
  case memory = 35

  /// The name that the environment, crashd and reports use.
  public var name: String { "\(self)" }
}

/// What a guard does about a fault.
public enum ShieldMode: UInt8, Sendable, Hashable, CaseIterable {
  /// Nothing: the operation is performed as if the guard were not there, and nothing is recorded.
  case off = 0
  /// It records the fault, and performs the operation as if it were not there: with the same signal.
  case observe = 1
  /// It records the fault and gives the documented value. So it stands at the start.
  case absorb = 2
}
