import CrashReport
import CrashSymbols

/// Groups crashes by their kind and their three topmost in-app functions, by simplified names.
///
/// Lines, addresses, build ids and reason texts do not count, except for stripped programs, which have nothing else. So
/// debug, release and later builds give the same key (`make grouping` measures it).
///
/// There are two more keys: a coarse one of the kind and the topmost name alone, for truncated stacks, and an exact one
/// of builds and offsets in them, which only crashes of one build share.
enum Grouping {
  static let frameCount = 3
  /// Incremented when a crash may get another key than before; `crashctl reanalyse --all` updates stored reports.
  ///
  /// 2: operators keep their names; specialized thunks have none, nor have callers that other builds may lack; `$main`
  /// is an entry point also where it throws; errors at top level are separate.
  static let version = 2

  /// The group of a crash.
  ///
  /// The runtime's `message` distinguishes crashes that have no location of their own.
  ///
  /// `what` begins the title in place of the kind; it has no part in the keys, for not every crash of a group shows it.
  static func group(
    of thread: CrashReport.CrashedThread, kind: String, process: String, images: [CrashReport.Image] = [],
    message: String = "", what: String? = nil
  ) -> CrashReport.Group {
    let own = thread.frames.filter(\.isOwn)
    let isTopLevel = own.allSatisfy { $0.mangled.isEmpty || isEntryPoint($0.mangled) }
    let error = isTopLevel ? GroupingText.topLevelError(message).map { "error \($0)" } : nil
    let names = (error.map { [$0] } ?? []) + names(thread.frames)
    let place = names.first.map(FunctionName.short) ?? process
    let title = "\(what ?? kind) in \(place)" + caller(names, thread.frames)
    let places = places(thread.frames, images)
    let parts: [String]
    // After a jump into data, the first frame has no name in any build.
    let isNameless = own.first?.mangled.isEmpty == true
    let caller = isNameless && own.first == thread.frames.first ? own.dropFirst().first : nil
    if isNameless && caller.map({ $0.mangled.isEmpty || isEntryPoint($0.mangled) }) ?? true {
      // A stripped program: its only names are those of the system, which all programs share. Offsets distinguish its
      // crashes, though only within one build.
      parts = [process] + names + self.places(own, images)
    } else if significant(own).isEmpty {
      // It has no in-app frame, perhaps not even a name.
      parts = [process] + names
    } else {
      parts = names
    }
    return CrashReport.Group(
      key: key([kind] + parts), title: error.map { "\($0) at top level of \(process)" } ?? title,
      exact: key([kind] + places), coarse: key([kind] + parts.prefix(1)), version: version)
  }

  /// The function that called a C function, which several callers may share; empty for any other.
  private static func caller(_ names: [String], _ frames: [CrashReport.Frame]) -> String {
    guard names.count > 1, let first = frames.first(where: { $0.isOwn && simplified($0) == names[0] }),
      first.mangled == first.function
    else { return "" }
    return ", called by \(FunctionName.short(names[1]))"
  }

  private static func key(_ parts: [String]) -> String {
    String(SHA256.hexadecimal(parts.joined(separator: " | ")).prefix(16))
  }

  /// The faulting instruction and the topmost in-app ones: in a debug build every trap is in one function of the
  /// runtime.
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

  /// Unreported exits have no frames: the program and the kind of exit make the group.
  static func group(ofSilent death: SilentDeath, process: String, build: String) -> CrashReport.Group {
    let parts = ["silent death", death.title, process]
    return CrashReport.Group(
      key: key(parts), title: "\(death.title): \(process)", exact: key(parts + [build]),
      coarse: key([parts[0], process]), version: version)
  }

  /// The names in the key: those of in-app frames, else of any frame with a name.
  static func names(_ frames: [CrashReport.Frame]) -> [String] {
    let own = significant(frames.filter(\.isOwn))
    return own.isEmpty ? significant(frames.filter { !Ownership.isPlumbing($0.mangled) }) : own
  }

  private static func significant(_ frames: [CrashReport.Frame]) -> [String] {
    var names: [String] = []
    var entryPoint: String?
    var last: String?
    // A recursion is one function a hundred times: it is named once.
    for frame in frames where !frame.mangled.isEmpty && frame.mangled != last {
      last = frame.mangled
      if Demangler.isThunk(frame.mangled) { continue }
      let name = simplified(frame)
      if isEntryPoint(frame.mangled) {
        entryPoint = entryPoint ?? name
      } else if !names.isEmpty && isUncertain(caller: frame, name) {
        continue
      } else if names.last != name {
        names.append(name)
      }
      if names.count == frameCount { break }
    }
    // Among other names main says nothing, but alone it is better than none.
    return names.isEmpty ? entryPoint.map { [$0] } ?? [] : names
  }

  /// Whether a caller may be in one build of a program and not in another.
  ///
  /// An optimized closure often ends in its call, and leaves no frame; a merged function has the name of another;
  /// `__deallocating_deinit` calls `deinit` or inlines it, as `__allocating_init` does with `init`. The crashing
  /// function always keeps its name.
  private static func isUncertain(caller frame: CrashReport.Frame, _ name: String) -> Bool {
    name.contains("closure in ") || name.hasSuffix(".__deallocating_deinit") || name.contains(".__allocating_init(")
      || Demangler.isMerged(frame.mangled)
  }

  static func isEntryPoint(_ mangled: String) -> Bool {
    if mangled == "main" || mangled.hasSuffix("_main") { return true }
    if mangled.hasPrefix("async_Main") || mangled.hasPrefix("__swift_async_main") { return true }
    // Emitted by swiftc for @main, also where it is async, throws, or is specialized.
    return mangled.contains("5$main") && Demangler.simplified(mangled).hasSuffix(".$main()")
  }

  /// The module and the name without differences between builds.
  static func simplified(_ frame: CrashReport.Frame) -> String {
    // Keys have the short form of a name, which may be empty.
    let isNameless = !frame.function.isEmpty && Demangler.isNameless(frame.mangled)
    let text = frame.function.isEmpty ? frame.mangled : frame.function
    let name = isNameless ? "" : withoutGenerics(GroupingText.simplified(text))
    return Demangler.module(of: frame.mangled).map { "\($0).\(name)" } ?? name
  }

  /// Removes the text between matching angle brackets, in one pass, because the name may come from an untrusted file.
  ///
  /// A bracket opens generics after a name; elsewhere it is part of an operator's name, such as `<^>`.
  static func withoutGenerics(_ name: String) -> String {
    var kept: [UInt8] = []
    var openings: [Int] = []
    for byte in name.utf8 {
      // The arrow of a type inside of the brackets closes nothing.
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
