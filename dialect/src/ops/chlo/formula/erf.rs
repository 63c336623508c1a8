//! The error function as a formula: a polynomial in x² near 0; elsewhere e^(-x²) times a polynomial in 1/x², or in f64
//! times a quotient of polynomials. Coefficients: the Cephes mathematical library (S. Moshier), `ndtrf` and `ndtr`.

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Ge, Lt};
use crate::scalar::ScalarOp;

/// erf x / x in x², |x| < 1, f32.
const NEAR: [f64; 7] = [
    7.853_861_353_153_693e-5,
    -8.010_193_625_184_903e-4,
    5.188_327_685_732_524e-3,
    -2.685_381_193_529_856e-2,
    1.128_358_514_861_418e-1,
    -3.761_262_582_423_3e-1,
    1.128_379_165_726_71,
];
/// x e^(x²) erfc x in 1/x², 1 <= x < 2, f32.
const MIDDLE: [f64; 9] = [
    2.326_819_970_068_386e-2,
    -1.387_039_388_740_657e-1,
    3.687_424_674_597_105e-1,
    -5.824_733_027_278_666e-1,
    6.210_004_621_745_983e-1,
    -4.944_515_323_274_145e-1,
    3.404_879_937_665_872e-1,
    -2.741_127_028_184_656e-1,
    5.638_259_427_386_472e-1,
];
/// x e^(x²) erfc x in 1/x², 2 <= x, f32.
const FAR: [f64; 8] = [
    -1.047_766_399_936_249e1,
    1.297_719_955_372_516e1,
    -7.495_518_717_768_503,
    2.921_019_019_210_786,
    -1.015_265_279_202_7,
    4.218_463_358_204_948e-1,
    -2.820_767_439_740_514e-1,
    5.641_895_067_754_075e-1,
];

/// erf x / x in x², |x| < 1, f64: numerator and denominator.
const NEAR_ABOVE: [f64; 5] = [
    9.604_973_739_870_516,
    9.002_601_972_038_427e1,
    2.232_005_345_946_843e3,
    7.003_325_141_128_051e3,
    5.559_230_130_103_949e4,
];
const NEAR_BELOW: [f64; 6] = [
    1.0,
    3.356_171_416_475_031e1,
    5.213_579_497_801_527e2,
    4.594_323_829_709_801e3,
    2.262_900_006_138_909e4,
    4.926_739_426_086_359e4,
];
/// `(1 + 2x) e^(x²) erfc x` in (x - 4) / (x + 4), 1/2 <= x <= 28; 2^-60.
const TAIL: [f64; 23] = [
    1.2329951186255526,
    -0.1396211168405625,
    0.015379652102619878,
    0.0680970542546886,
    -0.10103906603631284,
    0.09373283499852851,
    -0.06633036581200749,
    0.03716751553389845,
    -0.01619773406050954,
    0.005031970017549527,
    -0.0007577732679606401,
    -0.00019925695957898645,
    0.00015062157853073637,
    -2.4398079254365514e-05,
    -1.1221742719732269e-05,
    5.706545575740954e-06,
    2.9328656781115463e-07,
    -8.195807830886707e-07,
    7.520300926280185e-08,
    1.03314110017558e-07,
    -1.8257950860022834e-08,
    -9.671764328801722e-09,
    1.9243553217526952e-09,
];
/// e^(x²) erfc x in x, 1 <= x < 8, f64.
const MIDDLE_ABOVE: [f64; 9] = [
    2.461_969_814_735_305e-10,
    5.641_895_648_310_688e-1,
    7.463_210_564_422_699,
    4.863_719_709_856_814e1,
    1.965_208_329_560_771e2,
    5.264_451_949_954_773e2,
    9.345_285_271_719_576e2,
    1.027_551_886_895_157_1e3,
    5.575_353_353_693_994e2,
];
const MIDDLE_BELOW: [f64; 9] = [
    1.0,
    1.322_819_511_547_45e1,
    8.670_721_408_859_897e1,
    3.549_377_788_878_199e2,
    9.757_085_017_432_055e2,
    1.823_909_166_879_097_4e3,
    2.246_337_608_187_109_8e3,
    1.656_663_091_941_613_5e3,
    5.575_353_408_177_277e2,
];
/// e^(x²) erfc x in x, 8 <= x, f64.
const FAR_ABOVE: [f64; 6] = [
    5.641_895_835_477_551e-1,
    1.275_366_707_599_781,
    5.019_050_422_511_805,
    6.160_210_979_930_536,
    7.409_742_699_504_489,
    2.978_866_653_721_002_4,
];
const FAR_BELOW: [f64; 7] = [
    1.0,
    2.260_528_632_201_172_7,
    9.396_035_249_380_015,
    1.204_895_398_080_966_6e1,
    1.708_144_507_475_659e1,
    9.608_968_090_632_859,
    3.369_076_451_000_815,
];

impl Formula {
    /// Builds the error function.
    pub(crate) fn erf(&mut self, x: Arg) -> Arg {
        let (one, magnitude) = (self.c(1.0), self.op(ScalarOp::Abs, &[x]));
        let near = self.erf_near(x);
        let tail = self.erfc_far(magnitude);
        let rest = self.sub(one, tail);
        let far = self.signed_like(rest, x);
        self.choose(Lt, magnitude, one, near, far)
    }

