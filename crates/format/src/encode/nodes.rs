//! Members that are more than a number, a text or a pointer: as the nodes say by which they are read.

use super::encoder::{Encoder, check_length, integer, items, member, text, unexpected, unsupported};
use super::{Object, Value};
use crate::column::{Base, CountedHead, DataType, Name, Node, Number, Step};
use crate::error::{Error, Result, Within};
use crate::output::Output;
use crate::streamer::{Element, ElementClass, Primitive, StreamerInfo, TypeName};

/// Class version in front of a container of the standard library, and of what has one frame for many. ROOT writes that of
/// `TStreamerInfo` there, whatever the container is (ROOT 6.40).
pub const CONTAINER_VERSION: u16 = 10;

impl<'o> Encoder<'o> {
    /// A member of a class, by the node of its description.
    pub(super) fn member_by_node(
        &mut self,
        info: &StreamerInfo,
        element: &Element,
        value: &'o Value,
        output: &mut Output,
    ) -> Result<()> {
        if element.class == ElementClass::Stl && element.array_length == 0 && is_empty(value) {
            // Whatever would be in it.
            let frame = output.begin(CONTAINER_VERSION);
            output.count(0)?;
            return output.end(frame);
        }
        let node = self.types.node_of_member(&info.name, element);
        self.node(&node, &declared_class(element), value, output)
    }

    /// An array of objects, or of pointers to them, that another member counts.
    pub(super) fn loop_of_objects(
        &mut self,
        info: &StreamerInfo,
        element: &Element,
        count: i128,
        value: &'o Value,
        output: &mut Output,
    ) -> Result<()> {
        let node = self.types.node_of_member(&info.name, element);
        let factor = i128::from(element.array_length.max(1));
        let n_items = usize::try_from(count * factor).map_err(|_| unsupported(element))?;
        let frame = output.begin(CONTAINER_VERSION);
        self.items(&node, &declared_class(element), n_items, value, output)?;
        output.end(frame)
    }

    /// An object of a class that writes itself, in the latest way that is known.
    pub(super) fn own_way(&mut self, node: &Node, object: &'o Object, output: &mut Output) -> Result<()> {
        let class = match node {
            Node::Struct(members) if members.is_empty() => return Ok(()),
            Node::Object(class) => class,
            _ => return Err(no_way(&object.class)),
        };
        let variant = class.variants.first().ok_or_else(|| no_way(&class.name))?;
        let frame = class.is_framed.then(|| output.begin(variant.version));
        for step in variant.steps.iter() {
            self.own_step(&class.members, step, object, output)?;
        }
        frame.map_or(Ok(()), |frame| output.end(frame))
    }

    fn own_step(
        &mut self,
        members: &[(Name, DataType)],
        step: &Step,
        object: &'o Object,
        output: &mut Output,
    ) -> Result<()> {
        let named = |index: usize| {
            let (name, _) = members.get(index).ok_or_else(|| no_way(&object.class))?;
            Ok((&**name, member(object, &object.class, name)?))
        };
        match step {
            Step::Member(index, node) => {
                let (name, value) = named(*index)?;
                self.node(node, "TObject", value, output).within(|| name.to_owned())
            }
            Step::Counted { index, item, counter, factor, head } => {
                let count = integer(named(*counter)?.1)?;
                let (name, value) = named(*index)?;
                let n_items = match head {
                    CountedHead::Triangle => count * (count + 1) / 2,
                    _ => count * i128::from(*factor),
                };
                let n_items = usize::try_from(n_items).map_err(|_| no_way(&object.class))?;
                if *head == CountedHead::Flag {
                    output.u8(u8::from(n_items > 0));
                }
                self.items(item, "TObject", n_items, value, output).within(|| name.to_owned())
            }
            Step::Base(Base { name, .. }) => self.class(name, object, output),
            Step::TObject { .. } => self.t_object("TObject", object, output),
            _ => Err(no_way(&object.class)),
        }
    }

