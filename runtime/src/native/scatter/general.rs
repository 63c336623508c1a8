//! Scatters of any types, of several inputs or by any scalar region: one element after the other.

use dialect::ir::ElementType;
use dialect::kernel::Body;
use dialect::scalar::Scalar;
use rustc_hash::FxHashMap;

use super::places::Places;
use crate::native::scalars::Evaluator;
use crate::native::{Native, View, ViewMut};

pub(super) struct General {
    pub places: Places,
    pub body: Body,
    /// Whether the updates of an element are added in f64, and rounded once.
    pub sums: bool,
    /// The type of each input, its updates and its result.
    pub types: Vec<ElementType>,
}

impl Native for General {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) -> Result<(), String> {
        let n = self.types.len();
        // Places in the updates and in the inputs.
        let mut elements: Vec<(usize, usize)> = Vec::new();
        self.places.runs(operands[n], |input, update, len| {
            elements.extend((0..len).map(|i| (update + i, input + i)));
        });
        elements.sort_unstable();
        let updates = &operands[n + 1..];
        if self.sums {
            let ty = self.types[0];
            let mut sums: FxHashMap<usize, f64> = FxHashMap::default();
            for (update, input) in elements {
                let old = || results[0].get(ty, input).as_f64();
                *sums.entry(input).or_insert_with(old) += updates[0].get(ty, update).as_f64();
            }
            sums.into_iter().for_each(|(input, sum)| results[0].set(ty, input, Scalar::Float(sum)));
            return Ok(());
        }
        let mut evaluator = Evaluator::new(&self.body);
        let (mut old, mut new) = (vec![Scalar::Int(0); n], vec![Scalar::Int(0); n]);
        for (update, input) in elements {
            for i in 0..n {
                old[i] = results[i].get(self.types[i], input);
                new[i] = updates[i].get(self.types[i], update);
            }
            let values = evaluator.run(&new, &old);
            for (i, &value) in values.iter().enumerate() {
                results[i].set(self.types[i], input, value);
            }
        }
        Ok(())
    }
}
