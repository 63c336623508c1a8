//! The exponentially scaled modified Bessel function of order 1, `e^-|x| I1(x)`: up to |x| = 8, a Chebyshev series of
//! the function divided by x; beyond that, a series of the function times the square root of x. The coefficients come
//! from the function at 64 Chebyshev nodes, computed with 40 digits.

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Le};
use crate::scalar::ScalarOp::{Abs, Sqrt};

/// Coefficients in `x / 4 - 1`.
const SMALL: [f64; 28] = [
    0.126_293_593_221_816_82,
    -0.176_416_518_357_834_06,
    0.102_643_658_689_847_1,
    -0.052_945_981_208_094_99,
    0.024_726_449_030_626_516,
    -0.010_564_084_894_626_197,
    0.004_156_422_944_312_888,
    -0.001_513_572_450_631_253_2,
    0.000_512_285_956_168_575_8,
    -0.000_161_760_815_825_896_74,
    4.781_565_107_550_054e-5,
    -1.327_316_365_603_943_6e-5,
    3.470_251_308_137_678_5e-6,
    -8.568_720_264_695_455e-7,
    2.003_294_753_552_135_3e-7,
    -4.445_059_128_796_328e-8,
    9.381_537_386_495_773e-9,
    -1.887_249_751_722_829_4e-9,
    3.625_590_281_552_117e-10,
    -6.663_489_723_502_027e-11,
    1.173_618_629_889_090_1e-11,
    -1.983_974_397_764_943_6e-12,
    3.223_793_365_945_575e-13,
    -5.042_185_504_727_912e-14,
    7.600_684_294_735_408e-15,
    -1.105_596_947_735_386_2e-15,
    1.553_631_957_736_200_5e-16,
    -2.111_421_214_358_166e-17,
];

/// Coefficients in `16 / x - 1`.
const LARGE: [f64; 25] = [
    0.389_288_117_509_140_05,
    -0.009_761_097_491_361_469,
    -0.000_110_588_938_762_623_71,
    -3.882_564_808_877_691e-6,
    -2.512_236_237_870_209e-7,
    -2.631_468_846_889_519_6e-8,
    -3.835_380_385_964_237e-9,
    -5.589_743_462_196_584e-10,
    -1.897_495_812_350_541_3e-11,
    3.252_603_583_015_488_4e-11,
    1.412_580_743_661_378_2e-11,
    2.035_628_544_147_089_6e-12,
    -7.198_551_776_245_908e-13,
    -4.083_551_111_092_197_4e-13,
    -2.101_541_842_772_664_3e-14,
    4.272_440_016_711_951e-14,
    1.042_027_698_412_880_2e-14,
    -3.814_403_072_437_007_5e-15,
    -1.880_354_775_510_782_5e-15,
    3.308_202_310_920_928_5e-16,
    2.962_628_997_645_95e-16,
    -3.209_525_921_993_424e-17,
    -4.650_305_368_489_358_6e-17,
    4.414_348_323_071_708e-18,
    7.517_296_310_842_105e-18,
];

impl Formula {
    /// Evaluates the Chebyshev series with these coefficients at `x`, by Clenshaw's recurrence.
    fn chebyshev(&mut self, x: Arg, coefficients: &[f64]) -> Arg {
        let twice = self.add(x, x);
        let (mut last, mut before) = (self.c(0.0), self.c(0.0));
        for &coefficient in coefficients[1..].iter().rev() {
            let c = self.c(coefficient);
            let difference = self.sub(c, before);
            (before, last) = (last, self.mul_add(twice, last, difference));
        }
        let c = self.c(coefficients[0]);
        let difference = self.sub(c, before);
        self.mul_add(x, last, difference)
    }

    /// Builds `e^-|x| I1(x)`.
    pub(crate) fn bessel_i1e(&mut self, x: Arg) -> Arg {
        let (one, four, eight, sixteen) = (self.c(1.0), self.c(4.0), self.c(8.0), self.c(16.0));
        let magnitude = self.op(Abs, &[x]);
        let near = self.div(magnitude, four);
        let near = self.sub(near, one);
        let near = self.chebyshev(near, &SMALL);
        let near = self.mul(near, x);
        let far = self.div(sixteen, magnitude);
        let far = self.sub(far, one);
        let far = self.chebyshev(far, &LARGE);
        let root = self.op(Sqrt, &[magnitude]);
        let far = self.div(far, root);
        let far = self.signed_like(far, x);
        let (infinity, zero) = (self.c(f64::INFINITY), self.c(0.0));
        let far = self.choose(Eq, magnitude, infinity, zero, far);
        self.choose(Le, magnitude, eight, near, far)
    }
}
