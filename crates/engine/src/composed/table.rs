//! A composed table as a table.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::{Arc, PoisonError};

use arrow_schema::{DataType as ArrowType, Field, Schema};
use arrowroot_arrow::TextForm;
use arrowroot_arrow::stored::{delivered_type, original_name};
use arrowroot_file::{Error, File, Result, nearest};
use arrowroot_format::tree::BasketRule;

use super::{Composed, ComposedColumn, Meaning, Written};
use crate::pieces::ColumnPieces;
use crate::scan::{ColumnId, ColumnSource, Composition, Holds, Request, Scan};
use crate::table::{
    BasketSizes, ColumnPlace, ColumnTypes, Compact, Description, Physical, Recorded, SharedPart, Sizes, Table,
    found_types, joined,
};

impl Composed {
    /// The parts that say most of a column: those of its values, not of its validity.
    fn first_value<'c>(&self, column: &'c ComposedColumn) -> Option<&'c ColumnId> {
        column.parts.last()
    }

    fn is_column_readable(&self, column: &ComposedColumn) -> Result<bool> {
        for part in &column.parts {
            if !self.inner.is_readable(*part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True for a member inside of a field that holds a column in another form than Arrow's: its values are not the column's.
    fn is_in_other_form(&self, path: &str) -> bool {
        let Some((field, _)) = path.split_once('.').filter(|_| self.holds == Holds::Fields) else { return false };
        let holds = |column: &&ComposedColumn| column.parts.iter().any(|&part| self.inner.place(part).path == field);
        self.columns.iter().find(holds).is_some_and(|column| self.has_other_form(column))
    }

    /// True for a column whose field holds it in another form than Arrow's.
    fn has_other_form(&self, column: &ComposedColumn) -> bool {
        let stored = column.parts.first().and_then(|&part| self.inner.arrow_type(part, 0).ok().flatten());
        stored.as_ref() != Some(column.stored.data_type())
    }

    /// The field that a projected one shows, by the names of members of columns: those of pairs and tuples are numbers in the
    /// table inside.
    fn source_by_names(&self, source: &str) -> Option<String> {
        let (mark, path) = source.strip_prefix('#').map_or(("", source), |path| ("#", path));
        let rest_in =
            |column: &ComposedColumn| Some((column.field.clone(), after(path, column.field.name())?.to_owned()));
        let (mut field, mut rest) = self.columns.iter().filter_map(rest_in).min_by_key(|(_, rest)| rest.len())?;
        let mut found = format!("{mark}{}", field.name());
        while !rest.is_empty() {
            field = match field.data_type() {
                ArrowType::Struct(members) => {
                    let (number, behind) = rest.split_once('.').unwrap_or((&rest, ""));
                    let by_number = || Some((members.get(number.parse::<usize>().ok()?)?, behind));
                    let by_name = members.iter().filter_map(|member| Some((member, after(&rest, member.name())?)));
                    let (member, behind) = by_name.min_by_key(|(_, rest)| rest.len()).or_else(by_number)?;
                    let member = Arc::clone(member);
                    found = format!("{found}.{}", member.name());
                    rest = behind.to_owned();
                    member
                }
                ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _) => {
                    Arc::clone(item)
                }
                ArrowType::ListView(item) | ArrowType::LargeListView(item) => Arc::clone(item),
                _ => return None,
            };
        }
        Some(found)
    }

    /// The members of a column that can be read by their paths: none where its path is not its name, or the form another.
    fn members_of<'c>(&self, column: &'c ComposedColumn) -> &'c [ColumnId] {
        let is_named = |&part: &ColumnId| self.inner.place(part).path == column.field.name();
        let is_seen = !column.members.is_empty() && column.parts.iter().all(is_named) && !self.has_other_form(column);
        if is_seen { &column.members } else { &[] }
    }

    /// The schema of all that can be read, with a field of each column.
    fn schema_of(&self, field_of: impl Fn(&ComposedColumn) -> &Arc<Field>) -> Result<Schema> {
        let inner = if self.others.is_empty() { Schema::empty() } else { self.inner.arrow_schema()? };
        let field = |id: ColumnId| match self.meaning_of(id) {
            Meaning::Column(index) => Some(Arc::clone(field_of(&self.columns[index]))),
            Meaning::Inner(id) => inner.fields().find(self.inner.place(id).path).map(|(_, field)| Arc::clone(field)),
        };
        let fields: Vec<Arc<Field>> = self.readable()?.into_iter().filter_map(field).collect();
        Ok(Schema::new_with_metadata(fields, self.schema.metadata().clone()))
    }

    /// The field of a column in the form of text that is asked for, with the name that it is delivered by.
    fn delivered_field(column: &ComposedColumn, name: &str, text: TextForm) -> Field {
        let field = column.field.as_ref().clone().with_name(name);
        let data_type = delivered_type(field.data_type(), text);
        field.with_data_type(data_type)
    }
}

