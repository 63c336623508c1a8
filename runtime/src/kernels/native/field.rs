//! The element types of linear algebra.

use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;
use faer::traits::ComplexField;
use rustfft::num_complex::Complex;

/// A real or complex number type that faer supports.
pub(super) trait Field:
    ComplexField
    + Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Converts to double precision.
    fn wide(self) -> Complex<f64>;
    /// Converts from double precision.
    fn narrow(value: Complex<f64>) -> Self;
    /// Returns the conjugate.
    fn conjugate(self) -> Self;
    /// Returns one.
    fn one() -> Self {
        Self::narrow(1.0.into())
    }
    /// Returns whether its parts are finite.
    fn is_number(self) -> bool {
        self.wide().is_finite()
    }
    /// Converts a real number of the type's precision to double precision.
    fn real_wide(value: Self::Real) -> f64 {
        Self::from_real_impl(&value).wide().re
    }
    /// Returns NaN as a real number of the type's precision.
    fn nan_real() -> Self::Real {
        Self::real_part_impl(&Self::nan_impl())
    }
    /// Fills memory with real numbers of the type's precision.
    fn write_real(to: &mut [u8], values: impl Iterator<Item = f64>) {
        let complex = if Self::IS_REAL { 1 } else { 2 };
        if size_of::<Self>() / complex == 4 {
            let to: &mut [f32] = bytemuck::cast_slice_mut(to);
            to.iter_mut().zip(values).for_each(|(to, v)| *to = v as f32);
        } else {
            let to: &mut [f64] = bytemuck::cast_slice_mut(to);
            to.iter_mut().zip(values).for_each(|(to, v)| *to = v);
        }
    }
}

impl Field for f32 {
    fn conjugate(self) -> Self {
        self
    }

    fn wide(self) -> Complex<f64> {
        f64::from(self).into()
    }

    fn narrow(value: Complex<f64>) -> Self {
        value.re as f32
    }
}

impl Field for f64 {
    fn conjugate(self) -> Self {
        self
    }

    fn wide(self) -> Complex<f64> {
        self.into()
    }

    fn narrow(value: Complex<f64>) -> Self {
        value.re
    }
}

impl Field for Complex<f32> {
    fn conjugate(self) -> Self {
        self.conj()
    }

    fn wide(self) -> Complex<f64> {
        Complex::new(self.re.into(), self.im.into())
    }

    fn narrow(value: Complex<f64>) -> Self {
        Complex::new(value.re as f32, value.im as f32)
    }
}

impl Field for Complex<f64> {
    fn conjugate(self) -> Self {
        self.conj()
    }

    fn wide(self) -> Complex<f64> {
        self
    }

    fn narrow(value: Complex<f64>) -> Self {
        value
    }
}

/// Returns `$make::<T>($arguments)`, with the [`Field`] of the elements, as native code; `None` if there is no such
/// field.
macro_rules! for_field {
    ($element:expr, $make:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        use dialect::ir::ElementType;
        use rustfft::num_complex::Complex;
        let native: Option<Box<dyn $crate::kernels::native::Native>> = match $element {
            ElementType::F32 => Some(Box::new($make::<f32> { $($field: $value),*, of: std::marker::PhantomData })),
            ElementType::F64 => Some(Box::new($make::<f64> { $($field: $value),*, of: std::marker::PhantomData })),
            ElementType::C64 => Some(Box::new($make::<Complex<f32>> { $($field: $value),*, of: std::marker::PhantomData })),
            ElementType::C128 => Some(Box::new($make::<Complex<f64>> { $($field: $value),*, of: std::marker::PhantomData })),
            _ => None,
        };
        native
    }};
}

pub(super) use for_field;
