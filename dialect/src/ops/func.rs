//! `builtin.module` and functions.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::OpRef;
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};

macro_rules! structural {
    ($($ty:ident $stat:ident $name:literal),*) => {$(
        #[doc = concat!("`", $name, "`")]
        pub struct $ty;
        #[doc = concat!("`", $name, "`")]
        pub static $stat: $ty = $ty;
        impl OpDef for $ty {
            fn name(&self) -> &'static str { $name }
            fn infer(&self, op: OpRef<'_>) -> Inferred { Ok(op.result_types().cloned().collect()) }
            fn evaluate(&self, op: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
                Err(EvalError::new(format!("'{}' is no computation", op.name())))
            }
            fn examples(&self) -> &'static [&'static str] { &[] }
        }
    )*};
}
structural!(Module MODULE "builtin.module", Func FUNC "func.func", Return RETURN "func.return", Call CALL "func.call");
