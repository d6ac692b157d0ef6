import CTestKit
import Testing

@Suite("The unwinder")
struct UnwindTests {
  @Test("the unwinder finds the frames of glibc's backtrace(), through a callback of qsort")
  func glibc() {
    var shim = [UInt64](repeating: 0, count: 64)
    var glibc = [UInt64](repeating: 0, count: 64)
    var shimCount = 0
    var glibcCount = 0
    // Invariant: both arrays have room for 64 frames, which is the limit that is passed. The call writes the counts
    // before it returns.
    unsafe cs_test_unwind_both(&shim, &shimCount, &glibc, &glibcCount, 64)
    #expect(shimCount > 4)
    // Frame 0 of the shield's unwinder is the callback, which is not in the list of glibc.
    #expect(Array(shim[1..<shimCount]) == Array(glibc[..<glibcCount]))
  }

  @Test("the unwinder accepts an image with valid call frame information")
  func good() {
    #expect(cs_test_good_frame_information())
  }

  @Test("the unwinder reads only inside of hostile call frame information, and always ends")
  func hostile() {
    var tried: UInt32 = 0
    // Invariant: the call writes the count before it returns.
    let accepted = unsafe cs_test_hostile_frame_information(&tried)
    #expect(tried > 20_000)
    #expect(accepted < tried)
  }
}
