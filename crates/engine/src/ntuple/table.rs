//! An RNTuple as a table. Its columns are fields: those at the top, and the members of records in them.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use arrowroot_arrow::TextForm;
use arrowroot_arrow::stored::original_name;
use arrowroot_file::{Error, File, Result, nearest, permanent};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::rntuple::{ANCHOR_CLASS, FieldId, Role, Schema};

use super::{Ntuple, PageSizes, pass};
use crate::pieces::ColumnPieces;
use crate::scan::{ColumnId, Request, Scan};
use crate::table::{ColumnPlace, ColumnTypes, Description, Physical, Sizes, Table, found_types};

impl PageSizes {
    pub(super) fn added(self, more: PageSizes) -> PageSizes {
        PageSizes {
            n_pages: self.n_pages + more.n_pages,
            stored_bytes: self.stored_bytes.saturating_add(more.stored_bytes),
            memory_bytes: self.memory_bytes.saturating_add(more.memory_bytes),
            compression: self.compression.or(more.compression),
        }
    }

    fn sizes(self) -> Sizes {
        let signed = |n_bytes: u64| i64::try_from(n_bytes).unwrap_or(i64::MAX);
        let compression = self.compression.and_then(|setting| i32::try_from(setting).ok());
        Sizes {
            n_pieces: self.n_pages,
            stored_bytes: signed(self.stored_bytes),
            memory_bytes: signed(self.memory_bytes),
            compression: compression.map_or_else(String::new, |setting| CompressionSetting(setting).to_string()),
        }
    }
}

/// What the pages of a field and of all its parts take. Projected fields take nothing: their data are another field's.
fn field_sizes(schema: &Schema, sizes: &[PageSizes], id: FieldId) -> PageSizes {
    let Some(field) = schema.field_of(id).filter(|field| field.source().is_none()) else {
        return PageSizes::default();
    };
    let own = field.columns().iter().filter_map(|column| sizes.get(column.0 as usize));
    let own = own.fold(PageSizes::default(), |sum, size| sum.added(*size));
    field.children().iter().fold(own, |sum, &child| sum.added(field_sizes(schema, sizes, child)))
}

