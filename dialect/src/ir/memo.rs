//! What passes find out about ops by their contents, for the passes after them.

use std::any::Any;

use super::program::Program;

/// Holds one thing of any type. A copy of a program begins without: what its tables will get has other ids there.
#[derive(Default)]
pub(super) struct Memo(Option<Box<dyn Any + Send + Sync>>);

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Program {
    /// What [`Self::keep_memo`] kept, if that was of this type, or the default. It may be looked up by ids of names, types
    /// and attributes, which stay what they are, but not by those of ops and values, which passes change.
    pub fn take_memo<T: Any + Send + Sync + Default>(&mut self) -> T {
        self.memo.0.take().and_then(|kept| kept.downcast().ok()).map(|kept| *kept).unwrap_or_default()
    }

    /// Keeps `memo` in place of what was kept before.
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
