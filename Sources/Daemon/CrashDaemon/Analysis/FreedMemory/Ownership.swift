import CrashReport
import CrashSymbols

/// Decides which frames are in-app.
///
/// Reports show in-app frames first, and the keys of crash groups consist of the names of in-app frames.
///
/// The decision depends on the file and the function, but not on the line number. The reason is that swiftc assigns
/// line 0 to merged calls, to the failing branch of `T!` and to the resume address of an async function.
///
/// Functions of the following kinds are not in-app:
/// - Functions of system libraries, of the Swift runtime, and of the runtime's modules, even if they are statically
///   linked.
/// - Compiler-generated code (thunks, accessors), and inline functions from headers of the system and of compilers.
/// - The code of this package, and the code of packages on which the program depends. SwiftPM stores the sources of
///   packages in `…/checkouts/…`.
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
    // In a program with @main, swiftc generates the function `main` without line information. In a program with
    // top-level code, `main` is the program's code and has line information.
    if mangled == "main", line == nil, file.hasSuffix(".swift") { return false }
    return KnownNames.shared.isOwn(file: file)
  }

  /// The origin of a function, according to its linkage name.
  enum Origin: Sendable {
    /// The function belongs to a runtime or to the compiler.
    case runtime
    /// The function has a name like the functions in Foundation's C parts; the function belongs to Foundation if it has
    /// no debug information.
    case foundation
    /// The function is treated as compiler-generated, unless the debug information has a line for it.
    ///
    /// For example, `__allocating_init` is a thunk for a designated initializer, but contains the code of a convenience
    /// initializer.
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

  /// Whether the name belongs to `__allocating_init`, a metadata accessor, a lazy cache, a value witness or a partial
  /// application of a method.
  private static func isGenerated(_ mangled: String) -> Bool {
    guard mangled.hasPrefix("$s") || mangled.hasPrefix("$S") else { return false }
    let stem = mangled.prefix { $0 != "." }
    return generatedEndings.contains(where: stem.hasSuffix) || isMethodReference(stem)
      || stem.hasSuffix("fC") && Demangler.full(String(stem)).contains("__allocating_init")
  }

  /// Whether the name belongs to the inner one of two nested implicit closures.
  ///
  /// swiftc emits these closures for a method reference that is passed as an argument, such as `shop.respond`. The
  /// parts of an async closure have names of this form, too. If the program has a closure of its own inside this
  /// closure, the name of the program's closure ends differently.
  private static func isMethodReference(_ stem: Substring) -> Bool {
    stem.contains("fu") && stem.firstMatch(of: #/fu\d*_.*fu\d*_(T[A-Z]\d*_?)*$/#) != nil
  }

  /// Whether swiftc emitted the function for `@main`, including the parts of an async `main`.
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
    // The following prefixes belong to static libraries: libdispatch and its block runtime, the C entry points of the
    // Swift runtime, and the demangler.
    "__dispatch_", "___dispatch_", "__DISPATCH_", "_os_object_", "os_object_", "_Block_", "__swift_", "_ZN7__swift",
    "_ZNK7__swift", "block_copy_helper", "block_destroy_helper", "__copy_helper_block_", "__destroy_helper_block_",
    // The name of this function contains no module, because swiftc emits the function itself.
    "objectdestroy",
  ]
  /// The prefixes of the functions in Foundation's C parts.
  ///
  /// Statically linked Foundation functions have no debug information. Functions of the program that have one of these
  /// prefixes usually have debug information.
  private static let foundation = [
    "CF", "_CF", "__CF", "___CF", "____CF", "_ZN6icu_", "_ZNK6icu_", "_ZNO6icu_", "_ZNKR6icu_",
  ]
  private static let plumbingNames: Set<String> = [
    "_start", "start_thread", "clone", "clone3", "__clone", "__stack_chk_fail", "__asan_report_error",
  ]

  /// Whether the function belongs to a runtime in C or C++.
  ///
  /// A statically linked runtime is in the program's image, so the image does not show that the function belongs to a
  /// runtime.
  static func isPlumbing(_ mangled: String) -> Bool {
    plumbingNames.contains(mangled) || plumbing.contains { mangled.hasPrefix($0) } || isSwiftsCxx(mangled)
  }

  /// Whether the function is C++ code with types of the Swift runtime.
  ///
  /// An example is the file-local function `completeTaskWithClosure(swift::AsyncContext*, swift::SwiftError*)`. Some of
  /// these functions are in an unnamed namespace. C++ code of the program that is called through a bridging header has
  /// no types in namespace `swift`.
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

  /// Whether the function is Swift code of the toolchain or of this package.
  static func isRuntime(_ mangled: String) -> Bool {
    guard mangled.hasPrefix("$s") || mangled.hasPrefix("$S") else { return false }
    // A mangled name that starts with `$ss` is a name in the module Swift. A mangled name that starts with `$sS` is a
    // name in a type of this module that the mangling abbreviates (Sa Array, Si Int, SS String, Sq Optional).
    if mangled.hasPrefix("$ss") || mangled.hasPrefix("$sS") { return isExtensionOfOthers(mangled) == false }
    return Demangler.module(of: mangled).map(runtimeModules.contains) ?? false
  }

  /// Whether another module declares the function, in an extension of a standard library type.
  ///
  /// In the mangled name of such a function, the context consists of the type, the module of the extension and `E`.
  private static func isExtensionOfOthers(_ mangled: String) -> Bool {
    Demangler.module(of: mangled).map { !runtimeModules.contains($0) } ?? false
  }

  /// Whether a file belongs to the program.
  ///
  /// Files that do not belong to the program are compiler-generated, headers of the system, or files of dependencies or
  /// of this package.
  static func isOwn(file: String) -> Bool {
    !isGenerated(file: file) && !isDependency(file: file) && !isSystem(file: file) && !isShield(file: file)
  }

  private static func isGenerated(file: String) -> Bool { file.isEmpty || file.contains("<compiler-generated>") }

  /// Whether the file is in the directory where SwiftPM and Xcode keep the sources of dependencies.
  static func isDependency(file: String) -> Bool { file.contains("/checkouts/") }

  /// Whether the file is a header of the system or of a compiler.
  ///
  /// The functions of these headers are inlined into the program's functions.
  ///
  /// A compiler can write the path of a header with `..`:
  /// `/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/optional`.
  private static func isSystem(file: String) -> Bool {
    systemHeaderDirectories.contains(where: file.hasPrefix) || systemHeaderParts.contains(where: file.contains)
  }

  private static let systemHeaderDirectories = [
    "/usr/include/", "/usr/local/include/", "/usr/lib/gcc/", "/usr/lib/gcc-cross/", "/usr/lib/llvm-", "/usr/lib/clang/",
  ]
  private static let systemHeaderParts = [
    "/include/c++/", "/lib/gcc/", "/lib/clang/", "/usr/lib/swift/", "/usr/lib/swift_static/",
  ]

  /// Whether the file is code of this package that runs in the host process.
  ///
  /// The stack of a deferred deinit contains frames of this code, because the shield runs the deinit.
  private static func isShield(file: String) -> Bool { shieldDirectories.contains(where: file.contains) }

  private static let shieldDirectories = [
    "/CShim/Handler/", "/CShim/Quarantine/", "/CShim/GuardPages/", "/CShim/ExecutorChecks/",
    "/CShim/Casts/", "/CShim/Preload/", "/CShim/Ring/",
  ]
}
