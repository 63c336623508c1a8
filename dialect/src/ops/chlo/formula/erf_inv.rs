//! The inverse error function as a formula: polynomials in `w = -log(1 - x²)`, or in its square root if w is large.
//! Source: M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012).

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Lt};
use crate::scalar::ScalarOp;

/// f32, in w - 2.5, w < 5.
const NEAR: [f64; 9] = [
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
];
/// f32, in sqrt w - 3.
const FAR: [f64; 9] = [
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
];
/// f64, in w - 3.125, w < 6.25.
const NEAR_DOUBLE: [f64; 23] = [
    -3.64441206401782e-21,
    -1.6850591381820166e-19,
    1.28584807152564e-18,
    1.1157877678025181e-17,
    -1.333171662854621e-16,
    2.0972767875968562e-17,
    6.637638134358324e-15,
    -4.054566272975207e-14,
    -8.151934197605472e-14,
    2.6335093153082323e-12,
    -1.2975133253453532e-11,
    -5.415412054294628e-11,
    1.0512122733215323e-09,
    -4.112633980346984e-09,
    -2.9070369957882005e-08,
    4.2347877827932404e-07,
    -1.3654692000834679e-06,
    -1.3882523362786469e-05,
    0.00018673420803405714,
    -0.000740702534166267,
    -0.006033670871430149,
    0.24015818242558962,
    1.6536545626831027,
];
/// f64, in sqrt w - 3.25, w < 16.
const MIDDLE_DOUBLE: [f64; 19] = [
    2.2137376921775787e-09,
    9.075656193888539e-08,
    -2.7517406297064545e-07,
    1.8239629214389228e-08,
    1.5027403968909828e-06,
    -4.013867526981546e-06,
    2.9234449089955446e-06,
    1.2475304481671779e-05,
    -4.7318229009055734e-05,
    6.828485145957318e-05,
    2.4031110387097894e-05,
    -0.0003550375203628475,
    0.0009532893797373805,
    -0.0016882755560235047,
    0.002491442096107851,
    -0.003751208507569241,
    0.005370914553590064,
    1.0052589676941592,
    3.0838856104922208,
];
/// f64, in sqrt w - 5.
const FAR_DOUBLE: [f64; 17] = [
    -2.7109920616438573e-11,
    -2.555641816996525e-10,
    1.5076572693500548e-09,
    -3.789465440126737e-09,
    7.61570120807834e-09,
    -1.496002662714924e-08,
    2.914795345090108e-08,
    -6.771199775845234e-08,
    2.2900482228026655e-07,
    -9.9298272942317e-07,
    4.526062597223154e-06,
    -1.968177810553167e-05,
    7.599527703001776e-05,
    -0.00021503011930044477,
    -0.00013871931833623122,
    1.0103004648645344,
    4.849906401408584,
];

impl Formula {
    /// Builds the x for which `erf x` is the operand.
    pub(crate) fn erf_inv(&mut self, x: Arg) -> Arg {
        let (one, infinity) = (self.c(1.0), self.c(f64::INFINITY));
        // This form loses almost no precision if |x| is close to 1.
        let (below, above) = (self.sub(one, x), self.add(one, x));
        let product = self.mul(below, above);
        let log = self.op(ScalarOp::Log, &[product]);
        let w = self.op(ScalarOp::Neg, &[log]);
        let root = self.op(ScalarOp::Sqrt, &[w]);
        let at = |m: &mut Self, from: Arg, center: f64, coefficients: &[f64]| {
            let center = m.c(center);
            let t = m.sub(from, center);
            m.polynomial(t, coefficients)
        };
        let slope = if self.is_double() {
            let near = at(self, w, 3.125, &NEAR_DOUBLE);
            // The rounding error of the root would be one ULP of the result.
            let negative = self.op(ScalarOp::Neg, &[root]);
            let (left, twice) = (self.mul_add(negative, root, w), self.add(root, root));
            let rounded = self.div(left, twice);
            let from_root = |m: &mut Self, center: f64, coefficients: &[f64]| {
                let center = m.c(center);
                let t = m.sub(root, center);
                let t = m.add(t, rounded);
                m.polynomial(t, coefficients)
            };
            let middle = from_root(self, 3.25, &MIDDLE_DOUBLE);
            let far = from_root(self, 5.0, &FAR_DOUBLE);
            let (first, second) = (self.c(6.25), self.c(16.0));
            let beyond = self.choose(Lt, w, second, middle, far);
            self.choose(Lt, w, first, near, beyond)
        } else {
            let (near, far, limit) = (at(self, w, 2.5, &NEAR), at(self, root, 3.0, &FAR), self.c(5.0));
            self.choose(Lt, w, limit, near, far)
        };
        let magnitude = self.op(ScalarOp::Abs, &[x]);
        let slope = self.choose(Eq, magnitude, one, infinity, slope);
        self.mul(slope, x)
    }
}
