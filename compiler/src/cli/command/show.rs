//! `shardc show`: draws the devices that hold each shard.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use clap::ValueEnum;
use dialect::ir::{AttrData, Name, Op, Program, TensorType, Value};
use dialect::op::OpDef as _;
use dialect::ops::{func, sdy};
use dialect::sharding::{Mesh, ShardingTable, TensorSharding};
use serde::Serialize;

use super::Common;
use crate::cli::cells::Cells;
use crate::cli::phrase;
use crate::cli::picture::{self, PicturePart, Style, draw_cells, draw_mesh};
use crate::cli::session::{Failure, Outcome, Session};
use crate::cli::svg;
use crate::units;
use crate::{CompileOptions, near_values, value_name, values_called, written_name};

const EXAMPLES: &str = "\
Examples:
  shardc show model.mlir                    the meshes, and the arguments and results of @main
  shardc show model.mlir --value %4         one value
  shardc show model.mlir --value \"params['w']\"   an argument by its name in JAX
  shardc show model.mlir --all              every value
  shardc show model.mlir --after none       as annotated, before propagation
  shardc show model.mlir --html -o a.html   for a browser; --svg for a document

Each box is a block of the tensor with the devices that hold it: '0-3' hold the same elements,
'0+4' hold partial results whose sum is the block (unreduced).";

/// Draw which device holds which shard of each value
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    common: Common,
    /// Draw these values, named as in the program, %4, or as in JAX, params['w']
    #[arg(long, value_name = "NAME")]
    value: Vec<String>,
    /// Draw every value that has a sharding
    #[arg(long)]
    all: bool,
    /// Draw the shardings after this step: none for the annotations, or propagation
    #[arg(long, value_enum, default_value = "propagate")]
    after: After,
    /// The dimensions drawn down and across, instead of those that are sharded
    #[arg(long, value_name = "R,C", value_parser = two_dims)]
    dims: Option<(usize, usize)>,
    /// The function whose values to draw
    #[arg(long, default_value = "main")]
    function: String,
    /// Draw as a page for a browser
    #[arg(long, conflicts_with = "svg")]
    html: bool,
    /// Draw as an SVG picture
    #[arg(long)]
    svg: bool,
    /// The maximum width of the pictures in columns
    #[arg(long, default_value_t = 100)]
    width: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum After {
    None,
    Propagate,
}

fn two_dims(text: &str) -> Result<(usize, usize), String> {
    let parts: Vec<usize> = text.split(',').filter_map(|p| p.trim().parse().ok()).collect();
    match parts.as_slice() {
        [r, c] if r != c => Ok((*r, *c)),
        _ => Err("two different dimensions with a comma between, like 0,2".to_owned()),
    }
}

/// An item to draw.
struct ShownItem {
    title: String,
    ty: TensorType,
    sharding: Option<TensorSharding>,
    /// The manual axes of the manual computations around it: along them, devices hold different tensors.
    manual: Vec<Name>,
}

/// The document of `--json`.
#[derive(Serialize)]
struct ShowDocument {
    meshes: Vec<ShownMesh>,
    values: Vec<ShownValue>,
}

#[derive(Serialize)]
struct ShownMesh {
    name: String,
    /// The names and sizes of the axes.
    axes: Vec<(String, i64)>,
    devices: i64,
}

#[derive(Serialize)]
struct ShownValue {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    /// Absent if the compiler chooses it.
    sharding: Option<String>,
    /// The sizes of one device's shard, padding included; absent if they are unknown before the program runs.
    shard: Option<Vec<i64>>,
    /// The bytes of one device's shard.
    shard_bytes: Option<u64>,
}

impl ShowDocument {
    fn of(program: &Program, items: &[ShownItem]) -> Self {
        let meshes = program.top_level(sdy::MESH.name()).filter_map(|op| {
            let mesh = program.view(op).attr("mesh").and_then(AttrData::as_mesh)?;
            let axes = mesh.axes.iter().map(|&(name, size)| (program.name_text(name).to_owned(), size)).collect();
            Some(ShownMesh { name: func::symbol(program, op)?.to_owned(), axes, devices: mesh.devices() })
        });
        let value = |item: &ShownItem| {
            let mesh = item.sharding.as_ref().and_then(|s| Some((s, sdy::resolve(program, &s.mesh)?)));
            let shard = mesh.filter(|_| item.ty.is_static()).map(|(s, mesh)| Cells::new(&item.ty.shape, s, mesh).shard);
            let bytes = |sizes: &[i64]| {
                let elements = sizes.iter().fold(1u64, |n, &size| n.saturating_mul(size as u64));
                elements.saturating_mul(item.ty.element.bytes() as u64)
            };
            let shard = shard.map(|shard| shard.shape().to_vec());
            ShownValue {
                name: item.title.clone(),
                ty: program.type_data_text(&item.ty.clone().into()),
                sharding: item.sharding.as_ref().map(|sharding| program.sharding_text(sharding)),
                shard_bytes: shard.as_deref().map(bytes),
                shard,
            }
        };
        Self { meshes: meshes.collect(), values: items.iter().map(value).collect() }
    }
}

