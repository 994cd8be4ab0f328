//! A tree as a table.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema};
use arrowroot_arrow::stored::is_known_map;
use arrowroot_arrow::{ArrowTypes, TextForm, arrow_type_for_text};
use arrowroot_file::{File, Result, permanent};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::{PackingRange, Primitive};
use arrowroot_format::tree::{BasketRule, Branch, BranchId, ElementPart, LeafKind};

use super::compact::CompactTree;
use super::{Inner, Tree, pass};
use crate::pieces::ColumnPieces;
use crate::scan::{ColumnId, Request, Scan};
use crate::table::{
    BasketSizes, BranchSizes, ColumnPlace, ColumnTypes, Compact, Description, Physical, Recorded, SharedPart, Sizes,
    Table,
};

/// Class descriptions take about so many times their bytes in the file.
const UNPACKED_TIMES: usize = 20;

fn branch_of(id: ColumnId) -> BranchId {
    BranchId(id.0)
}

impl Tree {
    /// Branches that are no groups.
    fn leaves(&self) -> impl Iterator<Item = BranchId> {
        self.walk().into_iter().map(|(id, _)| id).filter(|id| self.branch(*id).branches.is_empty())
    }

    /// The path of the branch that counts the items of a plain one; objects have counters of their own.
    fn counter(&self, branch: &Branch) -> Option<&str> {
        let leaf = branch.leaves.first().filter(|_| branch.element.is_none())?;
        let counter = self.record().branch_of_leaf(self.record().leaf(*leaf).counter?)?;
        Some(self.branch_path(counter))
    }

    /// The packed type of a plain branch of one leaf, with its annotation.
    fn packed_type(&self, branch: &Branch) -> Option<String> {
        let [leaf] = *branch.leaves.as_slice() else { return None };
        let leaf = self.record().leaf(leaf);
        let name = match leaf.kind {
            LeafKind::Number(Primitive::Double32) => "Double32_t",
            LeafKind::Number(Primitive::Float16) => "Float16_t",
            _ => return None,
        };
        Some(format!("{name}{}", PackingRange::parse_leaf_title(&leaf.title).annotation()))
    }

    /// The type of a branch of a container that lists and maps are not by themselves, whole or inside of others.
    fn container_type(branch: &Branch, data_type: Option<&DataType>) -> Option<String> {
        const OTHERS: [&str; 3] = ["set<", "RVec<", "map<"];
        let element = branch.element.as_ref().filter(|element| element.id < 0 && !element.is_split())?;
        let name = &element.class_name;
        let is_usual = match data_type {
            Some(DataType::Map(key, value)) => name.starts_with("map<") && is_known_map(key, value),
            _ => !OTHERS.iter().any(|template| name.contains(template)),
        };
        (!is_usual).then(|| name.clone())
    }

    /// The setting of a branch, or of its file where the branch says "none" and its baskets say otherwise.
    fn compression(&self, branch: &Branch) -> CompressionSetting {
        match branch.compression.0 <= 0 && branch.stored_bytes < branch.memory_bytes {
            true => self.file().header().compression,
            false => branch.compression,
        }
    }
}

impl Table for Tree {
    fn file(&self) -> &File {
        &self.inner.file
    }