/// A composed table around one of which little is in memory.
struct CompactComposed {
    inner: Box<dyn Compact>,
    written: Arc<Written>,
}

impl Compact for CompactComposed {
    fn table(&self) -> Arc<dyn Table> {
        Arc::new(Composed::new(self.inner.table(), Arc::clone(&self.written)))
    }

    fn n_bytes(&self) -> usize {
        size_of::<CompactComposed>() + self.inner.n_bytes()
    }
}

/// The path that columns had before their names were made such that a file can have them.
fn original_path(path: &str) -> String {
    path.split('.').map(original_name).collect::<Vec<_>>().join(".")
}

/// The rest of a path that begins with a name, behind the dot; empty if it is the whole path.
fn after<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// Columns to read of the table inside, each once.
#[derive(Default)]
struct Reads {
    columns: Vec<(ColumnId, String)>,
    indices: HashMap<ColumnId, usize>,
}

impl Reads {
    fn place(&mut self, table: &dyn Table, id: ColumnId) -> usize {
        *self.indices.entry(id).or_insert_with(|| {
            self.columns.push((id, table.place(id).path.to_owned()));
            self.columns.len() - 1
        })
    }
}

impl Table for Composed {
    fn file(&self) -> &File {
        self.inner.file()
    }

    fn physical(&self) -> Result<Physical<'_>> {
        self.inner.physical()
    }

    fn compact(&self) -> Option<Box<dyn Compact>> {
        Some(Box::new(CompactComposed { inner: self.inner.compact()?, written: Arc::clone(&self.written) }))
    }

    fn shared_parts(&self) -> Vec<SharedPart> {
        let mut parts = self.inner.shared_parts();
        parts.push((Arc::as_ptr(&self.written).addr(), self.written.n_bytes));
        parts
    }

    fn path(&self) -> &str {
        self.inner.path()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn title(&self) -> &str {
        self.inner.title()
    }

    fn class_name(&self) -> &str {
        self.inner.class_name()
    }

    fn cycle(&self) -> u16 {
        self.inner.cycle()
    }

    fn n_entries(&self) -> u64 {
        self.inner.n_entries()
    }

    fn n_leaves(&self) -> usize {
        self.inner.n_leaves()
    }

    /// Tables whose columns inside are the very same, as trees of one schema, have the same columns.
    fn types(&self) -> Result<Arc<ColumnTypes>> {
        let inner = self.inner.types()?;
        let known = || self.written.types.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([of, types]) = &*known()
            && Arc::ptr_eq(of, &inner)
        {
            return Ok(Arc::clone(types));
        }
        let types = found_types(self)?;
        *known() = Some([inner, Arc::clone(&types)]);
        Ok(types)
    }

    fn sizes(&self) -> Result<Sizes> {
        self.inner.sizes()
    }

    fn recorded(&self) -> Recorded<'_> {
        Recorded { index: self.index.as_ref(), ..self.inner.recorded() }
    }

    fn projections(&self) -> Vec<(String, String)> {
        let of_part = |id: &ColumnId| self.columns.iter().find(|column| column.parts.contains(id));
        let renamed = |(name, source): (String, String)| {
            let source = self.source_by_names(&source).unwrap_or(source);
            match self.inner.found(&name).as_ref().and_then(of_part) {
                Some(column) => (column.field.name().clone(), source),
                None => (name, source),
            }
        };
        self.inner.projections().into_iter().map(renamed).collect()
    }

    fn n_columns(&self) -> usize {
        self.columns.len() + self.columns.iter().map(|column| column.members.len()).sum::<usize>() + self.others.len()
    }

    fn columns(&self) -> Vec<ColumnId> {
        let own = self.columns.iter().enumerate().flat_map(|(index, column)| {
            let members = self.members_of(column).iter().map(|&id| self.id_of_inner(id));
            iter::once(Composed::id_of_column(index)).chain(members)
        });
        own.chain(self.others.iter().map(|&id| self.id_of_inner(id))).collect()
    }

    fn asked_types(&self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let name = column.field.name();
            found.push((name.clone(), self.describe(Composed::id_of_column(index))?.asked_type));
            for &part in &column.parts {
                let inside = self.inner.asked_in(part)?.into_iter().filter(|(path, _)| !path.is_empty());
                found.extend(inside.map(|(path, text)| (joined(name, &original_path(&path)), text)));
            }
            for &id in &column.members {
                let (_, own) = self.inner.place(id).path.split_once('.').unwrap_or_default();
                let inside = self.inner.asked_in(id)?.into_iter();
                let named = inside.map(|(path, text)| (joined(name, &original_path(&joined(own, &path))), text));
                found.extend(named);
            }
        }
        for &id in &self.others {
            let inside = self.inner.asked_in(id)?.into_iter();
            found.extend(inside.map(|(path, text)| (joined(self.inner.place(id).path, &path), text)));
        }
        Ok(found)
    }

    fn column_names(&self) -> Vec<&str> {
        let others: HashSet<&str> = self.others.iter().map(|&id| self.inner.place(id).path).collect();
        let own = self.columns.iter().map(|column| column.field.name().as_str());
        own.chain(self.inner.column_names().into_iter().filter(|name| others.contains(name))).collect()
    }

    fn find(&self, name: &str) -> Result<ColumnId> {
        if let Some(&place) = self.by_name.get(name) {
            return Ok(Composed::id_of_column(place));
        }
        self.inner.find(name).map(|id| self.id_of_inner(id)).map_err(|error| match error {
            Error::NotFound { url, kind, name, near } => {
                let own = self.columns.iter().map(|column| column.field.name().as_str());
                let near = nearest(&name, own.chain(near.iter().map(String::as_str)));
                Error::NotFound { url, kind, name, near }
            }
            other => other,
        })
    }

    fn found(&self, name: &str) -> Option<ColumnId> {
        match self.by_name.get(name) {
            Some(&place) => Some(Composed::id_of_column(place)),
            None => self.inner.found(name).map(|id| self.id_of_inner(id)),
        }
    }

    fn canonical(&self, name: &str) -> Option<&str> {
        if self.by_name.contains_key(name) {
            return None;
        }
        // A part of a column is found by its name, and is in no list of columns.
        let path = self.inner.canonical(name).or_else(|| self.inner.found(name).map(|id| self.inner.place(id).path))?;
        (!self.is_in_other_form(path)).then_some(path)
    }

    fn has_path(&self, path: &str) -> bool {
        self.by_name.contains_key(path) || self.inner.has_path(path)
    }

    fn place(&self, id: ColumnId) -> ColumnPlace<'_> {
        let column = match self.meaning_of(id) {
            Meaning::Inner(id) => return self.inner.place(id),
            Meaning::Column(index) => &self.columns[index],
        };
        let n_entries = i64::try_from(self.n_entries()).unwrap_or(i64::MAX);
        let part = self.first_value(column).map(|&part| self.inner.place(part));
        ColumnPlace {
            path: column.field.name(),
            name: column.field.name(),
            title: part.map_or("", |part| part.title),
            depth: 0,
            is_group: Some(false),
            is_part: false,
            n_entries: part.map_or(n_entries, |part| part.n_entries),
            counter: part.and_then(|part| part.counter),
        }
    }

    fn is_readable(&self, id: ColumnId) -> Result<bool> {
        match self.meaning_of(id) {
            Meaning::Inner(id) => self.inner.is_readable(id),
            Meaning::Column(index) => self.is_column_readable(&self.columns[index]),
        }
    }

    fn describe(&self, id: ColumnId) -> Result<Description> {
        let column = match self.meaning_of(id) {
            Meaning::Inner(id) => return self.inner.describe(id),
            Meaning::Column(index) => &self.columns[index],
        };
        let mut all = Description::default();
        for part in &column.parts {
            let part = self.inner.describe(*part)?;
            if all.asked_type.is_empty() {
                all.asked_type = part.asked_type;
            }
            for (texts, text) in [(&mut all.type_name, part.type_name), (&mut all.encoding, part.encoding)] {
                if !text.is_empty() && !texts.split(", ").any(|known| known == text) {
                    texts.push_str(if texts.is_empty() { "" } else { ", " });
                    texts.push_str(&text);
                }
            }
            all.unsupported = all.unsupported.or(part.unsupported);
        }
        Ok(all)
    }

    fn arrow_type(&self, id: ColumnId, n_bytes: usize) -> Result<Option<ArrowType>> {
        match self.meaning_of(id) {
            Meaning::Inner(id) => self.inner.arrow_type(id, n_bytes),
            Meaning::Column(index) => {
                let column = &self.columns[index];
                Ok(self.is_column_readable(column)?.then(|| column.field.data_type().clone()))
            }
        }
    }

    fn column_sizes(&self, id: ColumnId) -> Result<Sizes> {
        let column = match self.meaning_of(id) {
            Meaning::Inner(id) => return self.inner.column_sizes(id),
            Meaning::Column(index) => &self.columns[index],
        };
        let mut all = Sizes::default();
        for part in &column.parts {
            let part = self.inner.column_sizes(*part)?;
            all.n_pieces += part.n_pieces;
            all.stored_bytes = all.stored_bytes.saturating_add(part.stored_bytes);
            all.memory_bytes = all.memory_bytes.saturating_add(part.memory_bytes);
            all.compression = part.compression;
        }
        Ok(all)
    }

    fn knows_sizes(&self) -> bool {
        self.inner.knows_sizes()
    }

    fn readable(&self) -> Result<Vec<ColumnId>> {
        let mut readable = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            if self.is_column_readable(column)? {
                readable.push(Composed::id_of_column(index));
            }
        }
        if !self.others.is_empty() {
            let others: HashSet<ColumnId> = self.others.iter().copied().collect();
            let inner = self.inner.readable()?.into_iter().filter(|id| others.contains(id));
            readable.extend(inner.map(|id| self.id_of_inner(id)));
        }
        Ok(readable)
    }

    fn arrow_schema(&self) -> Result<Schema> {
        self.schema_of(|column| &column.field)
    }

    fn stored_schema(&self) -> Result<Schema> {
        self.schema_of(|column| &column.stored)
    }

    fn clusters(&self) -> Result<Vec<u64>> {
        self.inner.clusters()
    }

    fn pieces(&self) -> Result<Vec<ColumnPieces>> {
        self.inner.pieces()
    }

    fn optimized_baskets(&self, rule: BasketRule) -> Option<BasketSizes<'_>> {
        self.inner.optimized_baskets(rule)
    }

    fn short_columns(&self) -> Vec<(ColumnId, i64, i64)> {
        let mut column_of = HashMap::new();
        for (index, column) in self.columns.iter().enumerate() {
            column_of.extend(column.parts.iter().map(|&part| (part, Composed::id_of_column(index))));
        }
        column_of.extend(self.others.iter().map(|&id| (id, self.id_of_inner(id))));
        let mut seen = HashSet::new();
        let short = self.inner.short_columns().into_iter();
        let short = short.filter_map(|(id, first, end)| Some((*column_of.get(&id)?, first, end)));
        short.filter(|(id, ..)| seen.insert(*id)).collect()
    }

    fn scan(&self, request: &Request) -> Result<Scan> {
        let mut reads = Reads::default();
        let mut columns = Vec::with_capacity(request.columns.len());
        for (id, name) in &request.columns {
            columns.push(match self.meaning_of(*id) {
                Meaning::Inner(id) => ColumnSource::Read(reads.place(self.inner.as_ref(), id)),
                Meaning::Column(index) => {
                    let column = &self.columns[index];
                    let parts = column.parts.iter().map(|&part| reads.place(self.inner.as_ref(), part)).collect();
                    match (request.raw, &column.parts[..]) {
                        (true, [part]) => ColumnSource::Read(reads.place(self.inner.as_ref(), *part)),
                        (true, _) => {
                            let what = format!("raw: column {name:?} is in several branches: read those");
                            return Err(Error::InvalidRequest { what });
                        }
                        (false, _) => {
                            let data_type = column.data_type.clone();
                            ColumnSource::Parts { data_type, parts, holds: self.holds }
                        }
                    }
                }
            });
        }
        let scan = self.inner.scan(&Request { columns: reads.columns, ..request.clone() })?;
        let read = Arc::clone(scan.schema());
        let fields =
            columns.iter().zip(&request.columns).map(|(source, (id, name))| match (source, self.meaning_of(*id)) {
                (ColumnSource::Parts { .. }, Meaning::Column(index)) => {
                    Composed::delivered_field(&self.columns[index], name, request.text)
                }
                (ColumnSource::Read(index), _) => read.field(*index).clone().with_name(name),
                (ColumnSource::Parts { parts, .. }, _) => read.field(parts[0]).clone().with_name(name),
            });
        let fields: Vec<Field> = fields.collect();
        let metadata = if request.raw { HashMap::new().into() } else { self.schema.metadata().clone() };
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        scan.composed(Composition { url: self.file().url().to_owned(), schema, columns })
    }

    fn written_by(&self) -> Option<String> {
        self.inner.written_by()
    }

    fn attribute_sets(&self) -> Vec<&str> {
        self.inner.attribute_sets()
    }

    fn ntuple(&self) -> Option<&dyn Any> {
        self.inner.ntuple()
    }
}
