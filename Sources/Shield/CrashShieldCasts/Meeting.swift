// The functions that CShimCasts calls for a failed forced cast. They make metatypes from the runtime's metadata;
// Liveness.swift checks that layout before any fallback value is stored.
internal import CShimCasts
internal import CrashShieldGuards

/// Whether there is a fallback value, which then is stored at the target.
@_cdecl("cs_casts_meet")
func meet(
  _ target: UnsafeMutableRawPointer, _ source: UnsafeMutableRawPointer, _ sourceType: UnsafeRawPointer,
  _ targetType: UnsafeRawPointer, _ pc: UInt64
) -> Bool {
  if !Liveness.isTested, Liveness.unavailable != nil { return false }
  // The runtime's metadata, and a value of its type.
  let value = unsafe Casts.unwrapped(copy(of: source, type(sourceType)))
  return unsafe give(type(targetType), for: value, at: target, UInt(pc))
}

/// Destroys the source of a cast that got a fallback value.
@_cdecl("cs_casts_destroy")
func destroy(_ source: UnsafeMutableRawPointer, _ sourceType: UnsafeRawPointer) {
  func destroy<Source>(_: Source.Type) {
    // The caller passed ownership to the cast, which has not touched it.
    unsafe source.assumingMemoryBound(to: Source.self).deinitialize(count: 1)
  }
  destroy(unsafe type(sourceType))
}

private func type(_ metadata: UnsafeRawPointer) -> Any.Type { unsafe unsafeBitCast(metadata, to: Any.Type.self) }

private func copy<Source>(of source: UnsafeMutableRawPointer, _: Source.Type) -> Any {
  // The caller's value, which no other thread writes during the cast.
  unsafe source.assumingMemoryBound(to: Source.self).pointee
}

private func give<Target>(_: Target.Type, for value: Any?, at target: UnsafeMutableRawPointer, _ pc: UInt) -> Bool {
  let isNull = Casts.isNull(value)
  // Evaluated once: a fallback value may come from a function of the program.
  lazy var given: Target? = Given.value(for: isNull ? nil : value)
  let isAbsorbed = ImplicitGuards.handleFault(
    isNull ? .null : .cast, at: .pc(pc), hasValue: given != nil, unless: { Liveness.unavailable }
  ) { Casts.reason(value, Target.self) }
  guard isAbsorbed, let given else { return false }
  // Uninitialized memory for a value of this type, which the cast was to initialize.
  unsafe target.initializeMemory(as: Target.self, to: given)
  return true
}
