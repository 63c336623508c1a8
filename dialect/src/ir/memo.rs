//! A cache of facts about ops that passes compute from the ops' contents, for later passes.

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
    /// Takes the value stored by [`Self::keep_memo`] if it has type `T`, or else the default. The value may use ids of
    /// names, types and attributes as keys, which never change, but not ids of ops and values, which passes change.
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
