mod infos;
mod packing;
mod typename;