    fn physical(&self) -> Result<Physical<'_>> {
        Ok(Physical::Tree { record: self.record(), object_data: self.object_data() })
    }

    fn compact(&self) -> Option<Box<dyn Compact>> {
        Some(Box::new(CompactTree::of(self)?))
    }

    fn shared_parts(&self) -> Vec<SharedPart> {
        let Inner { file, shared, described, .. } = self.inner.as_ref();
        let mut parts = vec![(Arc::as_ptr(shared).addr(), shared.about_bytes())];
        // Class descriptions that were not wanted yet are not read for that.
        if let Some(columns) = described.get()
            && let Ok(infos) = file.shared_infos()
        {
            let info_bytes = UNPACKED_TIMES * file.header().n_bytes_info as usize;
            parts.extend([(Arc::as_ptr(columns).addr(), columns.n_bytes()), (Arc::as_ptr(infos).addr(), info_bytes)]);
        }
        parts
    }

    fn path(&self) -> &str {
        &self.inner.path
    }

    fn name(&self) -> &str {
        &self.record().name
    }

    fn title(&self) -> &str {
        &self.record().title
    }

    fn class_name(&self) -> &str {
        &self.inner.class_name
    }

    fn cycle(&self) -> u16 {
        self.key().key.cycle
    }

    fn n_entries(&self) -> u64 {
        self.inner.record.n_entries
    }

    fn n_leaves(&self) -> usize {
        self.record().leaves.len()
    }

    fn sizes(&self) -> Result<Sizes> {
        let record = self.record();
        let n_pieces = record.branches.iter().map(|branch| branch.n_baskets() as u64).sum();
        let (stored_bytes, memory_bytes) = (record.stored_bytes, record.memory_bytes);
        Ok(Sizes { n_pieces, stored_bytes, memory_bytes, compression: String::new() })
    }

    fn recorded(&self) -> Recorded<'_> {
        let record = self.record();
        Recorded {
            entries_reshuffled: record.entries_reshuffled(),
            aliases: &record.aliases,
            friends: &record.friends,
            index: record.index.as_ref(),
            user_info: &record.user_info,
            auto_flush: Some(record.auto_flush),
        }
    }

    fn n_columns(&self) -> usize {
        self.record().branches.len()
    }

    fn columns(&self) -> Vec<ColumnId> {
        self.walk().into_iter().map(|(id, _)| id.into()).collect()
    }

    fn column_names(&self) -> Vec<&str> {
        self.leaves().map(|id| self.branch_path(id)).collect()
    }

    fn find(&self, name: &str) -> Result<ColumnId> {
        self.find(name).map(ColumnId::from)
    }

    fn found(&self, name: &str) -> Option<ColumnId> {
        self.found(name).map(ColumnId::from)
    }

    fn has_path(&self, path: &str) -> bool {
        self.paths().by_path.contains_key(path)
    }

    fn place(&self, id: ColumnId) -> ColumnPlace<'_> {
        let id = branch_of(id);
        let branch = self.branch(id);
        // Of a class without members there are no branches inside.
        let may_be_bare = branch.element.as_ref().is_some_and(ElementPart::is_split);
        ColumnPlace {
            path: self.branch_path(id),
            name: &branch.name,
            title: &branch.title,
            depth: std::iter::successors(branch.parent, |&around| self.branch(around).parent).count(),
            is_group: if branch.branches.is_empty() && may_be_bare { None } else { Some(!branch.branches.is_empty()) },
            is_part: false,
            n_entries: branch.n_entries,
            counter: self.counter(branch),
        }
    }

    fn is_readable(&self, id: ColumnId) -> Result<bool> {
        Ok(permanent(self.column(branch_of(id)))?.is_ok_and(|column| column.form.is_some()))
    }

    fn describe(&self, id: ColumnId) -> Result<Description> {
        let branch = self.branch(branch_of(id));
        let column = permanent(self.column(branch_of(id)))?;
        let element_class = || {
            // The title of a plain branch is its leaf list.
            branch.element.as_ref().map_or_else(|| branch.title.clone(), |element| element.class_name.clone())
        };
        let data_type = column.as_ref().ok().and_then(|column| column.data_type());
        let asked_type = self.packed_type(branch).or_else(|| Self::container_type(branch, data_type.as_ref()));
        Ok(Description {
            asked_type: asked_type.unwrap_or_default(),
            is_group: column.as_ref().is_ok_and(|column| column.form.is_none()),
            type_name: column.as_ref().map_or_else(|_| element_class(), |column| column.type_name.clone()),
            unsupported: column.err().map(|error| error.fault().what.clone()),
            encoding: String::new(),
        })
    }

    fn arrow_type(&self, id: ColumnId, n_bytes: usize) -> Result<Option<ArrowType>> {
        let data_type = permanent(self.column(branch_of(id)))?.ok().and_then(|column| column.data_type());
        Ok(data_type.map(|data_type| arrow_type_for_text(&data_type, TextForm::Utf8, n_bytes)))
    }

    fn types(&self) -> Result<Arc<ColumnTypes>> {
        self.types()
    }

    fn column_sizes(&self, id: ColumnId) -> Result<Sizes> {
        let branch = self.branch(branch_of(id));
        Ok(Sizes {
            n_pieces: branch.n_baskets() as u64,
            stored_bytes: branch.stored_bytes,
            memory_bytes: branch.memory_bytes,
            compression: self.compression(branch).to_string(),
        })
    }

    fn readable(&self) -> Result<Vec<ColumnId>> {
        Ok(self.readable()?.into_iter().map(ColumnId::from).collect())
    }

    fn arrow_schema(&self) -> Result<Schema> {
        let mut types = ArrowTypes::new(TextForm::Utf8);
        let fields = self.readable()?.into_iter().map(|id| self.field_among(id, self.branch_path(id), &mut types));
        Ok(Schema::new(fields.collect::<Result<Vec<Field>>>()?))
    }

    fn clusters(&self) -> Result<Vec<u64>> {
        Ok(self.cluster_starts().into_owned())
    }

    fn pieces(&self) -> Result<Vec<ColumnPieces>> {
        let of_branch = |(id, _)| {
            let mut pieces = self.baskets(id)?;
            if !self.branch(id).file_name.is_empty() {
                // The others are in another file.
                pieces.retain(|piece| piece.embedded.is_some());
            }
            Ok(ColumnPieces { path: self.branch_path(id).to_owned(), pieces })
        };
        self.walk().into_iter().map(of_branch).collect()
    }

    fn optimized_baskets(&self, rule: BasketRule) -> Option<BasketSizes<'_>> {
        let optimized = self.record().optimized_baskets(rule);
        let of_branch = |(id, _): (BranchId, usize)| {
            let found = optimized.branches.get(id.0 as usize)?;
            Some(BranchSizes {
                path: self.branch_path(id),
                recorded_bytes: self.branch(id).basket_bytes,
                optimized_bytes: found.basket_bytes,
                ends_compression: found.ends_compression,
            })
        };
        let branches = self.walk().into_iter().filter_map(of_branch).collect();
        Some(BasketSizes { branches, memory_bytes: optimized.memory_bytes, n_baskets: optimized.n_baskets })
    }

    fn short_columns(&self) -> Vec<(ColumnId, i64, i64)> {
        let n_entries = i64::try_from(self.n_entries()).unwrap_or(i64::MAX);
        self.leaves()
            .map(|id| (id.into(), self.branch(id)))
            .filter(|(_, branch)| branch.first_entry > 0 || branch.entry_end < n_entries)
            .map(|(id, branch)| (id, branch.first_entry, branch.entry_end))
            .collect()
    }

    fn scan(&self, request: &Request) -> Result<Scan> {
        pass::scan(self, request)
    }
}
