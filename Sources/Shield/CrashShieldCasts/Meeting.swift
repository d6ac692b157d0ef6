// What CShimCasts asks about a forced cast that has failed. The types are the runtime's metadata, which is what a metatype of
// unknown type is made of: Liveness.swift looks whether it still is before anything is given.
internal import CShimCasts
internal import CrashShieldGuards

/// Whether there is a value to go on with, which then is at the target.
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

/// Destroys a source in whose place a value was given.
@_cdecl("cs_casts_destroy")
func destroy(_ source: UnsafeMutableRawPointer, _ sourceType: UnsafeRawPointer) {
  func destroy<Source>(_: Source.Type) {
    // The caller has left it to the cast, which has not touched it.
    unsafe source.assumingMemoryBound(to: Source.self).deinitialize(count: 1)
  }
  destroy(unsafe type(sourceType))
}

private func type(_ metadata: UnsafeRawPointer) -> Any.Type { unsafe unsafeBitCast(metadata, to: Any.Type.self) }

private func copy<Source>(of source: UnsafeMutableRawPointer, _: Source.Type) -> Any {
  // The caller's value, which nobody else writes during the cast.
  unsafe source.assumingMemoryBound(to: Source.self).pointee
}

private func give<Target>(_: Target.Type, for value: Any?, at target: UnsafeMutableRawPointer, _ pc: UInt) -> Bool {
  let isNull = Casts.isNull(value)
  // Asked once: what stands for no value may be a function of the program's.
  lazy var given: Target? = Given.value(for: isNull ? nil : value)
  let isAbsorbed = ImplicitGuards.handleFault(
    isNull ? .null : .cast, at: .pc(pc), hasValue: given != nil, unless: { Liveness.unavailable }
  ) { Casts.reason(value, Target.self) }
  guard isAbsorbed, let given else { return false }
  // Room for a value of this type, which the cast was to make.
  unsafe target.initializeMemory(as: Target.self, to: given)
  return true
}
