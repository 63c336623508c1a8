//! import: inlines calls and named computations, expands composite ops and reads annotations from before Shardy, so
//! that later passes see one function of plain ops with Shardy's shardings.
//!
//! Requires a verified module. Leaves no call, and no private functions except those that custom calls name. The
//! location of an inlined op includes its call site.

mod annotations;
mod constraints;
mod frontend;
mod hlo_sharding;
mod inline;
mod memory;
mod meshes;
mod parts;
mod shard_map;
mod tuples;

use dialect::codes;
use dialect::collective::with_its_mesh;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, Program, Renaming, Stage};
use dialect::op::Control;
use dialect::ops::{func, sdy};

use self::constraints::{constrain_first, constrained, expected_by_collective, stated};
use crate::compile_options::Field;
use crate::estimate::state_trips;
use crate::options::OptionDef;
use crate::symbols::remove_unused_functions;

pub use meshes::unify_meshes;

/// Reads old annotations, inlines every call and expands every composite op.
pub fn import(program: &mut Program, diagnostics: &mut Diagnostics) {
    if !crate::mpmd::is_on_one_mesh(program, diagnostics) {
        return;
    }
    annotations::read(program, diagnostics);
    parts::state(program);
    // Calls are inlined first, since expanding an op may need the result of a called function, such as the shape of a
    // reshape.
    inline::inline_calls(program, diagnostics);
    if diagnostics.has_errors() {
        return;
    }
    remove_unused_functions(program);
    let bodies: Vec<Block> = func::functions(program).filter_map(|op| func::block(program, op)).collect();
    let mut pass = Import { program, diagnostics, has_tuples: false };
    for &body in &bodies {
        pass.block(body, false, &mut Renaming::default());
    }
    let has_tuples = pass.has_tuples;
    if diagnostics.has_errors() {
        return;
    }
    if has_tuples {
        bodies.into_iter().for_each(|body| tuples::take_apart(program, body));
    }
    memory::state(program);
}

struct Import<'a> {
    program: &'a mut Program,
    diagnostics: &'a mut Diagnostics,
    /// Whether any op reads a tuple.
    has_tuples: bool,
}

impl Import<'_> {
    /// Expands the ops in `block` and in its regions; `renaming` maps their results. Drops constraints in regions that
    /// compute on single elements (`of_elements`), where they have no meaning.
    fn block(&mut self, block: Block, of_elements: bool, renaming: &mut Renaming) {
        let mut ops = Vec::new();
        for op in self.program.block_ops(block).to_vec() {
            let expected = expected_by_collective(self.program, op, |_, operand| renaming.value(operand) != operand);
            for operand in &mut self.program.op_mut(op).operands {
                *operand = renaming.value(*operand);
            }
            if of_elements && sdy::stated_sharding(self.program.view(op)).is_some() {
                let operands = self.program.op(op).operands.to_vec();
                renaming.values.extend(self.program.results(op).zip(operands));
                continue;
            }
            if let Some(expected) = expected {
                constrain_first(self.program, op, expected, &mut ops);
            }
            if self.program.op(op).def.control(self.program.view(op)) == Some(Control::Inline) {
                self.in_place(op, &mut ops, renaming);
                continue;
            }
            let of_elements = of_elements || self.program.op(op).def.control(self.program.view(op)).is_none();
            for region in self.program.op(op).regions.clone() {
                for inner in self.program.region_blocks(region).to_vec() {
                    self.block(inner, of_elements, renaming);
                }
            }
            self.has_tuples |= tuples::reads_one(self.program.view(op));
            self.axes_of_a_mesh(op);
            self.mesh_of_groups(op);
            let (def, loc) = (self.program.op(op).def, self.program.op(op).loc);
            match def.expand(op, &mut Builder::new(self.program, &mut ops, loc)) {
                Some(values) => renaming.values.extend(self.program.results(op).zip(values)),
                None => ops.push(op),
            }
        }
        self.program.set_block_ops(block, ops);
    }

    /// Appends the body of a named computation to `ops`; its stated shardings become constraints.
    fn in_place(&mut self, op: Op, ops: &mut Vec<Op>, renaming: &mut Renaming) {
        let Some(body) = self.program.region_block(op, 0) else { return };
        let operands = self.program.op(op).operands.to_vec();
        let arguments = self.program.block_args(body).to_vec();
        let inside = constrained(self.program, op, &stated(self.program, op, sdy::IN_SHARDINGS), operands, ops);
        renaming.values.extend(arguments.into_iter().zip(inside));
        self.block(body, false, renaming);
        let mut inner = self.program.block_ops(body).to_vec();
        let Some(last) = inner.pop() else { return };
        ops.extend(inner);
        let returned = self.program.op(last).operands.to_vec();
        let outside = constrained(self.program, op, &stated(self.program, op, sdy::OUT_SHARDINGS), returned, ops);
        renaming.values.extend(self.program.results(op).zip(outside));
    }

    /// Reports manual axes that belong to no mesh: they must be axes of the mesh that the shardings name or, without
    /// shardings, of any mesh of the module. A body without ops is valid with any axes.
    fn axes_of_a_mesh(&mut self, op: Op) {
        let view = self.program.view(op);
        let Some(manual) = sdy::ManualComputation::of(view) else { return };
        let works = view.block(0).is_some_and(|body| self.program.block_ops(body).len() > 1);
        if works && manual.mesh.is_none() && !manual.manual_axes.is_empty() {
            let span = view.span();
            self.fail(
                codes::UNKNOWN_MESH,
                span,
                "no mesh has the manual axes".to_owned(),
                "define a mesh that has them, or leave manual_axes empty",
            );
        }
    }

    /// Writes the mesh itself into groups along mesh axes, because the program may not keep the mesh's symbol.
    fn mesh_of_groups(&mut self, op: Op) {
        let view = self.program.view(op);
        if let Some(rule) = view.def().groups(view)
            && let Some(groups) = view.attr_id(rule.attribute)
            && let Some(own) = with_its_mesh(self.program, groups)
        {
            self.program.set_attr(op, rule.attribute, own);
        }
    }

    fn fail(&mut self, code: codes::Code, span: Span, message: String, note: &str) {
        self.diagnostics.push(Diagnostic::error(code, span, message).note(note));
    }
}

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "import",
    doc: "Inlines calls, expands composite ops and reads mhlo.sharding, which leaves one function of plain ops.",
    effect: crate::Effect::Reach(Stage::Imported),
    options: &[OptionDef::field(
        "trip-count",
        Field::TripCount,
        "-1",
        "The number of iterations of each loop whose condition doesn't determine it; -1 for the model's default.",
    )],
    run: |program, options, diagnostics| {
        import(program, diagnostics);
        if let Some(count) = options.compile.trip_count {
            state_trips(program, count.into());
        }
    },
};

/// The pass.
pub static UNIFY_MESHES: crate::Pass = crate::Pass {
    name: "unify-meshes",
    doc: "Rewrites shardings over several meshes of the same devices into shardings over one mesh.",
    effect: crate::Effect::Rewrite,
    options: &[],
    run: |program, _, diagnostics| unify_meshes(program, diagnostics),
};
