// Functions that CShimCasts calls for a failed forced cast. The functions create metatypes from the runtime's metadata.
// Before any fallback value is stored, Liveness.swift checks that the runtime's metadata has the expected layout.
internal import CShimCasts
internal import CrashShieldGuards

/// Stores the fallback value at `target`, the memory for the result of the cast; returns false if there is none.
@_cdecl("cs_casts_meet")
func meet(
  _ target: UnsafeMutableRawPointer, _ source: UnsafeMutableRawPointer, _ sourceType: UnsafeRawPointer,
  _ targetType: UnsafeRawPointer, _ pc: UInt64
) -> Bool {
  if !Liveness.isTested, Liveness.unavailable != nil { return false }
  // Invariant: both pointers come from the runtime: the metadata of a type, and a value of this type.
  let value = unsafe Casts.unwrapped(copy(of: source, type(sourceType)))
  return unsafe give(type(targetType), for: value, at: target, UInt(pc))
}

/// Destroys the source of a cast that returned a fallback value.
@_cdecl("cs_casts_destroy")
func destroy(_ source: UnsafeMutableRawPointer, _ sourceType: UnsafeRawPointer) {
  func destroy<Source>(_: Source.Type) {
    // Invariant: the caller passed ownership of the value to the cast, which has not consumed it.
    unsafe source.assumingMemoryBound(to: Source.self).deinitialize(count: 1)
  }
  destroy(unsafe type(sourceType))
}

private func type(_ metadata: UnsafeRawPointer) -> Any.Type { unsafe unsafeBitCast(metadata, to: Any.Type.self) }

private func copy<Source>(of source: UnsafeMutableRawPointer, _: Source.Type) -> Any {
  // Invariant: the value belongs to the caller, and no other thread writes it during the cast.
  unsafe source.assumingMemoryBound(to: Source.self).pointee
}

private func give<Target>(_: Target.Type, for value: Any?, at target: UnsafeMutableRawPointer, _ pc: UInt) -> Bool {
  let isNull = Casts.isNull(value)
  // Evaluated at most once, because a fallback value can come from a function of the program.
  lazy var given: Target? = Given.value(for: isNull ? nil : value)
  let isAbsorbed = ImplicitGuards.handleFault(
    isNull ? .null : .cast, at: .pc(pc), hasValue: given != nil, unless: { Liveness.unavailable }
  ) { Casts.reason(value, Target.self) }
  guard isAbsorbed, let given else { return false }
  // Invariant: the memory is uninitialized and large enough, because the caller expects the cast to initialize it with
  // a value of this type.
  unsafe target.initializeMemory(as: Target.self, to: given)
  return true
}
