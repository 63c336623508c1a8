//! The text of types and attributes for several meshes: `!mpmd.mesh_tensor<…>`, `#mpmd.topology<…>`,
//! `#mpmd.user_origin<…>`. Source: the documentation of Shardy's mpmd dialect.

use super::parser::{Parse, Parser};
use super::printer::Printer;
use crate::ir::{Attr, AttrData, MeshTensor, Name, TypeData};
use crate::sharding::Mesh;

impl Parser<'_> {
    /// Parses the rest of a type after `!mpmd.mesh_tensor`.
    pub(super) fn mesh_tensor(&mut self) -> Parse<TypeData> {
        self.expect("<")?;
        let mesh = self.string()?;
        let mesh = self.program.name(&mesh);
        self.expect(",")?;
        let span = self.token().span();
        let ty = self.ty()?;
        let TypeData::Tensor(tensor) = self.program.type_data(ty).clone() else {
            return self.fail(span, "expected a tensor type");
        };
        let mut tensor = MeshTensor { mesh, tensor, sharding: None, memory_kind: None };
        while self.eat(",") {
            let first = tensor.sharding.is_none() && tensor.memory_kind.is_none();
            if first && self.eat("sharding") {
                self.expect("=")?;
                tensor.sharding = Some(self.sharding()?);
            } else if tensor.memory_kind.is_none() && self.eat("memory_kind") {
                self.expect("=")?;
                let kind = self.string()?;
                tensor.memory_kind = Some(self.program.name(&kind));
            } else {
                let rest = if first { "sharding=<…> or memory_kind=\"…\"" } else { "memory_kind=\"…\", once" };
                return self.fail_expected(rest);
            }
        }
        self.expect(">")?;
        Ok(tensor.into())
    }

    /// Parses the rest of an attribute after `#mpmd.kind`; returns `None`, and parses nothing, for kinds that are kept
    /// as text.
    pub(super) fn mpmd_attribute(&mut self, kind: &str) -> Parse<Option<AttrData>> {
        Ok(match kind {
            "topology" => Some(AttrData::Topology(self.list("<", ">", Self::named_mesh)?)),
            "user_origin" => {
                self.expect("<")?;
                let origin = self.origin()?;
                self.expect(">")?;
                Some(origin)
            }
            _ => None,
        })
    }

    /// Parses `<"m1": <["x"=2]>>`.
    fn named_mesh(&mut self) -> Parse<(Name, Mesh)> {
        self.expect("<")?;
        let name = self.string()?;
        self.expect(":")?;
        let mesh = self.mesh()?;
        self.expect(">")?;
        Ok((self.program.name(&name), mesh))
    }

    /// Parses `"f"(1)`; a missing count is 0.
    pub(crate) fn origin(&mut self) -> Parse<AttrData> {
        let name = self.string()?;
        let mut transposed = 0;
        if self.eat("(") {
            transposed = self.integer()?;
            self.expect(")")?;
        }
        Ok(AttrData::Origin(self.program.name(&name), transposed))
    }
}

impl Printer<'_> {
    /// Prints a tensor on a mesh.
    pub(super) fn mesh_tensor(&mut self, tensor: &MeshTensor) {
        let program = self.program;
        self.text("!mpmd.mesh_tensor<");
        self.string(program.name_text(tensor.mesh));
        self.text(", ");
        self.type_data(&tensor.tensor.clone().into());
        if let Some(sharding) = &tensor.sharding {
            self.text(", sharding=");
            self.sharding(sharding);
        }
        if let Some(kind) = tensor.memory_kind {
            self.text(", memory_kind=");
            self.string(program.name_text(kind));
        }
        self.text(">");
    }

    /// Prints `#mpmd.topology<<"m1": <["x"=2]>>, …>`.
    pub(super) fn topology(&mut self, meshes: &[(Name, Mesh)]) {
        let program = self.program;
        self.list("#mpmd.topology<", meshes.iter(), ">", |p, (name, mesh)| {
            p.text("<");
            p.string(program.name_text(*name));
            p.text(": ");
            p.mesh(mesh);
            p.text(">");
        });
    }

    /// Prints `"f"(1)`, without a count of 0.
    pub(crate) fn origin(&mut self, name: Name, transposed: i64) {
        let program = self.program;
        self.string(program.name_text(name));
        if transposed != 0 {
            self.text(&format!("({transposed})"));
        }
    }

    /// Prints `["f"(1), "g"]`; returns false if the list has other elements than origins.
    pub(crate) fn origins(&mut self, origins: &[Attr]) -> bool {
        let program = self.program;
        let each: Option<Vec<(Name, i64)>> = origins.iter().map(|&a| program.attr_data(a).as_origin()).collect();
        let Some(each) = each else { return false };
        self.list("[", each.into_iter(), "]", |p, (name, transposed)| p.origin(name, transposed));
        true
    }
}
