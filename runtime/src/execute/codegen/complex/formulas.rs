//! Functions of complex numbers as formulas over their parts, with the semantics of `ScalarOp::apply`: all except
//! products are computed in f64.

use dialect::ir::ElementType;
use dialect::scalar::{Comparison, ScalarOp};

use super::reals::{Complex, Reals};
use crate::execute::fuse::fused::Node;

impl Reals<'_> {
    /// Returns the power of two that scales the larger of both parts to about 1, and its inverse. Both are 1 if the
    /// larger part is 0 or not finite.
    fn scales(&mut self, z: Complex) -> [Node; 2] {
        let (x, y) = (self.of(ScalarOp::Abs, z.0), self.of(ScalarOp::Abs, z.1));
        let big = self.op(ScalarOp::Max, &[x, y]);
        let bits = self.typed(ScalarOp::Bitcast, &[big], ElementType::I64);
        let (width, least, most, twice) = (self.int(52), self.int(1), self.int(2045), self.int(2046));
        let mut integer = |op, args: [Node; 2]| self.typed(op, &args, ElementType::I64);
        let exponent = integer(ScalarOp::ShrLogical, [bits, width]);
        let exponent = integer(ScalarOp::Max, [exponent, least]);
        let exponent = integer(ScalarOp::Min, [exponent, most]);
        let opposite = integer(ScalarOp::Sub, [twice, exponent]);
        let powers = [opposite, exponent].map(|e| integer(ScalarOp::Shl, [e, width]));
        let (positive, below) = (self.is_to(Comparison::Gt, big, 0.0), self.is_to(Comparison::Lt, big, f64::INFINITY));
        let usual = self.and(positive, below);
        let one = self.c(1.0);
        powers.map(|bits| {
            let power = self.typed(ScalarOp::Bitcast, &[bits], ElementType::F64);
            self.select(usual, power, one)
        })
    }

    /// Returns the modulus, in f64. It is infinite if a part is.
    pub(super) fn modulus(&mut self, z: Complex) -> Node {
        let scales = if self.narrow { None } else { Some(self.scales(z)) };
        let (x, y) = scales.map_or(z, |[scale, _]| (self.mul(z.0, scale), self.mul(z.1, scale)));
        let (x, y) = (self.mul(x, x), self.mul(y, y));
        let sum = self.add(x, y);
        let root = self.of(ScalarOp::Sqrt, sum);
        let size = scales.map_or(root, |[_, back]| self.mul(root, back));
        let (infinite, infinity) = (self.infinite(z), self.c(f64::INFINITY));
        self.select(infinite, infinity, size)
    }

    /// Returns the product, in the working type.
    pub(super) fn product(&mut self, a: Complex, b: Complex) -> Complex {
        let (rr, ii) = (self.mul(a.0, b.0), self.mul(a.1, b.1));
        let (ri, ir) = (self.mul(a.0, b.1), self.mul(a.1, b.0));
        (self.sub(rr, ii), self.add(ri, ir))
    }

    /// Returns a function of one or two numbers, in f64.
    pub(super) fn function(&mut self, op: ScalarOp, a: Complex, b: Option<Complex>) -> Complex {
        self.in_double(a, |reals, a| match b {
            None => reals.unary(op, a),
            Some(b) => reals.in_double(b, |reals, b| reals.binary(op, a, b)),
        })
    }

    fn binary(&mut self, op: ScalarOp, a: Complex, b: Complex) -> Complex {
        match op {
            ScalarOp::Div => self.quotient(a, b),
            ScalarOp::Pow => self.power(a, b),
            // The angle: -i log((b + ia) / sqrt(a² + b²)).
            _ => {
                let (aa, bb) = (self.product(a, a), self.product(b, b));
                let sum = (self.add(aa.0, bb.0), self.add(aa.1, bb.1));
                let root = self.sqrt(sum);
                let above = (self.sub(b.0, a.1), self.add(b.1, a.0));
                let unit = self.quotient(above, root);
                let (re, im) = self.ln(unit);
                (im, self.of(ScalarOp::Neg, re))
            }
        }
    }

    fn unary(&mut self, op: ScalarOp, z: Complex) -> Complex {
        let (x, y) = z;
        match op {
            ScalarOp::Sign => self.sign(z),
            ScalarOp::Exp => self.exp(z),
            ScalarOp::Expm1 => self.expm1(z),
            ScalarOp::Log => self.ln(z),
            ScalarOp::Log1p => self.log1p(z),
            ScalarOp::Sqrt => self.sqrt(z),
            ScalarOp::Rsqrt => {
                let (root, one) = (self.sqrt(z), (self.c(1.0), self.c(0.0)));
                self.quotient(one, root)
            }
            ScalarOp::Cbrt => self.cbrt(z),
            ScalarOp::Logistic => {
                let minus = (self.of(ScalarOp::Neg, x), self.of(ScalarOp::Neg, y));
                let (re, im) = self.exp(minus);
                let one = self.c(1.0);
                let (below, above) = ((self.add(one, re), im), (one, self.c(0.0)));
                self.quotient(above, below)
            }
            ScalarOp::Sin => {
                let (sinh, cosh) = self.hyperbolic(y);
                let (sin, cos) = (self.of(ScalarOp::Sin, x), self.of(ScalarOp::Cos, x));
                (self.mul(sin, cosh), self.mul(cos, sinh))
            }
            ScalarOp::Cos => {
                let (sinh, cosh) = self.hyperbolic(y);
                let (sin, cos) = (self.of(ScalarOp::Sin, x), self.of(ScalarOp::Cos, x));
                let im = self.mul(sin, sinh);
                (self.mul(cos, cosh), self.of(ScalarOp::Neg, im))
            }
            ScalarOp::Tan => {
                // tan z = -i tanh(iz)
                let minus = self.of(ScalarOp::Neg, y);
                let (re, im) = self.tanh((minus, x));
                (im, self.of(ScalarOp::Neg, re))
            }
            _ => self.tanh(z),
        }
    }

    fn sign(&mut self, z: Complex) -> Complex {
        let (x, y) = z;
        let size = self.modulus(z);
        let unit = (self.div(x, size), self.div(y, size));
        let zero = self.c(0.0);
        let nothing = (self.is(Comparison::Eq, x, zero), self.is(Comparison::Eq, y, zero));
        let nothing = self.and(nothing.0, nothing.1);
        let sign = self.choose(nothing, (zero, zero), unit);
        let (nan_x, nan_y, nan) = (self.is_nan(x), self.is_nan(y), self.c(f64::NAN));
        let either = self.or(nan_x, nan_y);
        self.choose(either, (nan, nan), sign)
    }

    fn expm1(&mut self, (x, y): Complex) -> Complex {
        // e^x cos y - 1 = (e^x - 1) cos y - 2 sin²(y/2)
        let half = self.scale(y, 0.5);
        let half = self.of(ScalarOp::Sin, half);
        let (less, cos) = (self.of(ScalarOp::Expm1, x), self.of(ScalarOp::Cos, y));
        let (turned, twice) = (self.mul(less, cos), self.scale(half, 2.0));
        let square = self.mul(twice, half);
        let re = self.sub(turned, square);
        let (e, sin) = (self.of(ScalarOp::Exp, x), self.of(ScalarOp::Sin, y));
        let im = self.mul(e, sin);
        let real = self.is_to(Comparison::Eq, y, 0.0);
        self.choose(real, (less, y), (re, im))
    }

    fn log1p(&mut self, (x, y): Complex) -> Complex {
        let (one, two) = (self.c(1.0), self.c(2.0));
        let shifted = self.add(one, x);
        let far = self.ln((shifted, y)).0;
        let sum = self.add(two, x);
        let (xx, yy) = (self.mul(x, sum), self.mul(y, y));
        let sum = self.add(xx, yy);
        let near = self.of(ScalarOp::Log1p, sum);
        let near = self.scale(near, 0.5);
        let small = [x, y].map(|v| {
            let magnitude = self.of(ScalarOp::Abs, v);
            self.is_to(Comparison::Lt, magnitude, 0.5)
        });
        let small = self.and(small[0], small[1]);
        (self.select(small, near, far), self.op(ScalarOp::Atan2, &[y, shifted]))
    }

    fn cbrt(&mut self, z: Complex) -> Complex {
        let (x, y) = z;
        let size = self.modulus(z);
        let size = self.of(ScalarOp::Cbrt, size);
        let (angle, three) = (self.op(ScalarOp::Atan2, &[y, x]), self.c(3.0));
        let angle = self.div(angle, three);
        let (cos, sin) = (self.of(ScalarOp::Cos, angle), self.of(ScalarOp::Sin, angle));
        (self.mul(size, cos), self.mul(size, sin))
    }

    /// Divides. Scales the numbers so that neither square overflows, and recovers infinities.
    fn quotient(&mut self, a: Complex, b: Complex) -> Complex {
        let scale = if self.narrow { self.c(1.0) } else { self.scales(b)[0] };
        let b = (self.mul(b.0, scale), self.mul(b.1, scale));
        let squares = (self.mul(b.0, b.0), self.mul(b.1, b.1));
        let norm = self.add(squares.0, squares.1);
        let over = self.conjugate_product(a, b);
        let q = (self.div(over.0, norm), self.div(over.1, norm));
        let q = (self.mul(q.0, scale), self.mul(q.1, scale));
        let (infinity, zero) = (self.c(f64::INFINITY), self.c(0.0));
        // The last of these cases that holds determines the result.
        let unit = |reals: &mut Self, z: Complex| {
            let mut one = |v: Node| {
                let (infinite, one) = (reals.is_infinite(v), reals.c(1.0));
                let size = reals.select(infinite, one, zero);
                reals.with_sign(size, v)
            };
            (one(z.0), one(z.1))
        };
        let direction = unit(self, b);
        let over = self.conjugate_product(a, direction);
        let vanished = (self.mul(zero, over.0), self.mul(zero, over.1));
        let (infinite, finite) = (self.infinite(b), self.finite(a));
        let applies = self.and(infinite, finite);
        let recovered = self.choose(applies, vanished, q);
        let direction = unit(self, a);
        let over = self.conjugate_product(direction, b);
        let grown = (self.mul(infinity, over.0), self.mul(infinity, over.1));
        let (infinite, finite) = (self.infinite(a), self.finite(b));
        let applies = self.and(infinite, finite);
        let recovered = self.choose(applies, grown, recovered);
        let signed = self.with_sign(infinity, b.0);
        let by_zero = (self.mul(signed, a.0), self.mul(signed, a.1));
        let (nothing, known) =
            (self.is_to(Comparison::Eq, norm, 0.0), [a.0, a.1].map(|v| self.is(Comparison::Eq, v, v)));
        let known = self.or(known[0], known[1]);
        let applies = self.and(nothing, known);
        let recovered = self.choose(applies, by_zero, recovered);
        let nan = (self.is_nan(q.0), self.is_nan(q.1));
        let nan = self.and(nan.0, nan.1);
        self.choose(nan, recovered, q)
    }

    /// Returns `a` times the conjugate of `b`.
    fn conjugate_product(&mut self, a: Complex, b: Complex) -> Complex {
        let (rr, ii) = (self.mul(a.0, b.0), self.mul(a.1, b.1));
        let (ir, ri) = (self.mul(a.1, b.0), self.mul(a.0, b.1));
        (self.add(rr, ii), self.sub(ir, ri))
    }

    fn exp(&mut self, (x, y): Complex) -> Complex {
        let (cos, sin, zero) = (self.of(ScalarOp::Cos, y), self.of(ScalarOp::Sin, y), self.c(0.0));
        // Multiplies by e^(x/2) twice, because e^x may overflow where the product doesn't.
        let half = self.scale(x, 0.5);
        let half = self.of(ScalarOp::Exp, half);
        let mut turned = |angle: Node| {
            let once = self.mul(half, angle);
            self.mul(once, half)
        };
        let usual = (turned(cos), turned(sin));
        let finite = self.truth(ScalarOp::IsFinite, &[y]);
        // e^-inf is zero for any angle; 0 * NaN would not be.
        let vanished = [cos, sin].map(|angle| {
            let angle = self.select(finite, angle, zero);
            self.mul(zero, angle)
        });
        let none = self.is_to(Comparison::Eq, x, f64::NEG_INFINITY);
        let value = self.choose(none, (vanished[0], vanished[1]), usual);
        let (infinity, nan) = (self.c(f64::INFINITY), self.c(f64::NAN));
        let (endless, angleless) = (self.is(Comparison::Eq, x, infinity), self.truth(ScalarOp::Not, &[finite]));
        let endless = self.and(endless, angleless);
        let value = self.choose(endless, (infinity, nan), value);
        let (real, e) = (self.is(Comparison::Eq, y, zero), self.of(ScalarOp::Exp, x));
        self.choose(real, (e, y), value)
    }

    fn ln(&mut self, z: Complex) -> Complex {
        let (x, y) = (self.of(ScalarOp::Abs, z.0), self.of(ScalarOp::Abs, z.1));
        let (big, small) = (self.op(ScalarOp::Max, &[x, y]), self.op(ScalarOp::Min, &[x, y]));
        // Near the unit circle the logarithm of the modulus cancels; 1 + (big² - 1 + small²) doesn't.
        let one = self.c(1.0);
        let (below, above) = (self.sub(big, one), self.add(big, one));
        let (square, rest) = (self.mul(below, above), self.mul(small, small));
        let sum = self.add(square, rest);
        let near = self.of(ScalarOp::Log1p, sum);
        let near = self.scale(near, 0.5);
        let size = self.modulus(z);
        let far = self.of(ScalarOp::Log, size);
        let bounds = (self.is_to(Comparison::Ge, big, 0.5), self.is_to(Comparison::Lt, big, 2.0));
        let inside = self.and(bounds.0, bounds.1);
        (self.select(inside, near, far), self.op(ScalarOp::Atan2, &[z.1, z.0]))
    }

    fn sqrt(&mut self, z: Complex) -> Complex {
        let (infinity, zero) = (self.c(f64::INFINITY), self.c(0.0));
        // The modulus is computed from a quarter of the number where it could overflow.
        let sizes = (self.of(ScalarOp::Abs, z.0), self.of(ScalarOp::Abs, z.1));
        let big = self.op(ScalarOp::Max, &[sizes.0, sizes.1]);
        let large = self.is_to(Comparison::Gt, big, 1e300);
        let quarter = (self.scale(z.0, 0.25), self.scale(z.1, 0.25));
        let (x, y) = self.choose(large, quarter, z);
        let (x_size, y_size) = (self.of(ScalarOp::Abs, x), self.of(ScalarOp::Abs, y));
        let size = self.modulus((x, y));
        let sum = self.add(x_size, size);
        let half = self.scale(sum, 0.5);
        let t = self.of(ScalarOp::Sqrt, half);
        let twice = self.scale(t, 2.0);
        let right = (t, self.div(y, twice));
        let left = (self.div(y_size, twice), self.with_sign(t, y));
        let on_right = self.is(Comparison::Ge, x, zero);
        let root = self.choose(on_right, right, left);
        let doubled = (self.scale(root.0, 2.0), self.scale(root.1, 2.0));
        let root = self.choose(large, doubled, root);
        let nan = self.is_nan(z.1);
        let no_sign = self.with_sign(zero, z.1);
        let flat = self.select(nan, z.1, no_sign);
        let upright = (self.of(ScalarOp::Abs, flat), self.with_sign(infinity, z.1));
        let positive = self.is(Comparison::Gt, z.0, zero);
        let endless = self.choose(positive, (z.0, flat), upright);
        let infinite = self.is_infinite(z.0);
        let root = self.choose(infinite, endless, root);
        let nothing = self.is(Comparison::Eq, big, zero);
        let root = self.choose(nothing, (zero, z.1), root);
        let infinite = self.is_infinite(z.1);
        self.choose(infinite, (infinity, z.1), root)
    }

    /// Returns the hyperbolic sine and cosine.
    fn hyperbolic(&mut self, x: Node) -> (Node, Node) {
        let size = self.of(ScalarOp::Abs, x);
        let (less, one) = (self.of(ScalarOp::Expm1, size), self.c(1.0));
        let e = self.add(less, one);
        let share = self.div(less, e);
        let sum = self.add(less, share);
        let sinh = self.scale(sum, 0.5);
        let square = self.mul(less, share);
        let half = self.scale(square, 0.5);
        let cosh = self.add(one, half);
        // For large arguments both are half of e^x, computed as a product of factors that are in range where e^x isn't.
        let root = self.scale(size, 0.5);
        let root = self.of(ScalarOp::Exp, root);
        let half = self.scale(root, 0.5);
        let far = self.mul(half, root);
        let is_far = self.is_to(Comparison::Gt, size, 40.0);
        let sinh = self.select(is_far, far, sinh);
        (self.with_sign(sinh, x), self.select(is_far, far, cosh))
    }

    fn tanh(&mut self, (x, y): Complex) -> Complex {
        let (sin, cos, size) = (self.of(ScalarOp::Sin, y), self.of(ScalarOp::Cos, y), self.of(ScalarOp::Abs, x));
        // sinh(2x) and sin(2y) over their cosines' sum, written without cancellation.
        let (sinh, cosh) = self.hyperbolic(x);
        let squares = (self.mul(sinh, sinh), self.mul(cos, cos));
        let below = self.add(squares.0, squares.1);
        let above = (self.mul(sinh, cosh), self.mul(sin, cos));
        let near = (self.div(above.0, below), self.div(above.1, below));
        // Beyond this argument the real part is 1 to the last bit, and only the denominator would overflow.
        let (one, zero) = (self.c(1.0), self.c(0.0));
        let exponent = self.scale(size, -2.0);
        let decay = self.of(ScalarOp::Exp, exponent);
        let four = self.scale(above.1, 4.0);
        let im = self.mul(four, decay);
        let lost = self.is_nan(im);
        let im = self.select(lost, zero, im);
        let unit = self.with_sign(one, x);
        let is_far = self.is_to(Comparison::Gt, size, 22.0);
        self.choose(is_far, (unit, im), near)
    }

    fn power(&mut self, a: Complex, b: Complex) -> Complex {
        let (re, im) = self.ln(a);
        let exponent = (self.mul(b.0, re), self.mul(b.1, im), self.mul(b.0, im), self.mul(b.1, re));
        let exponent = (self.sub(exponent.0, exponent.1), self.add(exponent.2, exponent.3));
        let value = self.exp(exponent);
        let (zero, one) = (self.c(0.0), self.c(1.0));
        let mut nothing = |z: Complex| {
            let parts = (self.is(Comparison::Eq, z.0, zero), self.is(Comparison::Eq, z.1, zero));
            self.and(parts.0, parts.1)
        };
        let (no_base, no_exponent) = (nothing(a), nothing(b));
        let (infinity, nan) = (self.c(f64::INFINITY), self.c(f64::NAN));
        let positive = self.is(Comparison::Gt, b.0, zero);
        let of_zero = self.choose(positive, (zero, zero), (infinity, nan));
        let value = self.choose(no_base, of_zero, value);
        self.choose(no_exponent, (one, zero), value)
    }
}
