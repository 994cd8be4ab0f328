//! What the threads of a scan do, whether the data are in baskets or in pages.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrow_array::RecordBatch;
use arrowroot_format as format;

use crate::batch;
use crate::error::{Error, Result};
use crate::ntuple::{self, PageTask, PageWorker};
use crate::place::Context;
use crate::task::{BasketTask, Worker};

/// One piece of work.
pub(crate) enum Task {
    /// A basket of a tree.
    Basket(BasketTask),
    /// A page of an RNTuple.
    Page(PageTask),
}

/// A batch while it is filled.
pub(crate) enum Building {
    /// Of a tree.
    Baskets(batch::Builder),
    /// Of an RNTuple.
    Pages(ntuple::Builder),
}

/// What a thread keeps from one piece of work to the next.
#[derive(Default)]
pub(crate) struct Workers {
    pub(crate) baskets: Worker,
    pub(crate) pages: PageWorker,
}

impl Task {
    /// Place of its column in the plan.
    pub(crate) fn column(&self) -> usize {
        match self {
            Task::Basket(task) => task.column,
            Task::Page(task) => task.slot,
        }
    }

    /// Number of its batch.
    pub(crate) fn batch(&self) -> usize {
        match self {
            Task::Basket(task) => task.batch,
            Task::Page(task) => task.batch,
        }
    }
}

impl Workers {
    /// Does a piece of work. Returns whether it was the last open one of its batch.
    pub(crate) fn run(&mut self, task: Task, context: &Context) -> format::Result<bool> {
        match task {
            Task::Basket(task) => {
                let column = &context.plan.columns[task.column];
                self.baskets.run(task, column, context)
            }
            Task::Page(task) => match context.plan.pages.as_ref().and_then(|pages| pages.slots.get(task.slot)) {
                Some(slot) => self.pages.run(task, slot, context),
                None => Err(format::Error::corrupt(0, "a page of no column")),
            },
        }
    }
}

impl Building {
    /// Number of the batch.
    pub(crate) fn number(&self) -> usize {
        match self {
            Building::Baskets(builder) => builder.number,
            Building::Pages(builder) => builder.number,
        }
    }

    /// Pieces of work that are not done.
    pub(crate) fn open(&self) -> &Arc<AtomicUsize> {
        match self {
            Building::Baskets(builder) => &builder.open,
            Building::Pages(builder) => &builder.open,
        }
    }

    /// Bytes set aside so far.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Building::Baskets(builder) => builder.held_bytes,
            Building::Pages(builder) => builder.held_bytes,
        }
    }

    /// Makes the batch, when all is done. Returns it and the bytes in its buffers.
    pub(crate) fn finish(self, context: &Context) -> Result<(RecordBatch, u64)> {
        match (self, &context.plan.pages) {
            (Building::Baskets(builder), _) => builder.finish(&context.plan.columns, context.source.url()),
            (Building::Pages(builder), Some(pages)) => builder.finish(&context.plan, pages, context.text),
            (Building::Pages(_), None) => {
                Err(Error::Internal { what: "a batch of pages without a plan of them".to_owned() })
            }
        }
    }
}
