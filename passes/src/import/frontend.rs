//! Shardy shardings stored as text in `mhlo.frontend_attributes`, the form in which XLA keeps them across HLO:
//! `xla.sdy.meshes` of the module, `xla.sdy.sharding` of arguments and of calls of `@Sharding` and
//! `@xla.sdy.FuncResultSharding`. They override `mhlo.sharding`, which states the same shardings in less detail.
//! Source: XLA, `sdy_round_trip_import`.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Attr, AttrData, Name, Op, Program};
use dialect::op::{OpDef, Registry};
use dialect::ops::mhlo::{FRONTEND_ATTRIBUTES as FRONTEND, SHARDING as ANNOTATION};
use dialect::ops::{build, func, sdy};
use dialect::sharding::{AxisList, AxisRef, Mesh, MeshRef, TensorSharding};

use super::annotations::{constrain, target};

const MESHES: &str = "xla.sdy.meshes";
const SHARDING: &str = "xla.sdy.sharding";
const RESULT: &str = "xla.sdy.FuncResultSharding";

/// Returns whether any op or argument has such attributes.
pub(super) fn is_present(program: &Program) -> bool {
    let argument = |f: Op| {
        let count = func::signature(program, f).inputs.len().max(func::signature(program, f).results.len());
        (0..count).any(|i| {
            func::arg_attr(program, f, i, FRONTEND).is_some() || func::result_attr(program, f, i, FRONTEND).is_some()
        })
    };
    program.attr(program.module, FRONTEND).is_some()
        || func::functions(program).any(argument)
        || program.ops_under(program.body()).into_iter().any(|op| program.attr(op, FRONTEND).is_some())
}

/// Reads all such attributes.
pub(super) fn read(program: &mut Program, diagnostics: &mut Diagnostics) {
    read_meshes(program, diagnostics);
    for function in func::functions(program).collect::<Vec<_>>() {
        read_function(program, function, diagnostics);
    }
    for op in program.ops_under(program.body()) {
        let Some(text) = take(program, program.attr(op, FRONTEND), SHARDING) else { continue };
        let span = program.op(op).span;
        let Some(list) = shardings(program, &text, span, diagnostics) else { continue };
        match (target(program, op), list.as_slice()) {
            (Some("Sharding"), [one]) => constrain(program, op, one.clone()),
            (Some(RESULT), [one]) => set_result(program, op, one),
            _ => {
                program.remove_attr(op, ANNOTATION);
                let attr = program.intern_attr(AttrData::ShardingPerValue(list));
                program.set_attr(op, func::SHARDING, attr);
            }
        }
    }
}

/// Returns the string of `key` in a dictionary. Bytes that aren't text are no sharding either; reading them reports
/// that.
fn take(program: &Program, dictionary: Option<Attr>, key: &str) -> Option<String> {
    let AttrData::Dict(entries) = program.attr_data(dictionary?) else { return None };
    let (_, attr) = entries.iter().find(|(name, _)| program.name_text(*name) == key)?;
    match program.attr_data(*attr) {
        AttrData::String(text) => Some(text.shown().into_owned()),
        _ => None,
    }
}

fn read_meshes(program: &mut Program, diagnostics: &mut Diagnostics) {
    let Some(text) = take(program, program.attr(program.module, FRONTEND), MESHES) else { return };
    // The text is of the form `{mesh = #sdy.mesh<["x"=2]>}`.
    let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
    let source: String = inner
        .split("#sdy.mesh")
        .scan(String::new(), |name, piece| {
            let (body, next) = piece.rsplit_once('>').map_or(("", piece), |(body, next)| (body, next));
            let line =
                if body.is_empty() { String::new() } else { format!("{} @{name} = {body}>\n", sdy::MESH.name()) };
            *name = next.trim().trim_start_matches(',').trim().trim_end_matches('=').trim().to_owned();
            Some(line)
        })
        .collect();
    let span = program.op(program.module).span;
    let Some(other) = parsed(program.registry(), &source, &text, span, diagnostics) else { return };
    let mut ops = Vec::new();
    for (_, symbol, mesh) in sdy::meshes(&other) {
        if sdy::mesh_named(program, symbol).is_none() {
            let mesh = Names { from: &other, to: program }.mesh(mesh);
            ops.push(build::sdy::mesh(program, symbol, mesh));
        }
    }
    program.prepend(ops);
}

