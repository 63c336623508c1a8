//! Ops whose only region runs once, over the operands.

use smallvec::smallvec;

use crate::eval::{Context, LaneResults, Lanes, Mask};
use crate::ir::{OpRef, TypeData, Value};
use crate::op::{Control, DataFlow, Inferred, OpDef, Problem};
use crate::ops::stablehlo::control::region;
use crate::ops::support::constraint::require;
use crate::text::{CustomSyntax, Syntax};

/// An op whose only region runs once, over the operands: a named computation or a fragment.
pub struct InlineRegion {
    /// Its full name.
    pub name: &'static str,
    /// Its text.
    pub syntax: &'static CustomSyntax,
    /// Returns the result types, or the violated constraints.
    pub infer: fn(OpRef<'_>) -> Inferred,
    /// Whether shardings flow between operands and the region's arguments, and between its results and the op's.
    pub has_flow: bool,
    /// Its examples.
    pub examples: &'static [&'static str],
}

impl OpDef for InlineRegion {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(self.syntax)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        (self.infer)(op)
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        cx.region(region(op, 0)?, operands, mask)
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Inline)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        if self.has_flow { region_flow(op) } else { Vec::new() }
    }
}

/// Checks that region 0 takes values of `types`, which are those of the operands or of their shards.
pub(crate) fn check_arguments<'a>(op: OpRef<'a>, types: impl Iterator<Item = &'a TypeData>) -> Result<(), Problem> {
    let types: Vec<TypeData> = types.cloned().collect();
    let arguments = types_of(op, op.region_args(0));
    let fits = arguments == types;
    require!(fits, "the body takes ({}), but the operands are ({})", type_list(op, &arguments), type_list(op, &types));
    Ok(())
}

/// Returns the types of the results of region 0.
pub(crate) fn returned_types(op: OpRef<'_>) -> Vec<TypeData> {
    types_of(op, op.region_results(0))
}

fn types_of(op: OpRef<'_>, values: &[Value]) -> Vec<TypeData> {
    values.iter().map(|&v| op.program.type_data(op.program.value_type(v)).clone()).collect()
}

/// Returns the text `A, B`.
pub(crate) fn type_list(op: OpRef<'_>, types: &[TypeData]) -> String {
    types.iter().map(|ty| op.program.type_data_text(ty)).collect::<Vec<_>>().join(", ")
}

/// Returns the flow of operands to the arguments of region 0, and of its returned values to the results.
pub(crate) fn region_flow(op: OpRef<'_>) -> Vec<DataFlow> {
    let edge = |owner: Value, source: Value| DataFlow { owner, sources: smallvec![source], targets: smallvec![owner] };
    let args = op.region_args(0).iter().zip(op.operands()).map(|(&arg, &operand)| edge(arg, operand));
    let results = op.results().zip(op.region_results(0)).map(|(result, &returned)| edge(result, returned));
    args.chain(results).collect()
}