/// The column types of a field and of the parts that are no members of their own, each once; those of other
/// representations too.
fn encodings(schema: &Schema, id: FieldId, found: &mut Vec<String>) {
    let Some(field) = schema.field_of(id) else { return };
    for column in field.columns().iter().filter_map(|&column| schema.column_of(column)) {
        let name = column.column_type.name();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    if field.role() != Role::Record {
        field.children().iter().for_each(|&child| encodings(schema, child, found));
    }
}

impl Table for Ntuple {
    fn file(&self) -> &File {
        &self.inner.file
    }

    fn physical(&self) -> Result<Physical<'_>> {
        let lists = self.page_lists()?;
        Ok(Physical::Ntuple { schema: self.schema(), slots: self.slots(), footer: self.footer(), lists })
    }

    fn path(&self) -> &str {
        &self.inner.path
    }

    fn name(&self) -> &str {
        &self.schema().name
    }

    fn title(&self) -> &str {
        &self.schema().description
    }

    fn class_name(&self) -> &str {
        ANCHOR_CLASS
    }

    fn cycle(&self) -> u16 {
        self.inner.cycle
    }

    fn n_entries(&self) -> u64 {
        self.inner.footer.n_entries()
    }

    fn n_leaves(&self) -> usize {
        self.schema().columns.len()
    }

    fn sizes(&self) -> Result<Sizes> {
        Ok(self.page_sizes()?.whole.sizes())
    }

    fn projections(&self) -> Vec<(String, String)> {
        if self.schema().fields().all(|field| field.source().is_none()) {
            return Vec::new();
        }
        let paths: HashMap<FieldId, &str> = self.members().iter().map(|one| (one.field(), one.path())).collect();
        let projection = |id: ColumnId| {
            let (source, is_cardinality) = self.schema().projection_of(self.member(id).field())?;
            // The lengths are those of the list in an optional, which has no path of its own.
            let around = |field: &FieldId| self.schema().field_of(*field).and_then(|field| field.parent());
            let is_in_optional = |field: &FieldId| {
                let field = self.schema().field_of(*field);
                is_cardinality && field.is_some_and(|field| field.type_name().starts_with("std::optional<"))
            };
            let sources = std::iter::successors(Some(source), |field| around(field).filter(is_in_optional));
            let path = sources.into_iter().find_map(|field| paths.get(&field))?;
            let names = path.split('.').map(original_name);
            let mark = if is_cardinality { "#" } else { "" };
            Some((self.member(id).path().to_owned(), format!("{mark}{}", names.collect::<Vec<_>>().join("."))))
        };
        self.top_members().into_iter().filter_map(projection).collect()
    }

    fn n_columns(&self) -> usize {
        self.members().len()
    }

    fn columns(&self) -> Vec<ColumnId> {
        (0..u32::try_from(self.n_columns()).unwrap_or(u32::MAX)).map(ColumnId).collect()
    }

    fn column_names(&self) -> Vec<&str> {
        self.top_members().into_iter().map(|id| self.member(id).path()).collect()
    }

    fn find(&self, name: &str) -> Result<ColumnId> {
        if let Some(id) = self.found(name) {
            return Ok(id);
        }
        let index = self.index();
        if index.has_name(name) {
            return Err(Error::InvalidRequest {
                what: format!("several fields of {:?} are called {name:?}: give the path", self.schema().name),
            });
        }
        Err(Error::NotFound {
            url: self.file().url().to_owned(),
            kind: "field",
            name: name.to_owned(),
            near: nearest(name, index.members.iter().map(|member| member.path())),
        })
    }

    fn found(&self, name: &str) -> Option<ColumnId> {
        self.index().find(name).map(ColumnId)
    }

    fn canonical(&self, name: &str) -> Option<&str> {
        self.found(name).map(|id| self.member(id).path())
    }

    fn has_path(&self, path: &str) -> bool {
        self.index().has_path(path)
    }

    fn place(&self, id: ColumnId) -> ColumnPlace<'_> {
        let member = self.member(id);
        ColumnPlace {
            path: member.path(),
            name: member.name(),
            title: self.field(id).description(),
            depth: member.depth(),
            is_group: Some(false),
            is_part: member.depth() > 0,
            n_entries: i64::try_from(self.n_entries()).unwrap_or(i64::MAX),
            counter: None,
        }
    }

    fn is_readable(&self, id: ColumnId) -> Result<bool> {
        Ok(permanent(self.shape(id))?.is_ok())
    }

    fn describe(&self, id: ColumnId) -> Result<Description> {
        let (member, field) = (self.member(id), self.field(id));
        let shape = permanent(self.shape(id))?;
        let mut encoding = Vec::new();
        encodings(self.schema(), member.field(), &mut encoding);
        Ok(Description {
            is_group: false,
            type_name: field.type_name().to_owned(),
            asked_type: self.asked_in(id)?.swap_remove(0).1,
            unsupported: shape.err().map(|error| error.fault().what.clone()),
            encoding: encoding.join(", "),
        })
    }

    fn asked_in(&self, id: ColumnId) -> Result<Vec<(String, String)>> {
        Ok(self.schema().asked_types(self.member(id).field(), &|id| self.index().name_of_field(id)))
    }

    fn arrow_type(&self, id: ColumnId, _n_bytes: usize) -> Result<Option<ArrowType>> {
        Ok(permanent(self.arrow_field(id, "", TextForm::Utf8))?.ok().map(|field| field.data_type().clone()))
    }

    fn types(&self) -> Result<Arc<ColumnTypes>> {
        if !self.optionals.is_empty() {
            return found_types(self);
        }
        let known = &self.inner.shared.types;
        if let Some(types) = known.get() {
            return Ok(Arc::clone(types));
        }
        let types = found_types(self)?;
        // The data of this file told the types of objects that ROOT's streamers wrote.
        if self.has_streamed() { Ok(types) } else { Ok(Arc::clone(known.get_or_init(|| types))) }
    }

    fn column_sizes(&self, id: ColumnId) -> Result<Sizes> {
        Ok(field_sizes(self.schema(), &self.page_sizes()?.columns, self.member(id).field()).sizes())
    }

    fn knows_sizes(&self) -> bool {
        self.groups().knows_sizes()
    }

    fn readable(&self) -> Result<Vec<ColumnId>> {
        let mut readable = Vec::new();
        for id in self.top_members() {
            if permanent(self.shape(id))?.is_ok() {
                readable.push(id);
            }
        }
        Ok(readable)
    }

    fn arrow_schema(&self) -> Result<ArrowSchema> {
        let fields =
            self.readable()?.into_iter().map(|id| self.arrow_field(id, self.member(id).path(), TextForm::Utf8));
        Ok(ArrowSchema::new(fields.collect::<Result<Vec<Field>>>()?))
    }

    fn clusters(&self) -> Result<Vec<u64>> {
        let clusters = self.clusters_of(&(0..self.n_entries()))?;
        let starts = clusters.iter().map(|cluster| cluster.first_entry);
        Ok(starts.chain([self.n_entries()]).collect())
    }

    fn pieces(&self) -> Result<Vec<ColumnPieces>> {
        self.column_pieces()
    }

    fn scan(&self, request: &Request) -> Result<Scan> {
        if request.raw {
            let what = "raw: an RNTuple has pages, not entries of bytes".to_owned();
            return Err(Error::InvalidRequest { what });
        }
        pass::scan(self, request)
    }

    fn written_by(&self) -> Option<String> {
        let version = self.version().map(|part| part.to_string()).join(".");
        Some(match self.schema().writer.as_str() {
            "" => format!("format {version}"),
            writer => format!("format {version}, written by {writer}"),
        })
    }

    fn attribute_sets(&self) -> Vec<&str> {
        self.footer().attributes.iter().map(|set| set.name.as_str()).collect()
    }

    fn ntuple(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
