//! Concrete tensors: the payload of `constant`, and the values of the reference evaluator.
//!
//! Elements are stored row-major, little-endian, at least one byte each. A splat keeps one element for any shape, so a
//! constant of a gigabyte takes four bytes until [`Literal::dense_bytes`] is called. Bytes are shared, and may be in a
//! mapped file at any address, so readers must not rely on alignment.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::ir::{ElementType, Shape, TensorType};
use crate::scalar::Scalar;

/// A tensor of known values.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Literal {
    /// Its element type.
    pub element: ElementType,
    /// Its sizes.
    pub shape: Shape,
    /// All elements, or one for a splat.
    bytes: Bytes,
}

impl Literal {
    /// Creates a literal from all elements' bytes; `bytes` must have exactly the length for the shape, or one element
    /// for a splat.
    pub fn from_bytes(element: ElementType, shape: &[i64], bytes: impl Into<Bytes>) -> Self {
        let literal = Self { element, shape: Shape::from_slice(shape), bytes: bytes.into() };
        debug_assert!(
            literal.bytes.len() == element.bytes() || literal.bytes.len() == literal.len() * element.bytes(),
            "literal of {} bytes for {shape:?} {element:?}",
            literal.bytes.len()
        );
        literal
    }

    /// Creates a literal whose every element is `value`.
    pub fn splat(element: ElementType, shape: &[i64], value: Scalar) -> Self {
        let mut bytes = Vec::with_capacity(element.bytes());
        value.encode(element, &mut bytes);
        Self { element, shape: Shape::from_slice(shape), bytes: bytes.into() }
    }

    /// Creates a literal from elements in row-major order, as many as the shape needs.
    pub fn from_scalars(element: ElementType, shape: &[i64], values: impl IntoIterator<Item = Scalar>) -> Self {
        let mut bytes = Vec::new();
        for value in values {
            value.encode(element, &mut bytes);
        }
        Self::from_bytes(element, shape, bytes)
    }

    /// Creates a literal of real floats from elements in row-major order, as many as the shape needs, each rounded to
    /// the element type.
    pub fn from_floats(element: ElementType, shape: &[i64], values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter();
        match element {
            ElementType::F32 => {
                let bytes: Vec<[u8; 4]> = values.map(|v| (v as f32).to_le_bytes()).collect();
                Self::from_bytes(element, shape, bytes.into_flattened())
            }
            _ => Self::from_scalars(element, shape, values.map(Scalar::Float)),
        }
    }

    /// Creates a literal from a function of the row-major position.
    pub fn from_fn(ty: &TensorType, mut f: impl FnMut(usize) -> Scalar) -> Self {
        let n = ty.elements().unwrap_or(0);
        Self::from_scalars(ty.element, &ty.shape, (0..n).map(&mut f))
    }

    /// Creates a rank-0 tensor.
    pub fn scalar(element: ElementType, value: Scalar) -> Self {
        Self::splat(element, &[], value)
    }

    /// Returns its type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(&self.shape, self.element)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().map(|&d| d.max(0) as usize).product()
    }

    /// Returns whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it is stored as one element.
    pub fn is_splat(&self) -> bool {
        self.bytes.len() == self.element.bytes() && self.len() != 1
    }

    /// Returns the value of all elements, if it is stored as a splat or has one element.
    pub fn splat_value(&self) -> Option<Scalar> {
        (self.bytes.len() == self.element.bytes() && !self.is_empty())
            .then(|| Scalar::decode(self.element, &self.bytes))
    }

    /// Element at row-major position `index`.
    pub fn get(&self, index: usize) -> Scalar {
        let n = self.element.bytes();
        let at = if self.bytes.len() == n { 0 } else { index * n };
        Scalar::decode(self.element, &self.bytes[at..at + n])
    }

    /// Returns the raw bytes of element `index`.
    pub fn element_bytes(&self, index: usize) -> &[u8] {
        let n = self.element.bytes();
        let at = if self.bytes.len() == n { 0 } else { index * n };
        &self.bytes[at..at + n]
    }

    /// Returns all elements' bytes, splats expanded.
    pub fn dense_bytes(&self) -> Cow<'_, [u8]> {
        let want = self.len() * self.element.bytes();
        if self.bytes.len() == want { Cow::Borrowed(&self.bytes) } else { Cow::Owned(self.bytes.repeat(self.len())) }
    }

    /// Returns the bytes as stored: one element for a splat.
    pub fn stored_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns all elements as integers, if they are integers.
    pub fn to_ints(&self) -> Option<Vec<i64>> {
        (0..self.len()).map(|i| self.get(i).as_i64()).collect()
    }

    /// Returns all elements as f64, one for a splat, if they are real floats.
    pub fn stored_floats(&self) -> Option<Vec<f64>> {
        let all = || match self.element {
            ElementType::F32 => self.bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b).into()).collect(),
            element => {
                let read = |b: &[u8]| Scalar::decode(element, b).as_f64();
                self.bytes.chunks_exact(element.bytes()).map(read).collect()
            }
        };
        self.element.is_float().then(all)
    }

    /// Returns the same bytes with another shape of the same number of elements, or of any number for a splat.
    pub fn reshaped(&self, shape: &[i64]) -> Self {
        Self { element: self.element, shape: Shape::from_slice(shape), bytes: self.bytes.clone() }
    }

    /// Returns the row-major position of `index`.
    pub fn position(&self, index: &[i64]) -> usize {
        self.shape.iter().zip(index).fold(0, |at, (&d, &i)| at * d as usize + i as usize)
    }
}

/// Row-major indices of a shape: `[0,0], [0,1], …`.
pub struct Indices {
    shape: Shape,
    next: Option<Shape>,
}

impl Indices {
    /// Returns all indices of `shape`.
    pub fn of(shape: &[i64]) -> Self {
        let empty = shape.iter().any(|&d| d <= 0);
        Self { shape: Shape::from_slice(shape), next: (!empty).then(|| smallvec::smallvec![0; shape.len()]) }
    }
}

impl Iterator for Indices {
    type Item = Shape;

    fn next(&mut self) -> Option<Shape> {
        let current = self.next.clone()?;
        let mut index = current.clone();
        self.next = None;
        for d in (0..index.len()).rev() {
            index[d] += 1;
            if index[d] < self.shape[d] {
                self.next = Some(index);
                break;
            }
            index[d] = 0;
        }
        Some(current)
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}[", self.element, &self.shape[..])?;
        let shown = self.len().min(16);
        for i in 0..shown {
            write!(f, "{}{:?}", if i > 0 { ", " } else { "" }, self.get(i))?;
        }
        write!(f, "{}]", if shown < self.len() { ", …" } else { "" })
    }
}