    /// A value; `declared`: the class of what its pointers lead to.
    fn node(&mut self, node: &Node, declared: &str, value: &'o Value, output: &mut Output) -> Result<()> {
        match node {
            Node::Number(number) => value.write_number(*number, output),
            Node::Text => output.string(text(value)?),
            Node::LongText => {
                let text = text(value)?;
                output.count(text.len())?;
                output.raw(text);
                Ok(())
            }
            Node::Bits => value.write_number(Number::plain(Primitive::UInt32), output),
            Node::Framed(node) => {
                let frame = output.begin(CONTAINER_VERSION);
                self.node(node, declared, value, output)?;
                output.end(frame)
            }
            Node::List(item) => {
                let n_items = match value {
                    Value::Numbers(numbers) => numbers.len().checked_div(n_numbers(item)?).unwrap_or(0),
                    other => items(other)?.len(),
                };
                output.count(n_items)?;
                self.items(item, declared, n_items, value, output)
            }
            Node::Fixed(item, n_items) => self.items(item, declared, *n_items as usize, value, output),
            Node::Map(map) => {
                let Value::Pairs(pairs) = value else { return Err(unexpected(value, "a map")) };
                output.count(pairs.len())?;
                pairs.iter().try_for_each(|(key, value)| {
                    self.node(&map.key, declared, key, output)?;
                    self.node(&map.value, declared, value, output)
                })
            }
            Node::Struct(members) => members.iter().try_for_each(|(name, node)| {
                let part = value.part(name).ok_or_else(|| unexpected(value, name))?;
                self.node(node, declared, part, output)
            }),
            Node::Object(class) => match value {
                Value::Object(place) => {
                    let inner = self.object(*place)?;
                    if inner.class != class.name {
                        let what = format!("a {} where a {} is", inner.class, class.name);
                        return Err(Error::unsupported(0, what));
                    }
                    self.class(&class.name, inner, output)
                }
                other => Err(unexpected(other, &class.name)),
            },
            Node::Link => self.pointer(value, declared, output),
            Node::Opaque(why) | Node::Unreadable(why) => {
                Err(Error::unsupported(0, format!("{why}, which is not written")))
            }
            _ => Err(Error::unsupported(0, "a member of a kind that is not written")),
        }
    }

    /// So many items, one after the other; numbers of fixed arrays may all be in one array.
    fn items(
        &mut self,
        item: &Node,
        declared: &str,
        n_items: usize,
        value: &'o Value,
        output: &mut Output,
    ) -> Result<()> {
        if let Value::Numbers(numbers) = value {
            let number = number_in(item).ok_or_else(|| unexpected(value, "a list"))?;
            check_length(numbers, (n_items as u64).saturating_mul(n_numbers(item)? as u64))?;
            return numbers.write(number, output);
        }
        let items = items(value)?;
        if items.len() != n_items {
            let what = format!("{} items where there should be {n_items}", items.len());
            return Err(Error::unsupported(0, what));
        }
        items.iter().try_for_each(|value| self.node(item, declared, value, output))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Items(items) => items.is_empty(),
        Value::Pairs(pairs) => pairs.is_empty(),
        _ => false,
    }
}

/// The numbers that fixed arrays consist of, if they do.
fn number_in(node: &Node) -> Option<Number> {
    match node {
        Node::Number(number) => Some(*number),
        Node::Fixed(item, _) => number_in(item),
        _ => None,
    }
}

/// How many numbers an item is.
fn n_numbers(node: &Node) -> Result<usize> {
    match node {
        Node::Number(_) => Ok(1),
        Node::Fixed(item, n_items) => Ok(n_numbers(item)?.saturating_mul(*n_items as usize)),
        _ => Err(Error::unsupported(0, "an array of numbers where a list of something else should be")),
    }
}

/// The class that pointers in a member are declared with.
fn declared_class(element: &Element) -> String {
    fn pointed(name: &TypeName) -> Option<String> {
        if name.is_pointer() {
            return Some(TypeName { n_pointers: 0, ..name.clone() }.to_string());
        }
        name.arguments.iter().find_map(pointed)
    }
    let name = TypeName::parse(&element.type_name).ok();
    name.as_ref().and_then(pointed).unwrap_or_else(|| element.type_name.trim_end_matches('*').to_owned())
}

fn no_way(class: &str) -> Error {
    Error::unsupported(0, format!("class {class} writes itself, in a way that is not written here"))
}
