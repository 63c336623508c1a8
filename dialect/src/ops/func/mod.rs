//! `builtin.module` and the `func` dialect: functions, their returns, calls.
//!
//! Stored as in MLIR: a module and a function are ops with one region; a function's name, type, visibility and the
//! dictionaries of its arguments and results are attributes. `signature` reads and changes these attributes, `devices`
//! reads the number of devices of the module. Source: MLIR's builtin and func dialects.

mod devices;
mod signature;
mod text;

pub use devices::{declared_devices, declared_partitions, num_partitions, num_replicas, set_devices};
pub use signature::{
    ARG_ATTRS, FUNCTION_TYPE, RES_ATTRS, SHARDING, Signature, add_argument, arg_attr, arg_sharding, block, function,
    functions, functions_by_name, has_branches, is_donated, new_function, remove_arg_attr, remove_result_attr,
    result_attr, result_sharding, set_arg_attr, set_arg_attrs, set_result_attr, set_result_attrs, set_signature,
    signature, symbol,
};

use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::OpRef;
use crate::literal::Literal;
use crate::op::{Control, Inferred, OpDef, Problem};
use crate::ops::support::constraint::Checked;
use crate::ops::support::terminator::Terminator;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[&MODULE, &FUNC, &RETURN, &CALL];

/// The name of the module op.
pub const MODULE_NAME: &str = "builtin.module";

/// `builtin.module`: the outermost op.
pub struct Module;
/// `builtin.module`
pub static MODULE: Module = Module;

impl OpDef for Module {
    fn name(&self) -> &'static str {
        "builtin.module"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::MODULE)
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        Ok(Vec::new())
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("a module can't be evaluated; run one of its functions"))
    }

    fn isolated(&self) -> bool {
        true
    }
}

/// `func.func`: a function.
pub struct Func;
/// `func.func`
pub static FUNC: Func = Func;

impl OpDef for Func {
    fn name(&self) -> &'static str {
        "func.func"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::FUNC)
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        Ok(Vec::new())
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("a function can't be evaluated where it is defined; call it"))
    }

    fn isolated(&self) -> bool {
        true
    }
}

/// `func.return`: ends a function; its operands are the function's results.
pub static RETURN: Terminator = Terminator {
    name: "func.return",
    syntax: &[Piece::AttrDict, Piece::Operands, Piece::Types(TypeForm::OperandsOnly)],
};

/// Returns whether an op is a function.
pub fn is_function(op: OpRef<'_>) -> bool {
    op.name() == FUNC.name()
}

/// Returns whether an op is a call of a function.
pub fn is_call(op: OpRef<'_>) -> bool {
    op.name() == CALL.name()
}

/// An op that runs the function its attribute `callee` names.
pub struct Call {
    /// Its full name.
    pub(crate) name: &'static str,
    /// Checks its other attributes.
    pub(crate) check: fn(OpRef<'_>) -> Checked<()>,
}
/// `func.call`
pub static CALL: Call = Call { name: "func.call", check: |_| Ok(()) };

/// Returns the name of the function that an op calls, if it is a call or a composite.
pub fn callee<'a>(op: OpRef<'a>) -> Option<&'a str> {
    op.attr("callee").or_else(|| op.attr("decomposition"))?.as_symbol()
}

impl OpDef for Call {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::CALL)
    }

    /// Returns the declared types; the module's verifier, which has all symbols, checks them against the callee's.
    fn infer(&self, op: OpRef<'_>) -> Inferred {
        (self.check)(op)?;
        if callee(op).is_none() {
            return Err(Problem::new("a call needs the name of a function").note("write `call @name(…)`").into());
        }
        Ok(op.result_types().cloned().collect())
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let callee = callee(op).ok_or_else(|| EvalError::new("a call without the name of a function"))?;
        cx.call(callee, operands, mask)
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Call)
    }
}
