import CrashReport
import CrashRing
import CrashSymbols

// What is asked of images about a crash, beyond names and lines.
extension ReportBuilder {
  /// A place whose variables, or whose function's classes, can tell what a pointer was to.
  struct Place {
    var image: RingContents.Image
    var linkAddress: UInt64
    /// It is that of the fault, where the record's registers tell what variables hold: debug information may know these, or the
    /// code in front of it tells where a register was loaded from.
    var hasScope: Bool
  }

  /// Where the first crashed thread used a null pointer, or a block without the object that was expected there; for that
  /// also the functions that called it, as far as Swift's runtime and code without a class need them.
  var placesToDescribe: [Place] {
    guard let record = latestFirst.first, let frame = record.frames.first, frame.isExact else { return [] }
    let facts = thread(record).facts
    let needsClasses = facts.objectInQuestion != nil
    let needsCode = facts.mayBeFieldOfFreed
    guard needsClasses || needsCode || facts.isNullAccess else { return [] }
    var places: [Place] = []
    for (number, frame) in record.frames.prefix(needsClasses ? Self.frameLimit : 1).enumerated() where !frame.isAsync {
      // What lies on the stack and looks like a caller may be none.
      guard frame.trust != .scan else { break }
      guard let image = contents.images.first(where: { $0.index == frame.image }), !image.buildID.isEmpty,
        // What the runtime itself is built of says nothing of the program's classes.
        number == 0 || image.path.split(separator: "/").last?.hasPrefix("libswift") != true
      else { continue }
      let address = frame.linkAddress(in: image)
      let lines = symbols.frames(buildID: image.buildID, linkAddress: address)
      let hasScope = number == 0 && (needsCode || lines.contains { $0.line != nil })
      let isSwift = lines.contains { $0.mangled.hasPrefix("$s") || $0.mangled == "main" }
      guard hasScope || needsClasses && isSwift else { continue }
      places.append(Place(image: image, linkAddress: address, hasScope: hasScope))
      if places.count == Self.placeLimit { break }
    }
    return places
  }

  /// Whether the classes that functions name would tell more: not where a variable has said what is expected.
  var needsNamedClasses: Bool {
    guard let record = latestFirst.first else { return false }
    let facts = thread(record).facts
    return facts.objectInQuestion != nil && facts.expectedClasses.isEmpty
  }

  /// More frames are not searched for places, and more places not described.
  private static var frameLimit: Int { 8 }
  private static var placeLimit: Int { 3 }
}