fn read_function(program: &mut Program, function: Op, diagnostics: &mut Diagnostics) {
    let arguments = func::block(program, function).map(|b| program.block_args(b).to_vec()).unwrap_or_default();
    for (i, &argument) in arguments.iter().enumerate() {
        let dictionary = func::arg_attr(program, function, i, FRONTEND);
        let Some(text) = take(program, dictionary, SHARDING) else { continue };
        let span = program.value_span(argument);
        let Some(sharding) = shardings(program, &text, span, diagnostics).and_then(|mut list| list.pop()) else {
            continue;
        };
        func::remove_arg_attr(program, function, i, ANNOTATION);
        if func::arg_sharding(program, function, i).is_none() {
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            func::set_arg_attr(program, function, i, func::SHARDING, attr);
        }
    }
}

/// Applies the sharding of a call of `@xla.sdy.FuncResultSharding` to the function results that return its value.
fn set_result(program: &mut Program, op: Op, sharding: &TensorSharding) {
    program.remove_attr(op, ANNOTATION);
    let value = program.result(op, 0);
    for (function, block) in program.functions() {
        let Some(end) = program.terminator(block) else { continue };
        for i in 0..program.op(end).operands.len() {
            if program.op(end).operands[i] == value && func::result_sharding(program, function, i).is_none() {
                func::remove_result_attr(program, function, i, ANNOTATION);
                let attr = program.intern_attr(AttrData::Sharding(sharding.clone()));
                func::set_result_attr(program, function, i, func::SHARDING, attr);
            }
        }
    }
}

/// Parses the shardings in `text`: a single one, or a list for several values.
fn shardings(
    program: &mut Program,
    text: &str,
    span: Span,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<TensorSharding>> {
    let other =
        parsed(program.registry(), &format!("\"a.value\"() {{value = {text}}} : () -> ()"), text, span, diagnostics)?;
    let op = other.ops_under(other.body()).into_iter().next()?;
    let list = match other.attr(op, "value").map(|a| other.attr_data(a)) {
        Some(AttrData::Sharding(one)) => vec![one.clone()],
        Some(AttrData::ShardingPerValue(list)) => list.clone(),
        _ => return None,
    };
    let mut names = Names { from: &other, to: program };
    Some(list.iter().map(|s| names.sharding(s)).collect())
}

/// Parses the text of a string attribute as a separate program.
fn parsed(registry: &Registry, source: &str, text: &str, span: Span, diagnostics: &mut Diagnostics) -> Option<Program> {
    let mut inside = Diagnostics::default();
    let program = dialect::parse_with(source, registry, &mut inside);
    if inside.has_errors() {
        let message = format!("'{text}' can't be read");
        diagnostics.push(
            Diagnostic::error(codes::FRONTEND_ATTRIBUTES, span, message).note("write it as #sdy.sharding<@mesh, […]>"),
        );
        return None;
    }
    Some(program)
}

/// Maps names of one program to another.
struct Names<'a> {
    from: &'a Program,
    to: &'a mut Program,
}

impl Names<'_> {
    fn name(&mut self, name: Name) -> Name {
        self.to.name(self.from.name_text(name))
    }

    fn mesh(&mut self, mesh: &Mesh) -> Mesh {
        let axes = mesh.axes.iter().map(|&(name, size)| (self.name(name), size)).collect();
        Mesh { axes, device_ids: mesh.device_ids.clone() }
    }

    fn axes(&mut self, axes: &AxisList) -> AxisList {
        axes.iter().map(|&axis| AxisRef { name: self.name(axis.name), ..axis }).collect()
    }

    fn sharding(&mut self, sharding: &TensorSharding) -> TensorSharding {
        let mut out = sharding.clone();
        out.mesh = match &sharding.mesh {
            MeshRef::Symbol(name) => MeshRef::Symbol(self.name(*name)),
            MeshRef::Inline(mesh) => MeshRef::Inline(Box::new(self.mesh(mesh))),
        };
        for dim in &mut out.dims {
            dim.axes = self.axes(&dim.axes);
        }
        out.replicated = self.axes(&sharding.replicated);
        out.unreduced = self.axes(&sharding.unreduced);
        out
    }
}
