import CrashReport
import CrashSymbols

/// Groups crashes by the kind of crash, by the check that failed, and by the simplified name of the topmost in-app
/// function (a function of the program itself).
///
/// If the topmost function only checks what its caller passed (a check), or only accesses it (a utility), the caller
/// has the defect (docs/decisions/0146). For a check, the key also contains its caller. For a utility, the key contains
/// the caller instead of the utility. The key contains no other callers: their frames depend on the thread, on the
/// build and on the route to the crash.
///
/// For a check of the standard library or of the compiler, the key also contains the source column of the check.
///
/// The key of a group does not contain lines, addresses, build IDs or values. Therefore, the same crash has the same key
/// in debug builds, release builds and later builds of a program; `make grouping` measures this. A stripped program has
/// no function names, so its key contains build IDs and offsets.
///
/// Each crash has two more keys. The coarse key finds similar groups. The coarse key contains only the kind and the
/// topmost name. The exact key contains build IDs and offsets. Therefore, only crashes of the same build have the same
/// exact key. A fleet server, which collects reports of many machines, connects the keys of two versions of the
/// algorithm by equal exact keys. For this, all crashes with one exact key should have the same key, and a new version
/// should not change exact keys (docs/decisions/0151).
enum Grouping {
  /// The maximum number of names in the key of a crash without in-app frames, and the maximum number of in-app frames
  /// whose offsets follow that of the faulting instruction in an exact key.
  static let frameCount = 3
  /// The version of the algorithm that computes the keys.
  ///
  /// A change that gives any crash another key must increment the version. `crashctl reanalyse --all` updates stored
  /// reports.
  ///
  /// Version 2 made the following changes:
  /// - The names of operator functions are no longer removed from the keys.
  /// - The keys omit specialized thunks, and callers that are possibly missing in other builds.
  /// - `$main` is an entry point even if it throws.
  /// - Errors that are thrown at top level have separate groups.
  ///
  /// Version 3 made the following changes:
  /// - The failed check is a part of the key, and so is the column of a check that is not stated in the source.
  /// - Callers are a part of the key only if they have the defect.
  static let version = 3

  /// Returns the group of a crash.
  ///
  /// `check` is the check that failed. `message` is the runtime error message. The message distinguishes errors that
  /// were thrown at top level, because all of these errors have the same crash location. The text `what` replaces the
  /// kind of the crash at the beginning of the title. `what` is not a part of the keys, because the analysis does not
  /// find this text for every crash of a group.
  static func group(
    of thread: CrashReport.CrashedThread, kind: String, check: FailedCheck = .unknown, process: String,
    images: [CrashReport.Image] = [], message: String = "", what: String? = nil
  ) -> CrashReport.Group {
    let own = thread.frames.filter(\.isOwn)
    let isTopLevel = own.allSatisfy { $0.mangled.isEmpty || isEntryPoint($0.mangled) }
    let error = isTopLevel ? GroupingText.topLevelError(message).map { "error \($0)" } : nil
    let named = named(thread.frames, check)
    let names = (error.map { [$0] } ?? []) + named.map(\.text)
    let place = names.first.map(FunctionName.short) ?? process
    let title = "\(what ?? kind) in \(place)" + caller(names, thread.frames)
    let places = places(thread.frames, images)
    let parts: [String]
    // After a jump to an address without code, the first frame has no function name in any build. In this case, the
    // group depends on the caller of the first frame.
    let isNameless = own.first?.mangled.isEmpty == true
    let caller = isNameless && own.first == thread.frames.first ? own.dropFirst().first : nil
    if isNameless && caller.map({ $0.mangled.isEmpty || isEntryPoint($0.mangled) }) ?? true {
      // The program's symbols are stripped. The only names in the program's stack are names of system functions, which
      // other programs call, too. Offsets distinguish the crashes of a stripped program, but only within one build.
      parts = [process] + names + self.places(own, images)
    } else if significant(own, limit: 1).isEmpty {
      // The stack has no in-app frame, and possibly no function names at all.
      parts = [process] + names
    } else {
      parts = names
    }
    return CrashReport.Group(
      key: key([kind, check.key] + parts + (error == nil ? column(named.first?.frame, check) : [])),
      title: error.map { "\($0) at top level of \(process)" } ?? title,
      exact: key([kind] + (error.map { [$0] } ?? []) + places), coarse: key([kind] + parts.prefix(1)), version: version)
  }

