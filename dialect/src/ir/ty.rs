//! Types: tensors, and the few others that StableHLO text needs.
//!
//! Shapes may have [`DYNAMIC`] dimensions and elements of unknown kind, so that every program can be read and printed;
//! passes that need static shapes report an error otherwise.

use smallvec::SmallVec;

use super::entity::{Attr, Name, Ty};
use crate::sharding::TensorSharding;

/// The size of a dimension written `?`.
pub const DYNAMIC: i64 = i64::MIN;

/// Sizes of a tensor's dimensions, outermost first.
pub type Shape = SmallVec<[i64; 4]>;

/// Returns the greatest common divisor of two sizes; every size divides 0.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

macro_rules! element_types {
    ($($variant:ident $text:literal $bits:literal $class:ident),* $(,)?) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ElementType {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// Anything else, by its text (quantized types, odd integer widths).
            Other(Name),
        }

        impl ElementType {
            /// All the known element types.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant),*];

            /// Returns the type written `text`, if it is one of the known ones.
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }

            /// Returns MLIR's spelling; `None` for [`ElementType::Other`].
            pub const fn text(self) -> Option<&'static str> {
                match self { $(Self::$variant => Some($text),)* Self::Other(_) => None }
            }

            /// Width in bits; 0 for [`ElementType::Other`].
            pub const fn bits(self) -> u32 {
                match self { $(Self::$variant => $bits,)* Self::Other(_) => 0 }
            }

            /// Returns the class of arithmetic that applies.
            pub const fn class(self) -> ElementClass {
                match self { $(Self::$variant => ElementClass::$class,)* Self::Other(_) => ElementClass::Other }
            }
        }
    };
}

/// The arithmetic of an element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementClass {
    /// `i1`.
    Bool,
    /// Signed integers, and `index`.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating point.
    Float,
    /// Complex of two floats.
    Complex,
    /// Unknown.
    Other,
}

element_types! {
    I1 "i1" 1 Bool, I2 "i2" 2 Signed, I4 "i4" 4 Signed, I8 "i8" 8 Signed, I16 "i16" 16 Signed,
    I32 "i32" 32 Signed, I64 "i64" 64 Signed,
    UI2 "ui2" 2 Unsigned, UI4 "ui4" 4 Unsigned, UI8 "ui8" 8 Unsigned, UI16 "ui16" 16 Unsigned,
    UI32 "ui32" 32 Unsigned, UI64 "ui64" 64 Unsigned,
    F4E2M1FN "f4E2M1FN" 4 Float, F6E2M3FN "f6E2M3FN" 6 Float, F6E3M2FN "f6E3M2FN" 6 Float,
    F8E3M4 "f8E3M4" 8 Float, F8E4M3 "f8E4M3" 8 Float, F8E4M3FN "f8E4M3FN" 8 Float,
    F8E4M3FNUZ "f8E4M3FNUZ" 8 Float, F8E4M3B11FNUZ "f8E4M3B11FNUZ" 8 Float, F8E5M2 "f8E5M2" 8 Float,
    F8E5M2FNUZ "f8E5M2FNUZ" 8 Float, F8E8M0FNU "f8E8M0FNU" 8 Float,
    BF16 "bf16" 16 Float, F16 "f16" 16 Float, F32 "f32" 32 Float, F64 "f64" 64 Float,
    C64 "complex<f32>" 64 Complex, C128 "complex<f64>" 128 Complex, Index "index" 64 Signed,
}

impl ElementType {
    /// Returns the bytes of one element in memory; types narrower than a byte take one.
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Signed or unsigned integers, not `i1`.
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), ElementClass::Signed | ElementClass::Unsigned)
    }

    /// Returns whether every value of the integer type `other` is a value of this integer type.
    pub const fn has_values_of(self, other: Self) -> bool {
        match (self.class(), other.class()) {
            (ElementClass::Signed, ElementClass::Unsigned) => other.bits() < self.bits(),
            (ElementClass::Signed, ElementClass::Signed) | (ElementClass::Unsigned, ElementClass::Unsigned) => {
                other.bits() <= self.bits()
            }
            _ => false,
        }
    }

    /// Real floating point.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), ElementClass::Float)
    }

    /// Complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), ElementClass::Complex)
    }

    /// Returns whether there is a zero, which changes no sum: powers of two have none.
    pub const fn has_zero(self) -> bool {
        !matches!(self, Self::F8E8M0FNU)
    }

    /// Returns the type of the parts of a complex type; any other type is its own part.
    pub const fn part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            _ => self,
        }
    }
}

