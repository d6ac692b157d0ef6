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
    // Both arrays have room for 64 frames, which is the limit that is passed. The counts are written before the call
    // returns.
    unsafe cs_test_unwind_both(&shim, &shimCount, &glibc, &glibcCount, 64)
    #expect(shimCount > 4)
    // The shim's frame 0 is the callback itself.
    #expect(Array(shim[1..<shimCount]) == Array(glibc[..<glibcCount]))
  }

  @Test("the unwinder accepts an image with valid call frame information")
  func good() {
    #expect(cs_test_good_frame_information())
  }

  @Test("the unwinder reads only inside of hostile call frame information, and always ends")
  func hostile() {
    var tried: UInt32 = 0
    // The count is written before the call returns.
    let accepted = unsafe cs_test_hostile_frame_information(&tried)
    #expect(tried > 20_000)
    #expect(accepted < tried)
  }
}
