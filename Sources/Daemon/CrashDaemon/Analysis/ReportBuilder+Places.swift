import CrashReport
import CrashRing
import CrashSymbols

// Selects the addresses of a crash for which crashd requests more than names and lines from the images.
extension ReportBuilder {
  /// An address whose variables, or whose function's classes, can show to what a pointer referred.
  struct Place {
    var image: RingContents.Image
    var linkAddress: UInt64
    /// Whether this is the faulting address.
    ///
    /// Then debug information may describe variables in the record's registers, or the code before the address may show
    /// the origin of a register.
    var hasScope: Bool
  }

  /// The address where the first crashed thread dereferenced a null pointer or used a block without the expected
  /// object.
  ///
  /// In the second case, the result also has callers in Swift code, because the fault may be in the runtime or in code
  /// that names no class.
  var placesToDescribe: [Place] {
    guard let record = latestFirst.first, let frame = record.frames.first, frame.isExact else { return [] }
    let facts = thread(record).facts
    let needsClasses = facts.objectInQuestion != nil
    let needsCode = facts.mayBeFieldOfFreed
    guard needsClasses || needsCode || facts.isNullAccess else { return [] }
    var places: [Place] = []
    for (number, frame) in record.frames.prefix(needsClasses ? Self.frameLimit : 1).enumerated() where !frame.isAsync {
      // Stop at a frame from a stack scan, because it may not be a caller.
      guard frame.trust != .scan else { break }
      guard let image = contents.images.first(where: { $0.index == frame.image }), !image.buildID.isEmpty,
        // Skip the runtime's libraries, whose internal types are not classes of the program.
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

  /// Whether crashd needs the classes that functions name, because no variable shows the expected class.
  var needsNamedClasses: Bool {
    guard let record = latestFirst.first else { return false }
    let facts = thread(record).facts
    return facts.objectInQuestion != nil && facts.expectedClasses.isEmpty
  }

  /// The limits of frames to search, and of addresses to describe.
  private static var frameLimit: Int { 8 }
  private static var placeLimit: Int { 3 }
}