  /// Returns the source column of a frame, for a check of the standard library or of the compiler.
  ///
  /// The column distinguishes several checks of one function, such as two subscripts. Unlike the line, the column does
  /// not change when lines are added. The column is equal in debug builds and in optimized builds, as `make grouping`
  /// measures. For memory faults, the columns of two builds differ. The column of a check in the source, such as
  /// `fatalError()`, is mostly its indentation.
  private static func column(_ named: CrashReport.Frame?, _ check: FailedCheck) -> [String] {
    guard check.hasColumn, let column = named?.column, column > 0 else { return [] }
    return ["column \(column)"]
  }

  /// Returns the caller, for the group's title; empty if the caller is not a part of the key.
  private static func caller(_ names: [String], _ frames: [CrashReport.Frame]) -> String {
    guard names.count > 1, frames.contains(where: \.isOwn) else { return "" }
    return ", called by \(FunctionName.short(names[1]))"
  }

  private static func key(_ parts: [String]) -> String {
    String(SHA256.hexadecimal(parts.joined(separator: " | ")).prefix(16))
  }

  /// Returns the offsets of the faulting instruction and of the topmost in-app frames in their images.
  ///
  /// The offset of the faulting instruction alone is not sufficient, because in a debug build every trap is in the same
  /// function of the Swift runtime.
  private static func places(_ frames: [CrashReport.Frame], _ images: [CrashReport.Image]) -> [String] {
    var seen: Set<Address> = []
    let physical = frames.filter { !$0.isAsync && seen.insert($0.address).inserted }
    let wanted = physical.prefix(1) + physical.dropFirst().filter(\.isOwn).prefix(frameCount)
    return wanted.map { frame in
      guard let image = images.first(where: { $0.base <= frame.address && frame.address < $0.end }) else {
        return frame.address.description
      }
      let build = image.buildID.isEmpty ? image.path : image.buildID
      return "\(build)+\(Address(frame.address.rawValue - image.base.rawValue))"
    }
  }

  /// Returns the crash group of an unreported exit.
  ///
  /// Such an exit has no crash record and no frames, so the key consists of the program and the kind of exit.
  static func group(ofSilent death: SilentDeath, process: String, build: String) -> CrashReport.Group {
    let parts = ["silent death", death.title, process]
    return CrashReport.Group(
      key: key(parts), title: "\(death.title): \(process)", exact: key(parts + [build]),
      coarse: key([parts[0], process]), version: version)
  }

  /// The functions for the key: the topmost in-app function, and its caller if the caller has the defect.
  ///
  /// If there are no in-app frames, the key contains the names of the topmost frames.
  private static func named(_ frames: [CrashReport.Frame], _ check: FailedCheck) -> [Name] {
    let own = significant(frames.filter(\.isOwn), limit: callerReach)
    guard let top = own.first else {
      return significant(frames.filter { !Ownership.isPlumbing($0.mangled) }, limit: frameCount)
    }
    if isUtility(top.frame) {
      // An optimized build can inline the utility so that the stack does not show it, so the key contains the caller
      // instead of the utility.
      return [own.first { !isUtility($0.frame) && !isEntryPoint($0.frame.mangled) } ?? top]
    }
    guard check == .stated, GroupingText.takesArguments(top.text) else { return [top] }
    // A type can have helper functions that perform its check. The caller is the first function outside the type of the
    // topmost function.
    let type = GroupingText.type(of: top.text)
    let caller = own.dropFirst().first { name in
      !isUtility(name.frame) && !isEntryPoint(name.frame.mangled)
        && (type == nil || GroupingText.type(of: name.text) != type)
    }
    return [top] + (caller.map { [$0] } ?? [])
  }