    /// Builds 1 - erf x, without cancellation; in f64.
    pub(crate) fn erfc(&mut self, x: Arg) -> Arg {
        let (zero, half, one, two, four) = (self.c(0.0), self.c(0.5), self.c(1.0), self.c(2.0), self.c(4.0));
        let magnitude = self.op(ScalarOp::Abs, &[x]);
        let erf = self.erf_near(x);
        let near = self.sub(one, erf);
        // e^(-x²), corrected by the rounding error of x².
        let single = self.single(magnitude);
        let square = self.pair_mul(single, single);
        let minus = self.op(ScalarOp::Neg, &[square.hi]);
        let bell = self.op(ScalarOp::Exp, &[minus]);
        let (less, more) = (self.sub(magnitude, four), self.add(magnitude, four));
        let place = self.div(less, more);
        let series = self.horner(place, &TAIL);
        let below = self.mul_add(two, magnitude, one);
        let factor = self.div(series, below);
        let mut tail = self.mul(bell, factor);
        if let Some(lost) = square.lo {
            let minus = self.op(ScalarOp::Neg, &[tail]);
            tail = self.mul_add(minus, lost, tail);
        }
        let limit = self.c(27.3);
        let tail = self.choose(Ge, magnitude, limit, zero, tail);
        let other = self.sub(two, tail);
        let far = self.choose(Ge, x, zero, tail, other);
        self.choose(Lt, magnitude, half, near, far)
    }

    /// Builds erf x for |x| < 1.
    fn erf_near(&mut self, x: Arg) -> Arg {
        let square = self.mul(x, x);
        let slope = if self.is_double() {
            let (above, below) = (self.polynomial(square, &NEAR_ABOVE), self.polynomial(square, &NEAR_BELOW));
            self.div(above, below)
        } else {
            self.polynomial(square, &NEAR)
        };
        self.mul(x, slope)
    }

    /// Builds erfc x for x >= 1.
    fn erfc_far(&mut self, x: Arg) -> Arg {
        let square = self.mul(x, x);
        let minus = self.op(ScalarOp::Neg, &[square]);
        let bell = self.op(ScalarOp::Exp, &[minus]);
        let factor = if self.is_double() {
            let limit = self.c(8.0);
            let quotient = |m: &mut Self, above: &[f64], below: &[f64]| {
                let (above, below) = (m.polynomial(x, above), m.polynomial(x, below));
                m.div(above, below)
            };
            let middle = quotient(self, &MIDDLE_ABOVE, &MIDDLE_BELOW);
            let far = quotient(self, &FAR_ABOVE, &FAR_BELOW);
            self.choose(Lt, x, limit, middle, far)
        } else {
            let (one, two) = (self.c(1.0), self.c(2.0));
            let inverse = self.div(one, x);
            let inverse_square = self.mul(inverse, inverse);
            let middle = self.polynomial(inverse_square, &MIDDLE);
            let far = self.polynomial(inverse_square, &FAR);
            let chosen = self.choose(Lt, x, two, middle, far);
            self.mul(inverse, chosen)
        };
        let product = self.mul(bell, factor);
        // When e^(-x²) is 0, the quotient of polynomials may be infinity over infinity.
        let limit = if self.is_double() { 27.5 } else { 10.1 };
        let (limit, zero) = (self.c(limit), self.c(0.0));
        self.choose(Ge, x, limit, zero, product)
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::ElementType;
    use crate::literal::Literal;
    use crate::proofs::{example_block, example_program};
    use crate::scalar::Scalar;

    fn value(name: &str, ty: &str, x: f64) -> f64 {
        let program =
            example_program(&format!("(%a: tensor<{ty}>) %r = chlo.{name} %a : tensor<{ty}> -> tensor<{ty}>"));
        let op = program.view(program.block_ops(example_block(&program))[0]);
        let element = if ty == "f32" { ElementType::F32 } else { ElementType::F64 };
        let crate::kernel::Kernel::Nest(nest) = op.def().kernel(op) else { panic!("no nest") };
        nest.eval(&[Literal::scalar(element, Scalar::Float(x))])[0].get(0).as_f64()
    }

    #[test]
    fn known_values() {
        let table = [
            (0.1, 0.1124629160182849, 0.8875370839817152),
            (0.9, 0.7969082124228322, 0.20309178757716786),
            (1.5, 0.9661051464753108, 0.033894853524689274),
            (3.0, 0.9999779095030014, 2.2090496998585438e-5),
            (6.0, 1.0, 2.1519736712498916e-17),
            (9.5, 1.0, 3.76921448565488e-41),
            (-0.3, -0.3286267594591274, 1.3286267594591274),
            (-2.5, -0.999593047982555, 1.999593047982555),
        ];
        for (x, erf, erfc) in table {
            let near = |a: f64, b: f64, eps: f64| (a - b).abs() <= eps * b.abs();
            assert!(near(value("erf", "f64", x), erf, 4e-16), "erf {x}: {}", value("erf", "f64", x));
            assert!(near(value("erfc", "f64", x), erfc, 3e-14), "erfc {x}: {}", value("erfc", "f64", x));
            let (x32, tiny) = (f64::from(x as f32), erfc < 1e-37);
            assert!(near(value("erf", "f32", x32), erf, 3e-7), "erf {x}: {}", value("erf", "f32", x32));
            assert!(tiny || near(value("erfc", "f32", x32), erfc, 1e-5), "erfc {x}: {}", value("erfc", "f32", x32));
        }
        assert_eq!(value("erf", "f32", f64::INFINITY), 1.0);
        assert_eq!(value("erfc", "f64", f64::INFINITY), 0.0);
        assert_eq!(value("erfc", "f32", f64::NEG_INFINITY), 2.0);
        assert!(value("erf", "f32", f64::NAN).is_nan());
    }
}
