//! Checks of a program and its inputs before it runs.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{ElementType, Program, Quantized, TensorType, Value};
use dialect::literal::Literal;

use super::Interface;
use crate::diagnostic::one;
use crate::effects;
use crate::module::Module;
use crate::module::main_block;

/// The memory that compiling a small program to machine code needs: without memory, LLVM ends the process.
const CODE_BYTES: u64 = 48 << 20;

/// Refuses a program whose global arguments and results don't fit into memory, before any is allocated.
pub(super) fn check_memory(interface: &Interface) -> Result<(), Diagnostics> {
    // Arguments count twice: as global tensors and as shards.
    let (arguments, results) = interface.bytes();
    if let Some(left) = runtime::limits::reservable_memory().filter(|left| left.bytes < CODE_BYTES) {
        let [needed, bytes] = [CODE_BYTES, left.bytes].map(|bytes| crate::units::bytes(bytes as f64));
        let message = format!("machine code takes {needed} of memory to compile; {bytes} are available{left}");
        let d = Diagnostic::error(codes::DEVICE_MEMORY, Span::default(), message);
        return Err(one(d.note("raise the limit")));
    }
    let Some(free) = runtime::limits::available_memory() else { return Ok(()) };
    if 2.0 * arguments + results <= free.bytes as f64 {
        return Ok(());
    }
    let text = |bytes: f64| crate::units::bytes(bytes);
    let message = format!(
        "the program's arguments take {}, their shards the same again, and its results {}; {} of memory are \
        available{free}",
        text(arguments),
        text(results),
        text(free.bytes as f64)
    );
    let d = Diagnostic::error(codes::DEVICE_MEMORY, Span::default(), message);
    Err(one(
        d.note("run a smaller version of the program; 'shardc cost' and 'shardc explain' need no memory for values")
    ))
}

/// Checks that there are inputs for every replica, and that they have the types of `@main`'s arguments.
pub(super) fn check_inputs(module: &Module, inputs: &[Vec<Literal>]) -> Result<(), Diagnostics> {
    let fault = |message: String| Err(one(Diagnostic::error(codes::INPUT_TYPES, Span::default(), message)));
    let Some(interface) = Interface::of(module) else {
        return fault("@main has an argument or result that is not a tensor".to_owned());
    };
    if inputs.len() != interface.replicas {
        let (wanted, given) = (interface.replicas, inputs.len());
        return fault(format!("the program runs on {wanted} replicas, but there are inputs for {given}"));
    }
    for given in inputs {
        let (wanted, given) = (&interface.arguments, given.iter().map(Literal::ty).collect::<Vec<_>>());
        if *wanted != given {
            let program = module.program();
            let texts = |types: &[TensorType]| {
                types.iter().map(|t| program.type_data_text(&t.clone().into())).collect::<Vec<_>>().join(", ")
            };
            return fault(format!("@main takes ({}), not ({})", texts(wanted), texts(&given)));
        }
    }
    Ok(())
}

/// Returns an error at the first value of `@main` whose element type neither backend supports, such as a quantized one,
/// and at every op that would receive data from the host.
pub(crate) fn runnable(program: &Program) -> Result<(), Diagnostics> {
    let Some(block) = main_block(program) else {
        return Ok(());
    };
    let unknown = |&value: &Value| match program.tensor_type(value).map(|t| t.element) {
        Some(element @ ElementType::Other(name)) => {
            Some((program.name_text(name), Quantized::of(program, element).is_some()))
        }
        _ => None,
    };
    let args = program.block_args(block).iter().map(|&arg| (arg, program.value_span(arg)));
    let ops = program.ops_under(block).into_iter();
    let results = ops.flat_map(|op| program.results(op).map(move |result| (result, program.op(op).span)));
    let found = args.chain(results).find_map(|(value, span)| Some((span, unknown(&value)?)));
    let Some((span, (text, quantized))) = found else { return effects::refuse(program) };
    let d = Diagnostic::error(
        codes::ELEMENT_TYPE_WITHOUT_ARITHMETIC,
        span,
        format!("arithmetic on elements of type {text} is not supported"),
    );
    Err(one(if quantized {
        d.note("rewrite the program over integers first: stablehlo-opt --stablehlo-legalize-quant-to-math")
    } else {
        d
    }))
}
