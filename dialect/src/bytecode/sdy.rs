//! Attributes of Shardy's dialect, by the codes in its bytecode.td.

use std::rc::Rc;

use super::Read;
use super::entries::Reader;
use super::value::{Attr, AttrKind, joined, list, quoted};

const REDUCTIONS: [&str; 3] = ["", "max", "min"];

pub(super) fn attr(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let code = r.from.number()?;
    Ok(match code {
        0 => Attr::other(format!("#sdy<manual_axes{{{}}}>", texts(&r.attrs()?))),
        1 => {
            let name = quoted(r.string()?);
            Attr::other(format!("{name}={}", r.from.signed()?))
        }
        2 => {
            let (axes, ids) = (r.attrs()?, r.signed_list()?);
            let ids = if ids.is_empty() { String::new() } else { format!(", device_ids={}", list(&ids)) };
            inner("#sdy.mesh", format!("<[{}]{ids}>", texts(&axes)))
        }
        3 => {
            let (before, size) = (r.from.signed()?, r.from.signed()?);
            Attr::other(format!(":({before}){size}"))
        }
        4 => {
            let (name, part) = (quoted(r.string()?), r.optional_attr()?);
            Attr::other(name + part.as_ref().map_or("", |p| &p.text))
        }
        5 => {
            let (axes, closed) = (r.attrs()?, r.from.byte()? != 0);
            let (priority, has_priority) = r.from.flagged()?;
            let mut items: Vec<&str> = axes.iter().map(|a| a.text.as_str()).collect();
            if !closed {
                items.push("?");
            }
            let priority = if has_priority { format!("p{priority}") } else { String::new() };
            Attr::other(format!("{{{}}}{priority}", items.join(", ")))
        }
        6 | 15 | 17 => {
            let mesh = r.attr()?;
            let mesh = match &mesh.kind {
                AttrKind::Inner(inside) => format!("mesh{inside}"),
                _ => mesh.text.clone(),
            };
            let mut text = format!("<{mesh}, [{}]", texts(&r.attrs()?));
            let replicated = r.attrs()?;
            if !replicated.is_empty() {
                text += &format!(", replicated={{{}}}", texts(&replicated));
            }
            let unreduced = if code == 6 { Vec::new() } else { r.attrs()? };
            let reduction = match code {
                17 => {
                    let at = r.from.at;
                    match r.from.signed()? {
                        n @ 0..=2 => REDUCTIONS[n as usize],
                        n => return Err(super::Fault::unknown(at, format!("a reduction has the unknown kind {n}"))),
                    }
                }
                _ => "",
            };
            if !unreduced.is_empty() {
                text += &format!(", unreduced={reduction}{{{}}}", texts(&unreduced));
            }
            inner("#sdy.sharding", text + ">")
        }
        7 | 16 => Attr::other(format!("#sdy.sharding_per_value<[{}]>", insides(r)?)),
        8 => Attr::new("", AttrKind::Numbers(r.signed_list()?)),
        9 => {
            let dims = r.attrs()?;
            let factors = |a: &Rc<Attr>| match &a.kind {
                AttrKind::Numbers(factors) => Ok(factors.clone()),
                _ => r.from.fault("expected the factors of a dimension"),
            };
            Attr::new("", AttrKind::Factors(dims.iter().map(factors).collect::<Read<_>>()?))
        }
        10 => rule(r)?,
        11 => braced("axis_ref_list", format!("{{{}}}", texts(&r.attrs()?))),
        12 => Attr::other(format!("#sdy<list_of_axis_ref_lists[{}]>", insides(r)?)),
        13 => {
            let axes = texts(&r.attrs()?);
            let (from, to) = (r.from.signed()?, r.from.signed()?);
            Attr::other(format!("{{{axes}}}: {from}->{to}"))
        }
        14 => Attr::other(format!("#sdy<all_to_all_param_list[{}]>", texts(&r.attrs()?))),
        _ => return r.no_code(code, "an attribute of the dialect 'sdy'"),
    })
}

fn texts(items: &[Rc<Attr>]) -> String {
    joined(items.iter().map(|a| &a.text))
}

/// Returns `#sdy.sharding<…>` and the like, which other attributes contain without the name.
fn inner(name: &str, inside: String) -> Attr {
    Attr::new(format!("{name}{inside}"), AttrKind::Inner(inside))
}

/// Returns `#sdy<axis_ref_list{…}>` and the like, which other attributes contain without the name.
fn braced(name: &str, inside: String) -> Attr {
    Attr::new(format!("#sdy<{name}{inside}>"), AttrKind::Inner(inside))
}

/// Reads a list of such attributes as text without their names.
fn insides(r: &mut Reader<'_, '_>) -> Read<String> {
    let items = r.attrs()?;
    let inside = |a: &Rc<Attr>| match &a.kind {
        AttrKind::Inner(inside) => Ok(inside.clone()),
        _ => r.from.fault("expected a sharding or a list of axes"),
    };
    Ok(joined(items.iter().map(inside).collect::<Read<Vec<_>>>()?.iter()))
}

/// Reads `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
fn rule(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let sizes = r.signed_list()?;
    let at = r.from.at;
    let name = |f: i64| match usize::try_from(f) {
        Ok(f) if f < sizes.len() && f < 18 => Ok(char::from(b'i' + f as u8).to_string()),
        Ok(f) if f < sizes.len() => Ok(format!("z_{}", f - 17)),
        _ => Err(super::Fault::new(at, format!("a sharding rule of {} factors has no factor {f}", sizes.len()))),
    };
    let dim = |factors: &Vec<i64>| match factors[..] {
        [] => Ok("*".to_owned()),
        _ => factors.iter().map(|&f| name(f)).collect::<Read<String>>(),
    };
    let mut sides = Vec::new();
    for _ in 0..2 {
        let tensors = r.attrs()?;
        let tensors = tensors.iter().map(|tensor| match &tensor.kind {
            AttrKind::Factors(dims) => Ok(format!("[{}]", dims.iter().map(dim).collect::<Read<Vec<_>>>()?.join(", "))),
            _ => r.from.fault("expected the factors of a tensor"),
        });
        sides.push(tensors.collect::<Read<Vec<_>>>()?.join(", "));
    }
    let mut text = format!("#sdy.op_sharding_rule<({})->({})", sides[0], sides[1]);
    let each = (0..sizes.len()).map(|f| Ok(format!("{}={}", name(f as i64)?, sizes[f])));
    let each = each.collect::<Read<Vec<_>>>()?;
    if !each.is_empty() {
        text += &format!(" {{{}}}", each.join(", "));
    }
    for kind in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
        let factors = r.signed_list()?;
        if !factors.is_empty() {
            let names = factors.iter().map(|&f| name(f)).collect::<Read<Vec<_>>>()?;
            text += &format!(" {kind}={{{}}}", names.join(", "));
        }
    }
    if r.from.byte()? != 0 {
        text += ", custom";
    }
    Ok(Attr::other(text + ">"))
}