/// A ranked tensor type.
///
/// ```
/// use shardc_dialect::ir::{ElementType, Program, TensorType};
///
/// let mut program = Program::new();
/// let ty = program.intern_type(TensorType::new(&[4, 8], ElementType::F32));
/// assert_eq!(program.type_text(ty), "tensor<4x8xf32>");
/// assert_eq!(program.type_data(ty).tensor().unwrap().bytes(), Some(128));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// Sizes, [`DYNAMIC`] where written `?`.
    pub shape: Shape,
    /// Its element type.
    pub element: ElementType,
    /// The attribute after the element type (`#stablehlo.bounds<…>`).
    pub encoding: Option<Attr>,
}

impl TensorType {
    /// Returns a static tensor type without encoding.
    pub fn new(shape: &[i64], element: ElementType) -> Self {
        Self { shape: Shape::from_slice(shape), element, encoding: None }
    }

    /// Returns the same shape with other elements.
    pub fn with_element(&self, element: ElementType) -> Self {
        Self { shape: self.shape.clone(), element, encoding: self.encoding }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns whether every dimension's size is known.
    pub fn is_static(&self) -> bool {
        self.shape.iter().all(|&d| d != DYNAMIC)
    }

    /// Returns the number of elements, saturating; `None` when dynamic.
    pub fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |n, &d| (d >= 0).then(|| n.saturating_mul(d as usize)))
    }

    /// Returns whether the sizes agree; dynamic sizes agree with any size.
    pub fn fits(&self, other: &Self) -> bool {
        let mut sizes = self.shape.iter().zip(&other.shape);
        self.rank() == other.rank() && sizes.all(|(&a, &b)| a == b || a == DYNAMIC || b == DYNAMIC)
    }

    /// Bytes in memory; `None` when dynamic.
    pub fn bytes(&self) -> Option<usize> {
        self.elements().map(|n| n.saturating_mul(self.element.bytes()))
    }
}

/// `!mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@mesh, [{"x"}, {}]>>`: a tensor on one of several meshes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeshTensor {
    /// The mesh, by its name in the topology.
    pub mesh: Name,
    /// The global type.
    pub tensor: TensorType,
    /// Its sharding over that mesh, whatever mesh the sharding itself names; `None` means replicated.
    pub sharding: Option<TensorSharding>,
    /// The memory of the device, `device` or `pinned_host`; `None` means `device`.
    pub memory_kind: Option<Name>,
}

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeData {
    /// `tensor<4x8xf32>`
    Tensor(TensorType),
    /// `f32`, `i64`, `index`: types of attributes.
    Scalar(ElementType),
    /// `!stablehlo.token`
    Token,
    /// `tuple<…>`
    Tuple(Vec<Ty>),
    /// `(…) -> (…)`
    Function(Vec<Ty>, Vec<Ty>),
    /// `none`
    None,
    /// `!mpmd.mesh_tensor<…>`
    MeshTensor(Box<MeshTensor>),
    /// Any other type, kept as its text.
    Opaque(Box<str>),
}

impl TypeData {
    /// Returns the tensor type, if it is one; for a tensor on a mesh, the global type.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            TypeData::Tensor(t) => Some(t),
            TypeData::MeshTensor(t) => Some(&t.tensor),
            _ => None,
        }
    }

    /// Returns the tensor on a mesh, if it is one.
    pub fn mesh_tensor(&self) -> Option<&MeshTensor> {
        match self {
            TypeData::MeshTensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns whether a value of one type may have the other type: dynamic sizes agree with any size.
    pub fn compatible(&self, other: &TypeData) -> bool {
        match (self, other) {
            (TypeData::Tensor(a), TypeData::Tensor(b)) => a.element == b.element && a.fits(b),
            _ => self == other,
        }
    }
}

impl From<MeshTensor> for TypeData {
    fn from(t: MeshTensor) -> Self {
        TypeData::MeshTensor(Box::new(t))
    }
}

impl From<TensorType> for TypeData {
    fn from(t: TensorType) -> Self {
        TypeData::Tensor(t)
    }
}
