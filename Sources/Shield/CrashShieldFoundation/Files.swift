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
  /// The JSON of an object; an object that JSON cannot hold throws `ShieldFault.refused`, and is recorded as `json`.
  ///
  /// In place of `data(withJSONObject:)`, which ends the process for a scalar at the top. A scalar is refused unless `options`
  /// allow fragments. `off` and `observe`: as the plain function.
  public static func shieldedData(
    withJSONObject object: Any, options: WritingOptions = [], fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Data {
    let isFragment =
      !(object is [Any]) && !(object is [String: Any]) && !(object is NSArray) && !(object is NSDictionary)
    // An object that is valid in an array is valid where fragments are allowed.
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
  /// The object of an archive; an invalid archive, or an object of another class, throws `ShieldFault.refused`, and is
  /// recorded as `json`.
  ///
  /// In place of `unarchiveObject(with:) as!`, which ends the process. `off` and `observe`: as that.
  public static func shieldedUnarchivedObject<Object: NSObject & NSCoding>(
    ofClass type: Object.Type = Object.self, from data: Data, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Object {
    // The error it throws would show contents of the archive.
    if let object = try? unarchivedObject(ofClass: type, from: data) { return object }
    let isAbsorbed = Shield.handleFault(.json, at: ShieldSite(fileID: fileID, line: line)) {
      "an archive of \(data.count) bytes without a \(type)"
    }
    if isAbsorbed { throw ShieldFault.refused("an archive without a \(type)") }
    // The trap of the plain operation is intended here.
    // swift-format-ignore: NeverForceUnwrap
    return unarchiveObject(with: data) as! Object
  }
}

extension Process {
  /// The exit status; nil if the process was not started or has not ended, which is recorded as `process`.
  public func shieldedTerminationStatus(fileID: StaticString = #fileID, line: UInt = #line) -> Int32? {
    let isEnded = processIdentifier != 0 && !isRunning
    if !isEnded, handleFault("the status of a process that has not ended", fileID, line) { return nil }
    return terminationStatus
  }

  /// Terminates the process; returns false if it was not started, which is recorded as `process`.
  @discardableResult
  public func shieldedTerminate(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    if processIdentifier == 0, handleFault("the end of a process that was not started", fileID, line) { return false }
    terminate()
    return true
  }

  /// Waits for the end; returns false if the process was not started, which is recorded as `process`.
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
  /// Writes the data; a closed handle throws and is recorded as `fileHandle`, a pipe or socket without a reader as
  /// `pipe`.
  ///
  /// In place of `write(_:)`, which ends the process. A pipe without a reader still ends it by SIGPIPE, unless
  /// `Shield.ignoreBrokenPipes()` was called. `off` and `observe`: as `write(_:)`.
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

  /// Foundation wraps the system call's error in one of its own.
  private static func isBrokenPipe(_ error: any Error) -> Bool {
    let error = error as NSError
    let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
    return cause.domain == NSPOSIXErrorDomain && cause.code == Int(EPIPE)
  }

  /// Reads to the end; a closed handle throws, and is recorded as `fileHandle`.
  ///
  /// In place of `readDataToEndOfFile()`, which ends the process. `off` and `observe`: as that.
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
  /// Ignores SIGPIPE: from now on a write to a pipe or socket without a reader fails with EPIPE.
  ///
  /// Has no effect if the program has a SIGPIPE handler. Applies to the whole process and is inherited by its child
  /// processes, so the shield never does it by itself.
  ///
  /// - Returns: Whether SIGPIPE is ignored now.
  @discardableResult
  public static func ignoreBrokenPipes() -> Bool {
    var action = sigaction()
    // The function fills in the structure.
    guard unsafe sigaction(SIGPIPE, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let installed = unsafe action.__sigaction_u.__sa_handler
    #elseif canImport(Musl)
      let installed = unsafe action.__sa_handler.sa_handler
    #else
      let installed = unsafe action.__sigaction_handler.sa_handler
    #endif
    // The two standard actions are numbers, not functions.
    let handler = unsafe unsafeBitCast(installed, to: UInt.self)
    if handler == 1 { return true }
    guard handler == 0 else { return false }
    return unsafe unsafeBitCast(signal(SIGPIPE, SIG_IGN), to: Int.self) != -1
  }
}
