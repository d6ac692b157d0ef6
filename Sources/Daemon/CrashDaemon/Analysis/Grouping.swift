import CrashReport
import CrashSymbols

/// Which crashes belong together: the class of the crash and its three topmost own functions by simplified names.
///
/// No line, no address, no build id and no reason text go in, but for stripped programs, which have nothing else. So debug
/// and release builds, and the builds of next week, give the same key (`make grouping` measures it).
///
/// Two more keys stand beside it: a coarse one of the class and the topmost name alone, for stacks that were cut short,
/// and an exact one of builds and places in them, which only crashes of one build share.
enum Grouping {
  static let frameCount = 3
  /// Raised when one crash may get other keys than before; `crashctl reanalyse --all` brings stored reports up to date.
  ///
  /// 2: operators keep their names; specialised thunks have none, nor have callers that other builds may lack; `$main` is an
  /// entry point also where it throws; errors at top level are kept apart.
  static let version = 2

  /// The group of a crash; the runtime's `message` tells crashes apart that have no place of their own.
  ///
  /// `freedClass`, of an object that was used after it was freed, stands in the title alone: not every crash of a group tells it.
  static func group(
    of thread: CrashReport.CrashedThread, kind: String, process: String, images: [CrashReport.Image] = [],
    message: String = "", freedClass: String? = nil
  ) -> CrashReport.Group {
    let own = thread.frames.filter(\.isOwn)
    let isTopLevel = own.allSatisfy { $0.mangled.isEmpty || isEntryPoint($0.mangled) }
    let error = isTopLevel ? GroupingText.topLevelError(message).map { "error \($0)" } : nil
    let names = (error.map { [$0] } ?? []) + names(thread.frames)
    let place = names.first.map(FunctionName.short) ?? process
    let title = "\(kind) in \(place)" + (freedClass.map { ", use-after-free of \($0)" } ?? "")
    let places = places(thread.frames, images)
    let parts: [String]
    // Where a jump led to data, the first frame has no name in any build.
    let isNameless = own.first?.mangled.isEmpty == true
    let caller = isNameless && own.first == thread.frames.first ? own.dropFirst().first : nil
    if isNameless && caller.map({ $0.mangled.isEmpty || isEntryPoint($0.mangled) }) ?? true {
      // A stripped program: what names there are are those of its system, the same for all programs. Its places tell its
      // crashes apart, though only within one build.
      parts = [process] + names + self.places(own, images)
    } else if significant(own).isEmpty {
      // Nothing of its own is there, perhaps not even a name.
      parts = [process] + names
    } else {
      parts = names
    }
    return CrashReport.Group(
      key: key([kind] + parts), title: error.map { "\($0) at top level of \(process)" } ?? title,
      exact: key([kind] + places), coarse: key([kind] + parts.prefix(1)), version: version)
  }

  private static func key(_ parts: [String]) -> String {
    String(SHA256.hexadecimal(parts.joined(separator: " | ")).prefix(16))
  }

  /// The faulting instruction and the topmost own ones: in a debug build each trap stands in one function of the runtime.
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

  /// Silent deaths have no frames: the program and the way it died make the group.
  static func group(ofSilent death: SilentDeath, process: String, build: String) -> CrashReport.Group {
    let parts = ["silent death", death.title, process]
    return CrashReport.Group(
      key: key(parts), title: "\(death.title): \(process)", exact: key(parts + [build]),
      coarse: key([parts[0], process]), version: version)
  }

  /// The names that make the key: those of own frames, else of whatever has a name.
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
    // main tells nothing beside other names, but is better than nothing.
    return names.isEmpty ? entryPoint.map { [$0] } ?? [] : names
  }

  /// Whether a caller may stand in one build of a program and not in another.
  ///
  /// An optimized closure often ends in its call, and leaves no frame; a function that was merged has the name of another;
  /// `__deallocating_deinit` calls `deinit` or has it inside, as `__allocating_init` does with `init`. The function where
  /// the crash is keeps its name, whatever it is.
  private static func isUncertain(caller frame: CrashReport.Frame, _ name: String) -> Bool {
    name.contains("closure in ") || name.hasSuffix(".__deallocating_deinit") || name.contains(".__allocating_init(")
      || Demangler.isMerged(frame.mangled)
  }

  static func isEntryPoint(_ mangled: String) -> Bool {
    if mangled == "main" || mangled.hasSuffix("_main") { return true }
    if mangled.hasPrefix("async_Main") || mangled.hasPrefix("__swift_async_main") { return true }
    // What swiftc makes of @main, also where it is async, throws, or is specialised.
    return mangled.contains("5$main") && Demangler.simplified(mangled).hasSuffix(".$main()")
  }

  /// The module and the name without what differs between builds.
  static func simplified(_ frame: CrashReport.Frame) -> String {
    let name = withoutGenerics(GroupingText.simplified(frame.function.isEmpty ? frame.mangled : frame.function))
    return Demangler.module(of: frame.mangled).map { "\($0).\(name)" } ?? name
  }

  /// Without what stands between angle brackets that belong together; in one pass, since the name may come from a file
  /// of a stranger.
  ///
  /// A bracket opens generics where it follows a name; elsewhere it is part of an operator's name, such as `<^>`.
  static func withoutGenerics(_ name: String) -> String {
    var kept: [UInt8] = []
    var openings: [Int] = []
    for byte in name.utf8 {
      // The arrow of a type inside the brackets closes nothing.
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
