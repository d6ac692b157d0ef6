public import CrashShield
internal import CrashShieldGuards
public import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension JSONSerialization {
  /// Returns the JSON of an object; if JSON cannot hold it, throws `ShieldFault.refused` and records the fault as
  /// `json`.
  ///
  /// Replaces `data(withJSONObject:)`, which ends the process if the top-level object is a scalar. A scalar is accepted
  /// only if `options` allow fragments. Under `off` and `observe`, the guard behaves like the plain function.
  public static func shieldedData(
    withJSONObject object: Any, options: WritingOptions = [], fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Data {
    let isFragment =
      !(object is [Any]) && !(object is [String: Any]) && !(object is NSArray) && !(object is NSDictionary)
    // If fragments are allowed, any object that is valid as an array element is valid at the top level.
    let isValid =
      isFragment
      ? options.contains(.fragmentsAllowed) && isValidJSONObject([object]) : isValidJSONObject(object)
    if !isValid {
      let isAbsorbed = Shield.handleFault(.json, at: ShieldSite(fileID: fileID, line: line)) {
        "JSON cannot hold this \(type(of: object))"
      }
      if isAbsorbed { throw ShieldFault.refused("JSON cannot hold this \(type(of: object))") }
    }
    return try data(withJSONObject: object, options: options)
  }
}

extension NSKeyedUnarchiver {
  /// Returns the object of an archive; if the archive is invalid or contains another class, throws
  /// `ShieldFault.refused` and records the fault as `json`.
  ///
  /// Replaces `unarchiveObject(with:) as!`, which ends the process in these cases. Under `off` and `observe`, the guard
  /// behaves like that expression.
  public static func shieldedUnarchivedObject<Object: NSObject & NSCoding>(
    ofClass type: Object.Type = Object.self, from data: Data, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Object {
    // Discard the thrown error, because its description would show contents of the archive.
    if let object = try? unarchivedObject(ofClass: type, from: data) { return object }
    let isAbsorbed = Shield.handleFault(.json, at: ShieldSite(fileID: fileID, line: line)) {
      "an archive of \(data.count) bytes without a \(type)"
    }
    if isAbsorbed { throw ShieldFault.refused("an archive without a \(type)") }
    // The guard mode is not `absorb`: trap as the plain operation does.
    // swift-format-ignore: NeverForceUnwrap
    return unarchiveObject(with: data) as! Object
  }
}

extension Process {
  /// Returns the exit status; if the process was not started or has not ended, returns nil and records the fault as
  /// `process`.
  public func shieldedTerminationStatus(fileID: StaticString = #fileID, line: UInt = #line) -> Int32? {
    let isEnded = processIdentifier != 0 && !isRunning
    if !isEnded, handleFault("the status of a process that has not ended", fileID, line) { return nil }
    return terminationStatus
  }

  /// Terminates the process; if it was not started, returns false and records the fault as `process`.
  @discardableResult
  public func shieldedTerminate(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    if processIdentifier == 0, handleFault("the end of a process that was not started", fileID, line) { return false }
    terminate()
    return true
  }

  /// Waits for the end of the process; if it was not started, returns false and records the fault as `process`.
  @discardableResult
  public func shieldedWaitUntilExit(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    if processIdentifier == 0, handleFault("a wait for a process that was not started", fileID, line) { return false }
    waitUntilExit()
    return true
  }

  private func handleFault(_ reason: String, _ fileID: StaticString, _ line: UInt) -> Bool {
    Shield.handleFault(.process, at: ShieldSite(fileID: fileID, line: line)) { reason }
  }
}

extension FileHandle {
  /// Writes the data; if the write fails, throws the error and records the fault as `fileHandle` or `pipe`.
  ///
  /// The kind `fileHandle` means a closed handle, and `pipe` means a pipe or socket without a reader. Replaces
  /// `write(_:)`, which ends the process in these cases. If `Shield.ignoreBrokenPipes()` was not called, a write to a
  /// pipe without a reader still ends the process, with SIGPIPE. Under `off` and `observe`, the guard behaves like
  /// `write(_:)`.
  public func shieldedWrite(_ data: Data, fileID: StaticString = #fileID, line: UInt = #line) throws {
    do {
      try write(contentsOf: data)
    } catch {
      let isBroken = Self.isBrokenPipe(error)
      let isAbsorbed = Shield.handleFault(isBroken ? .pipe : .fileHandle, at: ShieldSite(fileID: fileID, line: line)) {
        isBroken ? "a write to a pipe without a reader" : "a write to a handle: \(type(of: error))"
      }
      if isAbsorbed { throw error }
      write(data)
    }
  }

  /// Foundation can wrap the system call's error (EPIPE) in another error.
  private static func isBrokenPipe(_ error: any Error) -> Bool {
    let error = error as NSError
    let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
    return cause.domain == NSPOSIXErrorDomain && cause.code == Int(EPIPE)
  }

  /// Reads to the end; if the handle is closed, throws the error and records the fault as `fileHandle`.
  ///
  /// Replaces `readDataToEndOfFile()`, which ends the process if the handle is closed. Under `off` and `observe`, the
  /// guard behaves like that function.
  public func shieldedReadToEnd(fileID: StaticString = #fileID, line: UInt = #line) throws -> Data {
    do {
      return try readToEnd() ?? Data()
    } catch {
      let isAbsorbed = Shield.handleFault(.fileHandle, at: ShieldSite(fileID: fileID, line: line)) {
        "a read from a handle: \(type(of: error))"
      }
      if isAbsorbed { throw error }
      return readDataToEndOfFile()
    }
  }
}

extension Shield {
  /// Ignores SIGPIPE: from now on, a write to a pipe or socket without a reader fails with EPIPE.
  ///
  /// Has no effect if the program has a SIGPIPE handler. The setting applies to the whole process, and child processes
  /// inherit it. For this reason, the shield ignores SIGPIPE only if the program calls this function.
  ///
  /// - Returns: Whether SIGPIPE is ignored now.
  @discardableResult
  public static func ignoreBrokenPipes() -> Bool {
    var action = sigaction()
    // Invariant: the function fills in the whole structure.
    guard unsafe sigaction(SIGPIPE, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let installed = unsafe action.__sigaction_u.__sa_handler
    #elseif canImport(Musl)
      let installed = unsafe action.__sa_handler.sa_handler
    #else
      let installed = unsafe action.__sigaction_handler.sa_handler
    #endif
    // The two standard actions are numbers, not functions: SIG_DFL is 0 and SIG_IGN is 1.
    let handler = unsafe unsafeBitCast(installed, to: UInt.self)
    if handler == 1 { return true }
    guard handler == 0 else { return false }
    return unsafe unsafeBitCast(signal(SIGPIPE, SIG_IGN), to: Int.self) != -1
  }
}
