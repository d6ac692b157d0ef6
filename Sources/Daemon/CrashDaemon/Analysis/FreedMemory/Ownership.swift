import CrashReport
import CrashSymbols

/// Decides which frames are the program's own code: the ones that its author wants to see first, and that name a group.
///
/// File and function decide, never the line: swiftc gives line 0 to calls that it has merged, to the failing branch of
/// `T!` and to the resume address of an async function.
///
/// Not own are: system and Swift runtime libraries; the standard library and the other runtime modules, also when they
/// are linked statically; plumbing of the runtime; what the compiler made (thunks, accessors, generated code); headers
/// of the system and of compilers; packages that the program depends on, which SwiftPM builds from `…/checkouts/…`;
/// this package's code.
enum Ownership {
  static func isOwn(mangled: String, file: String?, line: Int?, image: String?) -> Bool {
    guard let image, !KnownNames.shared.isSystem(image: image) else { return false }
    if mangled.isEmpty { return true }
    let origin = KnownNames.shared.name(mangled).origin
    switch origin {
    case .runtime: return false
    case .generated where line == nil: return false
    case .foundation, .generated, .other: break
    }
    guard let file else { return origin != .foundation }
    // Of a program with @main it is generated; of one with top-level code it has lines.
    if mangled == "main", line == nil, file.hasSuffix(".swift") { return false }
    return KnownNames.shared.isOwn(file: file)
  }

  /// What a linkage name alone shows of where its function comes from.
  enum Origin: Sendable {
    /// The runtimes, or made by the compiler.
    case runtime
    /// By its name one of Foundation's C parts, if there is no debug information.
    case foundation
    /// Made by the compiler, unless debug information has a line for it: `__allocating_init` of a class is a thunk where
    /// the initializer is a designated one, and has the code of a convenience one.
    case generated
    case other
  }

  static func origin(of mangled: String) -> Origin {
    if isPlumbing(mangled) || isRuntime(mangled) || Demangler.isThunk(mangled) || Demangler.isOutlined(mangled)
      || isMadeOfMain(mangled)
    {
      return .runtime
    }
    if isGenerated(mangled) { return .generated }
    return foundation.contains { mangled.hasPrefix($0) } ? .foundation : .other
  }

  /// `__allocating_init`, metadata accessors, lazy caches, value witnesses, what stands for a method that is passed on.
  private static func isGenerated(_ mangled: String) -> Bool {
    guard mangled.hasPrefix("$s") || mangled.hasPrefix("$S") else { return false }
    let stem = mangled.prefix { $0 != "." }
    return generatedEndings.contains(where: stem.hasSuffix) || isMethodReference(stem)
      || stem.hasSuffix("fC") && Demangler.full(String(stem)).contains("__allocating_init")
  }