/// Runs the command.
pub(crate) fn run(args: &ShowArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let name = source.name.clone();
    let module = match args.after {
        After::None => {
            let parsed = session.compiler.parse(source.clone());
            session.take(&source, parsed)?
        }
        After::Propagate => session.compile(source, "sharded", &CompileOptions::default())?,
    };
    let program = module.program();
    let Some(function) = func::function(program, &args.function) else {
        return Err(Failure::Usage(format!("{name} has no function @{}", args.function)));
    };
    let style =
        Style { color: session.io.out_color, width: args.width.clamp(20, 10_000), dims: args.dims, ..Style::default() };
    let mut parts = Vec::new();
    for op in program.top_level(sdy::MESH.name()) {
        show_mesh(program, op, &style, &mut parts);
    }
    let chosen = chosen(program, function, &args.value)?;
    let items = items(program, function, &chosen, args.all);
    for item in &items {
        show_item(program, item, &style, &mut parts);
    }
    session.set_document(&ShowDocument::of(program, &items));
    let out = match (args.html, args.svg) {
        (true, _) => svg::page(&name, &parts, &style),
        (_, true) => svg::svg(&parts, &style),
        _ => picture::text(&parts, &style),
    };
    session.emit(args.common.output.as_deref(), &out)
}

/// Draws the meshes of a program, and the `most` largest arguments and results of a function.
pub(crate) fn pictures(program: &Program, function: Op, style: &Style, most: usize) -> Vec<PicturePart> {
    let mut parts = Vec::new();
    for op in program.top_level(sdy::MESH.name()) {
        show_mesh(program, op, style, &mut parts);
    }
    let mut items = items(program, function, &HashSet::new(), false);
    items.sort_by_key(|item| std::cmp::Reverse(item.ty.bytes()));
    let more = items.len().saturating_sub(most);
    items.iter().take(most).for_each(|item| show_item(program, item, style, &mut parts));
    if more > 0 {
        parts.push(PicturePart::Title(format!("… and {more} smaller arguments and results")));
    }
    parts
}

fn show_mesh(program: &Program, op: Op, style: &Style, out: &mut Vec<PicturePart>) {
    let (Some(name), Some(mesh)) =
        (func::symbol(program, op), program.view(op).attr("mesh").and_then(AttrData::as_mesh))
    else {
        return;
    };
    out.push(PicturePart::Title(format!("mesh @{name}: {}, {} devices", axes_text(program, mesh), mesh.devices())));
    out.extend(draw_mesh(program, mesh, style));
    out.push(PicturePart::Gap);
}

fn axes_text(program: &Program, mesh: &Mesh) -> String {
    phrase::mesh(mesh.axes.iter().map(|&(name, size)| (program.name_text(name), size)), "one device")
}

