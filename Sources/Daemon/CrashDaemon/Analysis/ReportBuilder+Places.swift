import CrashReport
import CrashRing
import CrashSymbols

// Selects the addresses in a crashed thread's stack for which crash-analyse reads variables, classes or code in
// addition to names and lines.
extension ReportBuilder {
  /// An address in a function whose variables or code can show the type of an object.
  ///
  /// The type is the type of a variable of the function, or a class to which the function's code refers.
  struct Place {
    var image: RingContents.Image
    var linkAddress: UInt64
    /// Whether this is the faulting address.
    ///
    /// Only for the faulting address, the record contains all registers. They show the values of variables that are in
    /// registers. Together with the code before the address, they also show from where a register was loaded.
    var hasScope: Bool
  }

  /// The addresses for which crashd requests variables, classes or code: the address where the first crashed thread
  /// dereferenced a null pointer or used a block that is not the expected object.
  ///
  /// If the thread used such a block, the result also contains the addresses of callers in Swift code. The callers are
  /// needed because the fault itself can be in the runtime, or in code that refers to no class.
  var placesToDescribe: [Place] {
    guard let record = latestFirst.first, let frame = record.frames.first, frame.isExact else { return [] }
    let facts = thread(record).facts
    let needsClasses = facts.objectInQuestion != nil
    let needsCode = facts.mayBeFieldOfFreed
    guard needsClasses || needsCode || facts.isNullAccess else { return [] }
    var places: [Place] = []
    for (number, frame) in record.frames.prefix(needsClasses ? Self.frameLimit : 1).enumerated() where !frame.isAsync {
      // A stack scan found this frame. Stop at this frame, because it is uncertain that this frame and the frames after
      // it are callers.
      guard frame.trust != .scan else { break }
      guard let image = contents.images.first(where: { $0.index == frame.image }), !image.buildID.isEmpty,
        // Skip the libraries of the Swift runtime, whose internal types are not classes of the program.
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

  /// Whether crashd needs the classes to which the code of functions refers, because no variable shows the expected
  /// class.
  var needsNamedClasses: Bool {
    guard let record = latestFirst.first else { return false }
    let facts = thread(record).facts
    return facts.objectInQuestion != nil && facts.expectedClasses.isEmpty
  }

  /// The maximum number of frames that are examined, and the maximum number of addresses that are described.
  private static var frameLimit: Int { 8 }
  private static var placeLimit: Int { 3 }
}
