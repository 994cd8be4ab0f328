"""Makes seeds for the fuzz targets: whole files, and the parts of them that each target takes.

    make.py              writes two tiny files with ROOT and uproot, and some of their parts, to seeds/TARGET
                         (committed: they have to stay below 100 kB)
    make.py FILE.root... takes files that are there instead, and writes to corpus/TARGET (not committed)
    make.py --drawn N    draws N tables, and N shapes of small files that ask for much memory or time; to corpus/TARGET

Needs uproot; without arguments ROOT too (`pip install uproot ROOT`).
"""

from __future__ import annotations

import hashlib
import struct
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import uproot

import arrowroot

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests import tables
from tests.robustness import drawn, hostile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    #: A fuzz target, and an input for it.
    Part = tuple[str, bytes]

HERE = Path(__file__).resolve().parent
MAX_FILE_BYTES, MAX_PART_BYTES = 100_000, 40_000
MAX_COMMITTED_BYTES, MAX_COMMITTED_INFOS_BYTES = 13_000, 5000
MAX_COMMITTED_HOSTILE_BYTES = 800
PRIMITIVES = ["bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
              "float", "double", "Float16_t", "Double32_t"]  # fmt: skip
# Columns with structure, as ROOT writes them: two baskets each, the second one in the tree's record.
ROOT_MACRO = """
#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <variant>
#include <vector>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include "TFile.h"
#include "TNamed.h"
#include "TTree.h"
void write_seed(const char *path) {
  TFile file(path, "RECREATE", "", 404);
  TTree tree("t", "");
  Int_t n; Float_t jagged[4], matrix[2][3]; Bool_t flag; Char_t text[20]; Double32_t packed = 0;
  std::vector<short> shorts; std::vector<std::vector<double>> nested; std::string word;
  tree.Branch("n", &n, "n/I"); tree.Branch("jagged", jagged, "jagged[n]/F"); tree.Branch("flag", &flag, "flag/O");
  tree.Branch("matrix", matrix, "matrix[2][3]/F"); tree.Branch("text", text, "text/C");
  tree.Branch("packed", &packed, "packed/d[0,10,12]"); tree.Branch("shorts", &shorts);
  tree.Branch("nested", &nested); tree.Branch("word", &word);
  for (int i = 0; i < 12; ++i) {
    n = i % 4; flag = i % 2; packed = i; snprintf(text, 20, "%.*s", i, "abcdefghijklmn"); word = text;
    for (int k = 0; k < 4; ++k) jagged[k] = i + k;
    for (int k = 0; k < 6; ++k) matrix[k / 3][k % 3] = k;
    shorts.assign(i % 3, i); nested.assign(i % 3, {1. * i});
    tree.Fill();
    if (i == 7) tree.FlushBaskets();
  }
  tree.Write(); file.mkdir("inner")->cd(); TNamed("name", "title").Write(); file.Close();
}
// Every kind of field, a number that was added late, two cluster groups, a view, and an object of a streamer.
void write_ntuple_seed(const char *path) {
  auto model = ROOT::RNTupleModel::Create();
  auto n = model->MakeField<int>("n"); auto b = model->MakeField<bool>("b"); auto d = model->MakeField<double>("d");
  auto list = model->MakeField<std::vector<std::pair<int, std::string>>>("list");
  auto array = model->MakeField<std::array<float, 2>>("array"); auto bits = model->MakeField<std::bitset<9>>("bits");
  auto variant = model->MakeField<std::variant<int, std::string>>("variant");
  auto optional = model->MakeField<std::optional<float>>("optional");
  auto quantized = std::make_unique<ROOT::RField<float>>("quantized"); quantized->SetQuantized(7, {-1.f, 1.f});
  model->AddField(std::move(quantized));
  model->AddField(std::make_unique<ROOT::RStreamerField>("named", "TNamed"));
  model->AddProjectedField(std::make_unique<ROOT::RField<ROOT::RNTupleCardinality<std::uint32_t>>>("n_list"),
                           [](const std::string &) { return "list"; });
  ROOT::RNTupleWriteOptions options; options.SetCompression(0);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "t", path, options);
  for (int i = 0; i < 12; ++i) {
    *n = i; *b = i % 2; *d = i; list->assign(i % 3, {i, "text"}); *variant = i; *optional = 1.f * i;
    writer->Fill();
    if (i % 4 == 3) writer->CommitCluster(i == 7);
    if (i == 5) {
      auto updater = writer->CreateModelUpdater();
      updater->BeginUpdate(); updater->MakeField<std::vector<short>>("late"); updater->CommitUpdate();
    }
  }
}
"""