/// Returns the values with these names.
fn chosen(program: &Program, function: Op, names: &[String]) -> Result<HashSet<Value>, Failure> {
    let Some(block) = func::block(program, function) else { return Ok(HashSet::new()) };
    let mut all: Vec<Value> = program.block_args(block).to_vec();
    program.walk(block, &mut |op| all.extend(program.results(op)));
    all.retain(|&value| program.tensor_type(value).is_some());
    let mut chosen = HashSet::new();
    for name in names {
        let found = values_called(program, &all, name.trim_end_matches(':'));
        if found.is_empty() {
            let (function, near) =
                (func::symbol(program, function).unwrap_or_default(), near_values(program, &all, name));
            return Err(Failure::Usage(format!("--value: @{function} has no tensor called {name}; {near}")));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

/// Returns the values to draw, in program order: the `chosen` ones, or `all`, or else arguments and results.
fn items(program: &Program, function: Op, chosen: &HashSet<Value>, all: bool) -> Vec<ShownItem> {
    let some = !chosen.is_empty() || all;
    let mut items = Vec::new();
    let (manual, table) = (manual_axes(program, function), ShardingTable::of(program));
    let mut add = |value: Value, title: String, sharding: Option<&TensorSharding>| {
        if let Some(ty) = program.tensor_type(value) {
            let manual = manual.get(&value).cloned().unwrap_or_default();
            items.push(ShownItem { title, ty: ty.clone(), sharding: sharding.cloned(), manual });
        }
    };
    let Some(block) = func::block(program, function) else { return items };
    for (i, &arg) in program.block_args(block).iter().enumerate() {
        if !some || all || chosen.contains(&arg) {
            add(arg, value_name(program, arg), func::arg_sharding(program, function, i));
        }
    }
    if some {
        program.walk(block, &mut |op| {
            let view = program.view(op);
            for (i, value) in view.results().enumerate() {
                if !all && !chosen.contains(&value) {
                    continue;
                }
                let Some(name) = written_name(program, value) else { continue };
                let name = if view.result_count() > 1 { format!("{name}#{i}") } else { name };
                add(value, name, table.get(value).map(|s| &**s));
            }
        });
    }
    if let Some(end) = program.terminator(block).filter(|_| !some || all) {
        for (i, &value) in program.op(end).operands.iter().enumerate() {
            add(value, format!("result {i}"), func::result_sharding(program, function, i));
        }
    }
    items
}

/// Returns the manual axes around each value in a manual computation.
fn manual_axes(program: &Program, function: Op) -> HashMap<Value, Vec<Name>> {
    let mut around: HashMap<Value, Vec<Name>> = HashMap::new();
    let Some(block) = func::block(program, function) else { return around };
    program.walk(block, &mut |op| {
        let Some(manual) = sdy::ManualComputation::of(program.view(op)) else { return };
        for &inner in program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)) {
            for value in program.values_under(inner) {
                around.entry(value).or_default().extend(manual.manual_axes);
            }
        }
    });
    around
}

fn show_item(program: &Program, item: &ShownItem, style: &Style, out: &mut Vec<PicturePart>) {
    let ty = program.type_data_text(&item.ty.clone().into());
    let mut title = format!("{}: {ty}", item.title);
    if !item.manual.is_empty() {
        let axes: Vec<String> = item.manual.iter().map(|&axis| format!("\"{}\"", program.name_text(axis))).collect();
        let _ =
            write!(title, "  a different tensor for each device along {}, in a manual computation", axes.join(", "));
        if item.sharding.as_ref().is_none_or(TensorSharding::is_fully_replicated) {
            return out.extend([PicturePart::Title(title), PicturePart::Gap]);
        }
    }
    let Some(sharding) = &item.sharding else {
        let none = "no sharding yet: the compiler will choose one";
        return out.extend([PicturePart::Title(format!("{title}  {none}")), PicturePart::Gap]);
    };
    out.push(PicturePart::Title(format!("{title}  {}", program.sharding_text(sharding))));
    let (Some(mesh), true) = (sdy::resolve(program, &sharding.mesh), item.ty.is_static()) else {
        return out
            .extend([PicturePart::Line("sizes known only at run time can't be drawn".to_owned()), PicturePart::Gap]);
    };
    let cells = Cells::new(&item.ty.shape, sharding, mesh);
    let dims = style.dims.filter(|&(r, c)| r.max(c) < cells.shard.dims.len());
    out.push(PicturePart::Line(summary(item, &cells)));
    out.extend(draw_cells(&cells, &Style { dims, ..style.clone() }));
    out.push(PicturePart::Gap);
}

/// Describes an item: `each device holds 32x32 of 64x128: 4 KiB of 32 KiB; dimension 0 is padded from 10 to 12 for 4
/// devices: 20 % padding`.
fn summary(item: &ShownItem, cells: &Cells) -> String {
    let times = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
    let mut text = String::new();
    let part = if cells.unreduced.is_some() { " a part of" } else { "" };
    if cells.cells.len() == 1 {
        let _ = write!(text, "every device holds{part} all of it");
    } else {
        let _ = write!(text, "each device holds{part} {} of {}", times(&cells.shard.shape()), times(&item.ty.shape));
    }
    if let Some(whole) = item.ty.bytes() {
        let elements = cells.shard.shape().iter().fold(1usize, |n, &d| n.saturating_mul(d as usize));
        let local = elements.saturating_mul(item.ty.element.bytes());
        let _ = write!(text, ": {}", units::bytes(local as f64));
        if local != whole {
            let _ = write!(text, " of {}", units::bytes(whole as f64));
        }
    }
    for d in cells.shard.padded() {
        let dim = cells.shard.dims[d];
        let padded = dim.size() * dim.shards;
        let waste = units::small_percent((padded - dim.global) as f64, dim.global as f64);
        let _ = write!(text, "; dimension {d} is padded from {} to {padded} for {} devices", dim.global, dim.shards);
        let _ = write!(text, ": {waste} padding");
    }
    if let Some(kind) = cells.unreduced {
        let _ = write!(text, "; the value is the {} of the parts", kind.text());
    }
    text
}
