//! A cache of what passes compute from the contents of ops, so that later passes needn't compute it again. A pass must
//! return the same program with an empty cache.

use std::any::Any;

use super::program::Program;

/// Holds one value of any type. A copy of a program starts with an empty memo, because new entries of its tables get
/// other ids.
#[derive(Default)]
pub(super) struct Memo(Option<Box<dyn Any + Send + Sync>>);

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Program {
    /// Takes the value stored by [`Self::keep_memo`] if it has type `T`, or else the default. Its keys may be ids of
    /// names, types and attributes: hash-consed tables only grow, so such an id means the same as long as the program
    /// exists. Its keys must not be ids of ops and values, which passes change in place.
    pub fn take_memo<T: Any + Send + Sync + Default>(&mut self) -> T {
        self.memo.0.take().and_then(|kept| kept.downcast().ok()).map(|kept| *kept).unwrap_or_default()
    }

    /// Stores `memo`, replacing the value stored before.
    pub fn keep_memo<T: Any + Send + Sync>(&mut self, memo: T) {
        self.memo.0 = Some(Box::new(memo));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_kept_for_those_of_its_type_and_not_copied() {
        let mut program = Program::new();
        program.keep_memo(vec![1, 2]);
        assert_eq!(program.clone().take_memo::<Vec<i32>>(), []);
        assert_eq!(program.take_memo::<Vec<i32>>(), [1, 2]);
        assert_eq!(program.take_memo::<Vec<i32>>(), []);
        program.keep_memo(vec![3]);
        assert_eq!(program.take_memo::<String>(), "");
    }
}
