//! Elements that linear algebra is done in.

use bytemuck::Pod;
use faer::traits::ComplexField;
use rustfft::num_complex::Complex;

/// A real or complex number that the library computes with.
pub(super) trait Field: ComplexField + Pod {
    fn wide(self) -> Complex<f64>;
    fn narrow(value: Complex<f64>) -> Self;
}

impl Field for f32 {
    fn wide(self) -> Complex<f64> {
        f64::from(self).into()
    }

    fn narrow(value: Complex<f64>) -> Self {
        value.re as f32
    }
}

impl Field for f64 {
    fn wide(self) -> Complex<f64> {
        self.into()
    }

    fn narrow(value: Complex<f64>) -> Self {
        value.re
    }
}

impl Field for Complex<f32> {
    fn wide(self) -> Complex<f64> {
        Complex::new(self.re.into(), self.im.into())
    }

    fn narrow(value: Complex<f64>) -> Self {
        Complex::new(value.re as f32, value.im as f32)
    }
}

impl Field for Complex<f64> {
    fn wide(self) -> Complex<f64> {
        self
    }

    fn narrow(value: Complex<f64>) -> Self {
        value
    }
}

/// `$make::<T>($arguments)` with the [`Field`] of the elements, as native code; `None` if there is none.
macro_rules! for_field {
    ($element:expr, $make:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        use dialect::ir::ElementType;
        use rustfft::num_complex::Complex;
        let native: Option<Box<dyn $crate::native::Native>> = match $element {
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
