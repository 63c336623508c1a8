//! Elements of any type, one at a time.

use dialect::ir::ElementType;
use dialect::scalar::Scalar;

use super::{View, ViewMut};

impl View<'_> {
    /// Returns element `index` of a tensor of this type.
    pub(crate) fn get(&self, element: ElementType, index: usize) -> Scalar {
        decode(self.bytes, element, index)
    }
}

impl ViewMut<'_> {
    /// Returns element `index` of a tensor of this type.
    pub(crate) fn get(&self, element: ElementType, index: usize) -> Scalar {
        decode(self.bytes, element, index)
    }

    /// Writes element `index` of a tensor of this type.
    pub(crate) fn set(&mut self, element: ElementType, index: usize, value: Scalar) {
        let n = element.bytes();
        let to = &mut self.bytes[index * n..][..n];
        match (value, element) {
            (Scalar::Float(v), ElementType::F32) => to.copy_from_slice(&(v as f32).to_le_bytes()),
            (Scalar::Float(v), ElementType::F64) => to.copy_from_slice(&v.to_le_bytes()),
            _ => {
                let mut bytes = Vec::with_capacity(16);
                value.encode(element, &mut bytes);
                to.copy_from_slice(&bytes);
            }
        }
    }
}

fn decode(bytes: &[u8], element: ElementType, index: usize) -> Scalar {
    let n = element.bytes();
    Scalar::decode(element, &bytes[index * n..][..n])
}
