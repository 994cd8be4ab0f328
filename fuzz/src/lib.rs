//! What several targets share: the form of a branch made from bytes, and the limits of a run.

use arrowroot_format::Cursor;
use arrowroot_format::column::{EntryForm, Framing, Header, MapNode, Name, Node, Number, Pointer};
use arrowroot_format::streamer::{PackingRange, Primitive};

/// Inputs and what they unpack to may be so large: what is found in a large file is found in a small one, and sooner.
pub const MAX_BYTES: usize = 1_000_000;

const PRIMITIVES: [Primitive; 13] = [
    Primitive::Bool,
    Primitive::Int8,
    Primitive::UInt8,
    Primitive::Int16,
    Primitive::UInt16,
    Primitive::Int32,
    Primitive::UInt32,
    Primitive::Int64,
    Primitive::UInt64,
    Primitive::Float32,
    Primitive::Float64,
    Primitive::Float16,
    Primitive::Double32,
];

/// A form of any shape; where the script ends all choices are 0. `seeds/make.py` writes the same in Python.
pub fn form(script: &mut Cursor<'_>) -> EntryForm {
    match choice(script) % 3 {
        0 => EntryForm::Fixed { number: number(script), dims: dims(script) },
        1 => {
            let header = [Header::Nothing, Header::Flag, Header::Vector][usize::from(choice(script) % 3)];
            EntryForm::Jagged { header, number: number(script), dims: dims(script) }
        }
        _ => {
            let framed = [Framing::Bare, Framing::Framed, Framing::IfItFits][usize::from(choice(script) % 3)];
            EntryForm::Streamed { framed, node: node(script, 0) }
        }
    }
}

fn choice(script: &mut Cursor<'_>) -> u8 {
    script.u8().unwrap_or(0)
}

fn number(script: &mut Cursor<'_>) -> Number {
    let primitive = PRIMITIVES[usize::from(choice(script)) % PRIMITIVES.len()];
    let range = match choice(script) % 3 {
        0 => PackingRange::default(),
        1 => PackingRange::parse(&script.string().unwrap_or_default()),
        _ => {
            let mut float = || script.f64().unwrap_or(0.0);
            PackingRange { min: float(), max: float(), factor: float() }
        }
    };
    Number::packed(primitive, range)
}

fn dims(script: &mut Cursor<'_>) -> Vec<u32> {
    (0..choice(script) % 4).map(|_| script.u16().map_or(1, u32::from)).collect()
}

fn node(script: &mut Cursor<'_>, depth: usize) -> Node {
    let kind = choice(script) % if depth < 8 { 14 } else { 5 };
    let mut item = || Box::new(node(script, depth + 1));
    match kind {
        0 => Node::Number(number(script)),
        1 => Node::Text,
        2 => Node::LongText,
        3 => Node::TextOrNothing,
        4 => Node::Bits,
        5 => Node::List(item()),
        6 => Node::CountedBy { item: item(), member: 0, factor: 1 },
        7 => Node::Fixed(item(), script.u16().map_or(1, u32::from)),
        8 => {
            let (key, value) = (*item(), *item());
            let column = |node: &Node| Node::Framed(Box::new(node.clone()));
            let (key_column, value_column) = (column(&key), column(&value));
            Node::Map(Box::new(MapNode { key, value, key_column, value_column }))
        }
        9 => Node::ToEnd(item()),
        10 => Node::ToFit(item()),
        11 => Node::Framed(item()),
        12 => Node::Pointer(Box::new(Pointer { class: "A".to_owned(), node: *item() })),
        _ => Node::Struct(members(script, depth)),
    }
}

fn members(script: &mut Cursor<'_>, depth: usize) -> Vec<(Name, Node)> {
    (0..choice(script) % 5)
        .map(|number| {
            let node = match node(script, depth + 1) {
                Node::CountedBy { item, .. } => Node::CountedBy {
                    item,
                    member: usize::from(choice(script)) % usize::from(number.max(1)),
                    factor: script.u16().map_or(1, u32::from),
                },
                node => node,
            };
            (format!("m{number}").into(), node)
        })
        .collect()
}
