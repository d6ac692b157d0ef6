import Testing

@testable import DanglingStatistics

@Suite("Gamma")
struct GammaTests {
  /// The expected values were computed with scipy 1.17 (`gammaincc`, `gamma.ppf`, `gammaln`).
  @Test(
    "the upper tail of the gamma distribution equals scipy's gammaincc",
    arguments: [
      (0.5, 0.3, 0.4385780260809997), (1, 2, 0.1353352832366127), (50, 40, 0.9296649333406051),
      (50, 60, 0.08440668109369177), (500, 480, 0.8137180268096754), (5_000, 5_100, 0.07932888107761896),
      (20_000, 20_100, 0.23938329443858233),
    ])
  func upperTail(shape: Double, x: Double, expected: Double) {
    #expect(abs(Gamma.upperTail(shape: shape, at: x) - expected) < (shape > 10_000 ? 1e-6 : 1e-12))
  }

  @Test(
    "the gamma quantile equals scipy's",
    arguments: [
      (0.025, 0.5, 0.0004910345855876278), (0.975, 0.5, 2.511943093657444), (0.025, 10.5, 5.141448891261431),
      (0.975, 10.5, 17.739437952863632), (0.975, 1, 3.6888794541139354), (0.5, 1e5, 99999.6666668642),
    ])
  func quantile(probability: Double, shape: Double, expected: Double) {
    #expect(abs(Gamma.quantile(probability, shape: shape) / expected - 1) < 1e-7)
  }

  @Test(
    "the logarithm of the gamma function equals scipy's",
    arguments: [
      (0.05, 2.968879201051731), (0.5, 0.5723649429247), (3, 0.6931471805599453), (10.5, 13.940625219403763),
      (171.3, 708.1149470389971), (50_000, 490984.42327157187),
    ])
  func logGamma(x: Double, expected: Double) {
    #expect(abs(Gamma.logGamma(x) / expected - 1) < 1e-12)
  }

  @Test("gamma functions return their limits for arguments out of range")
  func limits() {
    #expect(Gamma.upperTail(shape: 5, at: 0) == 1)
    #expect(Gamma.upperTail(shape: 5, at: .infinity) == 0)
    #expect(Gamma.upperTail(shape: .infinity, at: 5) == 1)
    #expect(Gamma.upperTail(shape: 0, at: 5) == 0)
    #expect(Gamma.upperTail(shape: .nan, at: 5) == 0)
    #expect(Gamma.quantile(0, shape: 1) == 0)
    #expect(Gamma.quantile(1, shape: 1) == .infinity)
    #expect(Gamma.quantile(.nan, shape: 1) == 0)
  }
}