  /// Whether a function only accesses what its caller passes: the function is a global generic function, or is declared
  /// in an extension of another module's type.
  ///
  /// A generic method of the program's own types does not count as a utility. For example, handlers of requests are
  /// often generic.
  private static func isUtility(_ frame: CrashReport.Frame) -> Bool {
    (frame.function.contains(">(") && GroupingText.isGlobal(simplified(frame)))
      || GroupingText.isForeignExtension(Demangler.full(frame.mangled))
  }

  /// A name in a key, and its frame.
  private struct Name {
    var text: String
    var frame: CrashReport.Frame
  }

  /// The number of in-app functions among which the caller of a check is sought.
  private static let callerReach = 8

  private static func significant(_ frames: [CrashReport.Frame], limit: Int) -> [Name] {
    var names: [Name] = []
    var entryPoint: Name?
    var last: String?
    // A recursive function can have many frames. The key contains the name of a recursive function only once.
    for frame in frames where !frame.mangled.isEmpty && frame.mangled != last {
      last = frame.mangled
      if Demangler.isThunk(frame.mangled) { continue }
      let name = Name(text: simplified(frame), frame: frame)
      if isEntryPoint(frame.mangled) {
        entryPoint = entryPoint ?? name
      } else if !names.isEmpty && isUncertain(caller: frame, name.text) {
        continue
      } else if names.last?.text != name.text {
        names.append(name)
      }
      if names.count == limit { break }
    }
    // Use the name of the program's entry point only if no other name is available.
    return names.isEmpty ? entryPoint.map { [$0] } ?? [] : names
  }

  /// Whether a caller can be present in one build of a program and absent in another build.
  ///
  /// An optimized closure often ends with a tail call, which leaves no frame. A merged function has the name of only
  /// one of the functions that were merged. `__deallocating_deinit` either calls or inlines `deinit`, and
  /// `__allocating_init` either calls or inlines `init`. This function judges only callers.
  private static func isUncertain(caller frame: CrashReport.Frame, _ name: String) -> Bool {
    name.contains("closure in ") || name.hasSuffix(".__deallocating_deinit") || name.contains(".__allocating_init(")
      || Demangler.isMerged(frame.mangled)
  }

  static func isEntryPoint(_ mangled: String) -> Bool {
    if mangled == "main" || mangled.hasSuffix("_main") { return true }
    if mangled.hasPrefix("async_Main") || mangled.hasPrefix("__swift_async_main") { return true }
    // swiftc emits the function `$main` for @main. The function can be async, can throw, and can be specialized.
    return mangled.contains("5$main") && Demangler.simplified(mangled).hasSuffix(".$main()")
  }

  /// Returns the module and the name of a function, without the parts of the names that differ between builds.
  static func simplified(_ frame: CrashReport.Frame) -> String {
    // Use an empty name for a function without a short name, because keys contain only short names.
    let isNameless = !frame.function.isEmpty && Demangler.isNameless(frame.mangled)
    let text = frame.function.isEmpty ? frame.mangled : frame.function
    let name = isNameless ? "" : withoutGenerics(GroupingText.simplified(text))
    return Demangler.module(of: frame.mangled).map { "\($0).\(name)" } ?? name
  }

  /// Removes the text between matching angle brackets.
  ///
  /// The loop is a single pass over the name, because the name can come from an untrusted file and can be long. A
  /// bracket after a name opens generic arguments. A bracket in another position is a part of an operator's name, such
  /// as `<^>`.
  static func withoutGenerics(_ name: String) -> String {
    var kept: [UInt8] = []
    var openings: [Int] = []
    for byte in name.utf8 {
      // Skip the `>` of an arrow (`->`) inside the brackets, which does not close a bracket.
      let isArrow = kept.last == UInt8(ascii: "-")
      if byte == UInt8(ascii: ">"), !isArrow, let opening = openings.popLast() {
        kept.removeSubrange(opening...)
        continue
      }
      if byte == UInt8(ascii: "<"), let last = kept.last, GroupingText.isWord(last), !kept.ends(with: cxxOperator) {
        openings.append(kept.count)
      }
      kept.append(byte)
    }
    return String(decoding: kept, as: UTF8.self)
  }

  private static let cxxOperator = Array("operator".utf8)
}

extension [UInt8] {
  fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
}
