//! Precision classes of matmuls: the peak rate of a chip that an operation on given element types may use.
//!
//! The MXU multiplies bf16 (and int8, int4, fp8 where the chip supports it) and accumulates in f32. An f32 dot at the
//! default precision is one bf16 pass (docs.jax.dev, "Matmul precision"), so it runs at the bf16 rate; HIGH is bf16_3x,
//! three passes. HIGHEST is assumed to be six, the next multiple that recovers f32; no source for the chips themselves
//! confirms it.

/// A class of element types with one peak rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 2- and 4-bit integers.
    Int4,
    /// 8-bit integers.
    Int8,
    /// 8-bit floats and narrower.
    Fp8,
    /// bf16 and f16.
    Bf16,
    /// f32 at the default precision: one bf16 pass.
    F32,
    /// f32 as three bf16 passes.
    F32High,
    /// f32 as six bf16 passes. Also used for types that no MXU multiplies (f64, wide integers), as a lower bound on
    /// their time.
    F32Highest,
}

impl Precision {
    /// Returns the class of one operand, by its element type as StableHLO spells it. A complex type has the class of
    /// its parts.
    pub fn of_element(name: &str) -> Precision {
        match name {
            "i2" | "ui2" | "i4" | "ui4" => Precision::Int4,
            "i1" | "i8" | "ui8" => Precision::Int8,
            "bf16" | "f16" => Precision::Bf16,
            "f32" | "tf32" | "complex<f32>" => Precision::F32,
            _ if name.starts_with("f8") || name.starts_with("f6") || name.starts_with("f4") => Precision::Fp8,
            _ => Precision::F32Highest,
        }
    }

    /// Returns the class of a product of two element types: the slower of the two, and bf16 for a narrow integer with a
    /// float.
    pub fn of_product(lhs: &str, rhs: &str) -> Precision {
        let (lhs, rhs) = (Precision::of_element(lhs), Precision::of_element(rhs));
        let integer = |class| matches!(class, Precision::Int4 | Precision::Int8);
        let wider = lhs.max(rhs);
        if integer(lhs) != integer(rhs) { wider.max(Precision::Bf16) } else { wider }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products() {
        assert_eq!(Precision::of_product("bf16", "bf16"), Precision::Bf16);
        assert_eq!(Precision::of_product("bf16", "f32"), Precision::F32);
        assert_eq!(Precision::of_product("i8", "i4"), Precision::Int8);
        assert_eq!(Precision::of_product("i8", "bf16"), Precision::Bf16);
        assert_eq!(Precision::of_product("i8", "f8E4M3FN"), Precision::Bf16);
        assert_eq!(Precision::of_product("f8E4M3FN", "f8E5M2"), Precision::Fp8);
        assert_eq!(Precision::of_product("i32", "i8"), Precision::F32Highest);
        assert_eq!(Precision::of_product("complex<f64>", "f32"), Precision::F32Highest);
    }
}