def write_files(directory: Path) -> list[Path]:
    """Let ROOT and uproot write a few files that have a bit of everything."""
    import ROOT  # noqa: PLC0415 - only where no files are given

    by_root, by_uproot, ntuple = (directory / f"{name}.root" for name in ("root", "uproot", "ntuple"))
    ROOT.gInterpreter.Declare(ROOT_MACRO)
    ROOT.write_seed(str(by_root))
    ROOT.write_ntuple_seed(str(ntuple))
    with uproot.recreate(by_uproot, compression=uproot.ZLIB(9)) as file:
        file["t"] = {"i": np.arange(300, dtype="i4"), "b": np.arange(300) % 3 == 0}
    by_arrowroot = directory / "features.root"
    write_features(by_arrowroot)
    return [by_root, ntuple, by_uproot, by_arrowroot]


def write_features(path: Path) -> None:
    """Write baskets of two clusters that store sizes of entries, and none where a counter says them."""
    numbers = pa.array([[i + k for k in range(i % 4)] for i in range(12)], pa.list_(pa.int16()))
    texts = pa.array(["abcdefghijkl"[:i] for i in range(12)])
    layout = arrowroot.Layout(io_features="kGenerateOffsetMap", flush=8)
    table = pa.table({"numbers": numbers, "texts": texts})
    arrowroot.write(f"{path}:t", table, layout=layout, reproducible=True)


def number(name: str) -> bytes | None:
    """The script of a number, as `arrowroot_fuzz::layout` reads it."""
    return bytes([PRIMITIVES.index(name), 0]) if name in PRIMITIVES else None


def node(name: str) -> bytes:
    """Return the script of a type: a container, a number, or else text."""
    name = name.removeprefix("std::").strip()
    if name.startswith("vector<"):
        return bytes([5]) + node(name[7:-1])
    if name.startswith("map<"):
        key, _, value = name[4:-1].partition(",")
        return bytes([8]) + node(key) + node(value)
    found = number(name)
    return bytes([0]) + found if found else bytes([1])


def form_script(branch: uproot.TBranch) -> bytes:
    """Return the script of what a basket of a branch holds."""
    name = branch.typename.removeprefix("const ")
    item, bracket, dims = name.partition("[")
    if dims == "]" and number(item):
        return bytes([1, 0]) + number(item) + b"\0"
    if number(item):
        sizes = [int(size) for size in dims.rstrip("]").split("][")] if bracket else []
        return bytes([0]) + number(item) + bytes([len(sizes)]) + b"".join(struct.pack(">H", n) for n in sizes)
    inner = name.removeprefix("std::vector<")[:-1]
    if name.startswith("std::vector<") and number(inner):
        return bytes([1, 2]) + number(inner) + b"\0"
    if name == "char*":
        return bytes([2, 0, 3])
    return bytes([2, 2 if "string" in name[:12] else 1]) + node(name)


