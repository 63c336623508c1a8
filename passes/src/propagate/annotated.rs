//! Keeping what the user wrote on `@main`.
//!
//! Shardy ends by cutting the shardings of arguments and results down to what divides their sizes and to whole axes,
//! since JAX takes nothing else at a function's border. A compiler that pads need not: with `keep-annotated` the axes
//! of an annotated argument or result stay as they were written.

use dialect::ir::{AttrData, Op, Program};
use dialect::ops::func;
use dialect::sharding::TensorSharding;

/// The shardings on the arguments and results of `@main`.
pub(super) struct Annotated {
    arguments: Vec<Option<TensorSharding>>,
    results: Vec<Option<TensorSharding>>,
}

impl Annotated {
    /// As they stand in the program.
    pub(super) fn read(program: &Program) -> Option<Self> {
        let main = func::function(program, "main")?;
        let types = func::signature(program, main);
        Some(Self {
            arguments: (0..types.inputs.len()).map(|i| func::arg_sharding(program, main, i).cloned()).collect(),
            results: (0..types.results.len()).map(|i| func::result_sharding(program, main, i).cloned()).collect(),
        })
    }

    /// Puts back the axes that are gone.
    pub(super) fn restore(&self, program: &mut Program) {
        let Some(main) = func::function(program, "main") else { return };
        for (i, wrote) in self.arguments.iter().enumerate() {
            if let Some(new) = with_axes(wrote, func::arg_sharding(program, main, i)) {
                set(program, main, i, new, func::set_arg_attr);
            }
        }
        for (i, wrote) in self.results.iter().enumerate() {
            if let Some(new) = with_axes(wrote, func::result_sharding(program, main, i)) {
                set(program, main, i, new, func::set_result_attr);
            }
        }
    }
}

fn set(
    program: &mut Program,
    main: Op,
    i: usize,
    sharding: TensorSharding,
    write: fn(&mut Program, Op, usize, &str, dialect::ir::Attr),
) {
    let attr = program.intern_attr(AttrData::Sharding(sharding));
    write(program, main, i, func::SHARDING, attr);
}

/// `now` with the axes that `wrote` begins with in every dimension; `None` where they are all there.
fn with_axes(wrote: &Option<TensorSharding>, now: Option<&TensorSharding>) -> Option<TensorSharding> {
    let (wrote, now) = (wrote.as_ref()?, now?);
    let kept = wrote.dims.iter().zip(&now.dims).all(|(w, n)| n.axes.starts_with(&w.axes));
    if kept || wrote.mesh != now.mesh {
        return None;
    }
    let mut new = now.clone();
    for (dim, wrote) in new.dims.iter_mut().zip(&wrote.dims) {
        if !dim.axes.starts_with(&wrote.axes) {
            dim.axes = wrote.axes.clone();
        }
    }
    Some(new)
}