  /// An implicit closure in an implicit closure: what swiftc makes of `shop.respond` as an argument.
  ///
  /// Also its parts where it is async. The name of a closure of the program's in one of them ends otherwise.
  private static func isMethodReference(_ stem: Substring) -> Bool {
    stem.contains("fu") && stem.firstMatch(of: #/fu\d*_.*fu\d*_(T[A-Z]\d*_?)*$/#) != nil
  }

  /// What swiftc makes of `@main`, also its parts where it is async.
  private static func isMadeOfMain(_ mangled: String) -> Bool {
    (mangled.hasPrefix("$s") || mangled.hasPrefix("$S")) && mangled.contains("5$mainyy")
  }

  private static let generatedEndings = ["Ma", "Mr", "Mi", "Wl", "WL", "wst", "wug", "wup", "wui", "wxx", "wcp"]

  private static let systemDirectories = ["/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "/usr/libexec/"]
  private static let runtimeLibraries = [
    "libswift", "lib_Foundation", "libFoundation", "libdispatch.", "libBlocksRuntime.", "lib_Internationalization",
    "libXCTest.", "libTesting.", "lib_Testing", "libstdc++.", "libgcc_s.", "libc.", "libm.", "libpthread.", "ld-linux",
    "libc++.", "libcrashshield.",
  ]

  static func isSystem(image: String) -> Bool {
    if image.hasPrefix("[") || systemDirectories.contains(where: image.hasPrefix) { return true }
    let name = image.split(separator: "/").last ?? ""
    return name.contains(".so") && runtimeLibraries.contains { name.hasPrefix($0) }
  }

  private static let plumbing = [
    "swift_", "_swift_", "swift::", "_dispatch_", "dispatch_", "_ZN5swift", "_ZNK5swift", "_ZSt", "_ZNSt", "_ZNKSt",
    "_ZNRSt", "_ZNKRSt", "_ZNOSt", "_ZNKOSt", "_ZNVSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "__cxa_", "__gxx_",
    "_Unwind_", "__clang_call_terminate", "__libc_", "__restore_rt",
    "cs_handler_", "cs_shim_",
    // Of the static libraries: libdispatch and its block runtime, the Swift runtime's C entry points, the demangler.
    "__dispatch_", "___dispatch_", "__DISPATCH_", "_os_object_", "os_object_", "_Block_", "__swift_", "_ZN7__swift",
    "_ZNK7__swift", "block_copy_helper", "block_destroy_helper", "__copy_helper_block_", "__destroy_helper_block_",
    // Made by swiftc, and named without a module.
    "objectdestroy",
  ]
  /// Foundation's C parts; linked statically they come without debug information, other than a program's own `CF…`.
  private static let foundation = [
    "CF", "_CF", "__CF", "___CF", "____CF", "_ZN6icu_", "_ZNK6icu_", "_ZNO6icu_", "_ZNKR6icu_",
  ]
  private static let plumbingNames: Set<String> = [
    "_start", "start_thread", "clone", "clone3", "__clone", "__stack_chk_fail", "__asan_report_error",
  ]

  /// Functions in C and C++ of the runtimes; linked statically they are in the program's own image.
  static func isPlumbing(_ mangled: String) -> Bool {
    plumbingNames.contains(mangled) || plumbing.contains { mangled.hasPrefix($0) } || isSwiftsCxx(mangled)
  }

  /// C++ that speaks of the Swift runtime's types: `completeTaskWithClosure(swift::AsyncContext*, swift::SwiftError*)`
  /// and others that are local to a file or in an unnamed namespace.
  ///
  /// C++ of the program that is called through a bridging header has no type of namespace `swift`.
  private static func isSwiftsCxx(_ mangled: String) -> Bool {
    guard mangled.hasPrefix("_Z") else { return false }
    return mangled.contains("N5swift")
  }

  private static let runtimeModules: Set<String> = [
    "Swift", "_Concurrency", "_StringProcessing", "_RegexParser", "Synchronization", "Distributed", "Dispatch",
    "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking", "Glibc",
    "SwiftGlibc", "Observation", "Runtime", "Testing", "XCTest", "CrashShield", "CrashShieldGuards", "__C",
    "__C_Synthesized",
  ]

  /// Swift code that comes with the toolchain, or with us.
  static func isRuntime(_ mangled: String) -> Bool {
    guard mangled.hasPrefix("$s") || mangled.hasPrefix("$S") else { return false }
    // `$ss…` is module Swift; `$sS…` is one of its types by its short code (Sa Array, Si Int, SS String, Sq Optional).
    if mangled.hasPrefix("$ss") || mangled.hasPrefix("$sS") { return isExtensionOfOthers(mangled) == false }
    return Demangler.module(of: mangled).map(runtimeModules.contains) ?? false
  }

  /// An extension of a standard library type is mangled as that type, then the module of the extension and `E`.
  private static func isExtensionOfOthers(_ mangled: String) -> Bool {
    Demangler.module(of: mangled).map { !runtimeModules.contains($0) } ?? false
  }

  /// Neither made by the compiler, nor a system's header, nor a dependency's.
  static func isOwn(file: String) -> Bool {
    !isGenerated(file: file) && !isDependency(file: file) && !isSystem(file: file) && !isShield(file: file)
  }

  private static func isGenerated(file: String) -> Bool { file.isEmpty || file.contains("<compiler-generated>") }

  /// SwiftPM's and Xcode's place for the sources of dependencies.
  static func isDependency(file: String) -> Bool { file.contains("/checkouts/") }

  /// Headers of the system and of compilers, whose functions are inlined into the program's.
  ///
  /// A compiler may write the way to one with `..`: `/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/optional`.
  private static func isSystem(file: String) -> Bool {
    systemHeaderDirectories.contains(where: file.hasPrefix) || systemHeaderParts.contains(where: file.contains)
  }

  private static let systemHeaderDirectories = [
    "/usr/include/", "/usr/local/include/", "/usr/lib/gcc/", "/usr/lib/gcc-cross/", "/usr/lib/llvm-", "/usr/lib/clang/",
  ]
  private static let systemHeaderParts = [
    "/include/c++/", "/lib/gcc/", "/lib/clang/", "/usr/lib/swift/", "/usr/lib/swift_static/",
  ]

  /// This package's code in the host process: its functions stand in the stacks of a deinit that was deferred.
  private static func isShield(file: String) -> Bool { shieldDirectories.contains(where: file.contains) }

  private static let shieldDirectories = [
    "/CShim/Handler/", "/CShim/Quarantine/", "/CShim/GuardPages/", "/CShim/Guards/", "/CShim/ExecutorChecks/",
    "/CShim/ExecutorChecks/", "/CShim/Casts/", "/CShim/Preload/", "/CShim/Ring/",
  ]
}