def records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Key length, object size and bytes of each record."""
    at = struct.unpack_from(">i", data, 8)[0]
    while 0 < at <= len(data) - 18:
        n_bytes, _version, object_bytes, _date, key_bytes = struct.unpack_from(">ihiIh", data, at)
        if n_bytes > 18:
            yield key_bytes, object_bytes, data[at : at + n_bytes]
        at += abs(n_bytes) or len(data)


def object_of(key: Any) -> tuple[int, bytes]:
    """Return length of a key, and its object, uncompressed."""
    chunk, cursor = key.get_uncompressed_chunk_cursor()
    return key.fKeylen, bytes(chunk.get(cursor.index, cursor.index + key.fObjlen, cursor, {}))


def streamer_infos(file: Any) -> bytes:
    """Key length and object of the record of streamer information."""
    if not file.fNbytesInfo:
        return b""
    chunk = file.chunk(file.fSeekInfo, file.fSeekInfo + file.fNbytesInfo)
    cursor = uproot.source.cursor.Cursor(file.fSeekInfo)
    key_bytes, infos = object_of(uproot.reading.ReadOnlyKey(chunk, cursor, {}, file, file))
    return struct.pack(">H", key_bytes) + infos


def parts(path: Path, most_infos_bytes: int | None = None) -> Iterator[Part]:
    """Target and input. A list of streamer information that is cut short is read as far as it goes."""
    data = path.read_bytes()
    yield "file", data
    yield "container", b"\0" + data
    for key_bytes, object_bytes, record in records(data):
        if len(record) - key_bytes < object_bytes:
            yield "container", b"\3" + struct.pack(">I", object_bytes)[1:] + record[key_bytes:]
    try:
        with uproot.open(path, minimal_ttree_metadata=False) as file:
            infos = streamer_infos(file.file)
            yield from parts_of_trees(file, data, infos[:most_infos_bytes])
            yield from objects(path, infos[2:])
            for name, class_name in file.classnames(recursive=True).items():
                if class_name == "ROOT::RNTuple":
                    yield from parts_of_ntuple(file, name)
    except Exception as error:  # noqa: BLE001 - files of the suite are odd, and the rest of their parts is enough
        print(f"{path.name}: {type(error).__name__}", file=sys.stderr)


def envelope(file: Any, offset: int, stored_bytes: int, n_bytes: int) -> bytes:
    """Return an envelope of an RNTuple, uncompressed."""
    chunk = file.file.chunk(offset, offset + stored_bytes)
    cursor = uproot.source.cursor.Cursor(offset)
    if stored_bytes != n_bytes:
        chunk = uproot.compression.decompress(chunk, cursor, {}, stored_bytes, n_bytes)
        cursor = uproot.source.cursor.Cursor(0)
    return bytes(chunk.get(cursor.index, cursor.index + n_bytes, cursor, {}))


def parts_of_ntuple(file: Any, name: str) -> Iterator[Part]:
    """Anchor; and header, footer and page lists without their frames and without the checksum of the header."""
    yield "rntuple", b"\0" + object_of(file.key(name))[1]
    anchor = file[name]

    def seek(what: str) -> list[int]:
        return [anchor.member(f"f{part}{what}") for part in ("Seek", "NBytes", "Len")]

    header = envelope(file, *seek("Header"))[8:-8]
    footer = envelope(file, *seek("Footer"))
    # The links to page lists: size, then a locator of 12 bytes.
    for at in range(24, len(footer) - 20):
        n_bytes, stored_bytes, offset = struct.unpack_from("<QiQ", footer, at)
        if 32 < stored_bytes <= n_bytes < 65_536 and offset < anchor.member("fSeekFooter"):
            page_list = envelope(file, offset, stored_bytes, n_bytes)
            if page_list[:2] == b"\3\0":
                payloads = (header, footer[24:-8], page_list[16:-8])
                if all(len(payload) < 65_536 for payload in payloads):
                    yield "rntuple", b"\1" + b"".join(struct.pack(">H", len(p)) + p for p in payloads)
                return


def parts_of_trees(file: Any, data: bytes, infos: bytes) -> Iterator[Part]:
    """Key list, streamer information, objects, trees and baskets of a file."""
    directory = file.file.root_directory
    start, n_bytes = directory._fSeekKeys, directory._fNbytesKeys  # noqa: SLF001 - uproot gives them no other name
    key_list = data[start : start + n_bytes]
    yield "container", b"\1" + key_list
    yield "container", b"\4" + key_list[struct.unpack_from(">h", key_list, 14)[0] + 4 :]
    if infos:
        yield "container", b"\2" + infos
    for name, class_name in file.classnames(recursive=True).items():
        if class_name == "ROOT::RNTuple" or class_name.startswith("TDirectory"):
            continue
        key_bytes, object_data = object_of(file.key(name))
        if class_name not in ("TTree", "TNtuple"):
            if len(infos) < 65_536 and key_bytes < 256:
                head = struct.pack(">BH", key_bytes, max(0, len(infos) - 2)) + (infos or b"\0\0")
                yield "graph", head + bytes([len(class_name)]) + class_name.encode() + object_data
            continue
        flags = int(class_name != "TTree")
        yield "tree", struct.pack(">BH", flags, key_bytes) + object_data
        if infos and len(infos) < 65_536:
            with_infos = struct.pack(">BHH", flags | 2, key_bytes, len(infos) - 2) + infos
            yield "tree", with_infos + object_data
        for branch in file[name].itervalues(recursive=True):
            yield "container", b"\5" + branch.typename.encode()
            if (
                branch.num_baskets
                and not branch.branches
                and (seek := int(branch.member("fBasketSeek")[0])) > 0
            ):
                script = form_script(branch)
                size = int(branch.member("fBasketBytes")[0])
                yield "basket", bytes([len(script)]) + script + data[seek : seek + size]


def objects(path: Path, infos: bytes) -> Iterator[Part]:
    """The first entries of columns that are not split, with their types."""
    with arrowroot.open(str(path)) as file:
        for tree in (file[name] for name in file.trees):
            if tree.class_name == "ROOT::RNTuple" or len(infos) >= 65_536:
                continue
            for column in tree.columns:
                type_name = column.type_name.encode()
                if "/" in column.name or len(type_name) > 250:
                    continue
                entries = tree.to_arrow([column.name], entries=slice(2), raw=True)[column.name].to_pylist()
                head = struct.pack(">H", len(infos)) + infos + bytes([len(type_name)]) + type_name
                yield from (("objects", head + b"\0" + entry) for entry in entries)


def one_of_each(all_parts: Iterable[Part]) -> Iterator[Part]:
    """Inputs for the repository: all baskets, and one for each first byte of the other targets."""
    seen = set()
    for target, part in all_parts:
        kind = (target, part if target in ("file", "basket") else part[0])
        if kind not in seen and len(part) <= MAX_COMMITTED_BYTES:
            seen.add(kind)
            yield target, part


def hostile_files(directory: Path, found: Iterable[tuple[str, bytes]], most_bytes: int) -> list[Path]:
    """Write files that ask for much; those that are not small themselves are left out."""
    contents = (content for _, content in found if len(content) <= most_bytes)
    paths = []
    for number, content in enumerate(contents):
        paths.append(directory / f"hostile{number}.root")
        paths[-1].write_bytes(content)
    return paths


def table_files(directory: Path, n_tables: int) -> list[Path]:
    """Write drawn tables in both formats."""
    paths = [directory / f"table{seed}.root" for seed in range(n_tables)]
    for seed, path in enumerate(paths):
        layout = arrowroot.Layout(("ttree", "rntuple")[seed % 2], compression="zlib", flush=20)
        arrowroot.write(f"{path}:t", tables.draw(seed), layout=layout, reproducible=True)
    return paths


def main() -> None:
    """Write the seeds of the repository, or a corpus of the files that are given or drawn."""
    is_drawn = sys.argv[1:2] == ["--drawn"]
    n_drawn = int(sys.argv[2]) if is_drawn else 0
    files = [Path(name) for name in sys.argv[1:] if not is_drawn]
    with tempfile.TemporaryDirectory() as scratch:
        if is_drawn:
            shapes = (one for seed in range(n_drawn) for one in drawn.drawn(seed))
            files = hostile_files(Path(scratch), shapes, MAX_FILE_BYTES) + table_files(Path(scratch), n_drawn)
        top = HERE.parent / "corpus" if files else HERE
        paths = [
            path for path in files or write_files(Path(scratch)) if path.stat().st_size <= MAX_FILE_BYTES
        ]
        most_infos_bytes = None if files else MAX_COMMITTED_INFOS_BYTES
        all_parts = (part for path in paths for part in parts(path, most_infos_bytes))
        if not files:
            small = hostile_files(Path(scratch), hostile.cases(), MAX_COMMITTED_HOSTILE_BYTES)
            all_parts = chain(all_parts, (("file", path.read_bytes()) for path in small))
        for target, part in all_parts if files else one_of_each(all_parts):
            if target == "file" or len(part) <= MAX_PART_BYTES:
                name = hashlib.sha256(part).hexdigest()[:16]
                (top / target).mkdir(parents=True, exist_ok=True)
                (top / target / name).write_bytes(part)
    for folder in sorted(top.iterdir()):
        if folder.is_dir():
            sizes = [path.stat().st_size for path in folder.iterdir()]
            print(f"{folder.name}: {len(sizes)} seeds, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
