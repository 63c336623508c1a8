//! `sparse<places, values>`: elements at places and zeros elsewhere, parsed as the equivalent dense elements.

use super::dense::Element;
use super::lexer::Tok;
use super::parser::{Parse, Parser};
use crate::ir::{Attr, AttrData, ElementType, Shape, TypeData};
use crate::literal::Literal;

/// The largest number of elements of a tensor that is expanded; larger ones stay text.
const MOST_ELEMENTS: usize = 1 << 16;

impl Parser<'_> {
    /// Parses `sparse<…> : type`. It stays text if its type isn't a tensor of known size and element type, or if it is
    /// in hex.
    pub(super) fn sparse(&mut self) -> Parse<Attr> {
        let start = self.tok.span();
        self.expect_all(&["sparse", "<"])?;
        let (mut places, mut values, mut hex) = (Vec::new(), Vec::new(), false);
        if !self.at(">") {
            hex |= self.sparse_part(&mut places)?;
            self.expect(",")?;
            hex |= self.sparse_part(&mut values)?;
        }
        self.expect_all(&[">", ":"])?;
        let whole = start.to(self.tok.span());
        let ty = self.ty()?;
        let tensor = match self.program.type_data(ty) {
            TypeData::Tensor(t) if !hex && !matches!(t.element, ElementType::Other(_)) => Some(t.clone()),
            _ => None,
        };
        let count = tensor.as_ref().and_then(|t| t.elements()).filter(|&count| count <= MOST_ELEMENTS);
        let (Some(tensor), Some(count)) = (tensor, count) else {
            let text = self.text_from(start.start as usize);
            return Ok(self.program.intern_attr(AttrData::Opaque(text)));
        };
        let (element, rank) = (tensor.element, tensor.shape.len());
        let per = if element.is_complex() { 2 } else { 1 };
        let Some(places) = self.places(&places, &tensor.shape) else {
            return self.fail(
                whole,
                format!("expected each place to have {rank} numbers inside {}", self.program.type_text(ty)),
            );
        };
        let splat = values.len() == per;
        if values.len() != places.len() * per && !splat {
            let message = format!("the literal has {} values for {} places", values.len() / per, places.len());
            return self.fail(whole, message);
        }
        let width = element.bytes();
        let mut bytes = vec![0; count * width];
        for (i, &place) in places.iter().enumerate() {
            let from = if splat { 0 } else { i * per };
            let Some(value) = self.element_value(&values[from..from + per], element) else {
                return self.fail(whole, format!("not a value of {}", self.program.element_text(element)));
            };
            let mut encoded = Vec::with_capacity(width);
            value.encode(element, &mut encoded);
            bytes[place * width..][..width].copy_from_slice(&encoded);
        }
        let literal = Literal::from_bytes(element, &tensor.shape, bytes);
        Ok(self.program.intern_attr(AttrData::Dense(ty, literal)))
    }

    /// Parses one element or a list of elements; returns whether it is in hex.
    fn sparse_part(&mut self, elements: &mut Vec<Element>) -> Parse<bool> {
        let hex = self.tok.kind == Tok::Str;
        if self.at("[") {
            self.dense_list(elements, &mut Shape::new(), 0)?;
        } else {
            self.dense_element(elements)?;
        }
        Ok(hex)
    }

    /// Returns the positions of elements in row-major order; `None` if one is outside the tensor. A single number is
    /// used for every dimension.
    fn places(&self, given: &[Element], shape: &[i64]) -> Option<Vec<usize>> {
        let number = |e: &Element| match self.element_value(&[*e], ElementType::I64)? {
            crate::scalar::Scalar::Int(n) => i64::try_from(n).ok(),
            _ => None,
        };
        let mut numbers = given.iter().map(number).collect::<Option<Vec<i64>>>()?;
        if numbers.len() == 1 {
            numbers = vec![numbers[0]; shape.len()];
        }
        if shape.is_empty() || numbers.len() % shape.len() != 0 {
            return numbers.is_empty().then(Vec::new);
        }
        let place = |numbers: &[i64]| {
            numbers
                .iter()
                .zip(shape)
                .try_fold(0, |at: usize, (&n, &size)| (0..size).contains(&n).then(|| at * size as usize + n as usize))
        };
        numbers.chunks(shape.len()).map(place).collect()
    }
}
