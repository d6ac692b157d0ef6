import CrashReport
import CrashSymbols

/// Which crashes belong together: the class of the crash and its three topmost own functions by simplified names.
///
/// No line, no address, no build id and no reason text go in, but for stripped programs, which have nothing else. So debug
/// and release builds, and the builds of next week, give the same key (measured: four builds of two crashes; top 3
/// without reason 7 of 8 equal, top 5 with it 4).
///
/// Two more keys stand beside it: a coarse one of the class and the topmost name alone, for stacks that were cut short,
/// and an exact one of builds and places in them, which only crashes of one build share.
enum Grouping {
  static let frameCount = 3

  static func group(
    of thread: CrashReport.CrashedThread, kind: String, process: String, images: [CrashReport.Image] = []
  ) -> CrashReport.Group {
    let own = thread.frames.filter(\.isOwn)
    let names = names(thread.frames)
    let title = names.first.map { "\(kind) in \($0)" } ?? "\(kind) in \(process)"
    let places = places(thread.frames, images)
    let parts: [String]
    if own.first?.mangled.isEmpty == true {
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
      key: key([kind] + parts), title: title, exact: key([kind] + places), coarse: key([kind] + parts.prefix(1)))
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
      coarse: key([parts[0], process]))
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
      } else if names.last != name {
        names.append(name)
      }
      if names.count == frameCount { break }
    }
    // main tells nothing beside other names, but is better than nothing.
    return names.isEmpty ? entryPoint.map { [$0] } ?? [] : names
  }

  static func isEntryPoint(_ mangled: String) -> Bool {
    let stem = GroupingText.stem(mangled)
    return mangled == "main" || mangled.hasSuffix("_main") || mangled.hasPrefix("async_Main")
      || stem.hasSuffix("5$mainyyFZ")
      || stem.hasSuffix("5$mainyyYaFZ") || mangled.hasPrefix("__swift_async_main")
  }

  /// The module and the name without what differs between builds.
  static func simplified(_ frame: CrashReport.Frame) -> String {
    let name = withoutGenerics(GroupingText.simplified(frame.function.isEmpty ? frame.mangled : frame.function))
    return Demangler.module(of: frame.mangled).map { "\($0).\(name)" } ?? name
  }

  /// Without what stands between angle brackets that belong together; in one pass, since the name may come from a file
  /// of a stranger.
  static func withoutGenerics(_ name: String) -> String {
    var kept: [UInt8] = []
    var openings: [Int] = []
    for byte in name.utf8 {
      if byte == UInt8(ascii: ">"), let opening = openings.popLast() {
        kept.removeSubrange(opening...)
        continue
      }
      if byte == UInt8(ascii: "<") { openings.append(kept.count) }
      kept.append(byte)
    }
    return String(decoding: kept, as: UTF8.self)
  }
}
