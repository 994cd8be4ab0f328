"""Samples are the same everywhere, look like data of experiments, and are written by `arrowroot sample`."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._sample import draws as of
from arrowroot._sample.make import STEP, Sample, kinds, sample_of
from arrowroot.cli import sample as command

KINDS = ["nanoaod", "d3pd", "aod"]


def digest(batches):
    """Return a checksum of names and values."""
    table = pa.Table.from_batches(batches)
    text = f"{table.column_names}{table.to_pylist()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_there_are_three_kinds():
    assert kinds() == KINDS
    with pytest.raises(ar.InvalidRequestError, match="nanoaod"):
        sample_of("nanoad")


@pytest.mark.parametrize("kind", KINDS)
def test_entries_follow_from_the_seed_alone(kind):
    first = pa.Table.from_batches(sample_of(kind, n_entries=300).batches())
    again = pa.Table.from_batches(sample_of(kind, n_entries=STEP + 10).batches())
    assert first.num_rows == 300
    assert again.num_rows == STEP + 10
    assert again.slice(0, 300).equals(first)
    other = pa.Table.from_batches(sample_of(kind, seed=2, n_entries=300).batches())
    assert not other.equals(first)
    assert other.schema == first.schema
    first.validate(full=True)
    assert not any(field.nullable for field in first.schema)


# If one of these changes, so does every sample: figures in the documents are of these values.
@pytest.mark.parametrize(
    ("kind", "expected"),
    [("nanoaod", "8838e19bc7ebebef"), ("d3pd", "5828d6b27ba6a277"), ("aod", "b0aebb7a9d2c65ac")],
)
def test_values_are_the_same_on_every_machine(kind, expected):
    assert digest(list(sample_of(kind, n_entries=100).batches())) == expected


def test_distributions_keep_few_bits_and_their_means():
    assert of.falling(5.0, 20.0).mean() == pytest.approx(25.0, rel=0.01)
    assert of.normal(1.0, 2.0).std() == pytest.approx(2.0, rel=0.01)
    assert of.poisson(3.0, 50).mean() == pytest.approx(3.0, rel=0.01)
    assert of.flag(0.25).mean() == pytest.approx(0.25, abs=0.005)
    assert of.mostly(-1.0, 0.7, of.uniform, 0.0, 1.0, 6).tolist().count(-1.0) == pytest.approx(
        0.7 * 65536, rel=0.01
    )
    assert np.all(of.uniform(-3.0, 3.0, 10).view(np.uint32) & ((1 << 13) - 1) == 0)


def test_a_nanoaod_sample_hangs_together():
    table = pa.Table.from_batches(sample_of("nanoaod", n_entries=5000).batches())
    assert 900 <= table.num_columns <= 1000
    for name in ("Muon", "Jet", "GenPart", "LHEPdfWeight"):
        column = f"{name}_pt" if name != "LHEPdfWeight" else name
        lengths = table[column].chunk(0).value_lengths().to_numpy()
        assert np.array_equal(lengths, table[f"n{name}"].to_numpy())
    for momenta in table["Jet_pt"].to_pylist()[:200]:
        assert momenta == sorted(momenta, reverse=True)
    events = table["event"].to_numpy()
    assert np.all(np.diff(events.astype(np.int64)) > 0)
    # Tight is among loose, and what triggers has what was asked for.
    tight, loose = (np.array(table[f"Muon_{name}Id"].chunk(0).flatten()) for name in ("tight", "loose"))
    assert not np.any(tight & ~loose)
    fired = table["HLT_IsoMu24"].to_numpy(zero_copy_only=False)
    leading = [muons[0] if muons else 0 for muons in table["Muon_pt"].to_pylist()]
    assert fired.any()
    assert min(np.array(leading)[fired]) > 24
    # What happens in an entry goes together.
    assert np.corrcoef(table["nJet"].to_numpy(), table["nMuon"].to_numpy())[0, 1] > 0.1


def test_the_others_have_lists_of_lists_and_records():
    d3pd = next(sample_of("d3pd", n_entries=10).batches()).schema
    assert str(d3pd.field("jet_constit_pt").type) == "list<item: list<item: float not null> not null>"
    aod = next(sample_of("aod", n_entries=10).batches()).schema
    assert pa.types.is_list(aod.field("jets").type.value_type.field("cov").type)


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_the_sample(tmp_path, arrowroot_command, kind, layout):
    out = tmp_path / "sample.root"
    arguments = (kind, out, "--entries", 500, "--layout", layout, "--flush", 200, "--reproducible")
    told = json.loads(arrowroot_command("sample", *arguments, "--json").stdout)
    assert told["num_entries"] == 500
    tree = ar.open(out)[told["tree"]]
    assert tree.clusters == [0, 200, 400, 500]
    assert tree.to_arrow().equals(pa.Table.from_batches(sample_of(kind, n_entries=500).batches()))
    before = out.read_bytes()
    done = arrowroot_command("sample", *arguments, check=False)
    assert (done.returncode, "is there" in done.stderr) == (2, True)
    arrowroot_command("sample", *arguments, "--force")
    assert out.read_bytes() == before
    kept = arrowroot_command("sample", kind, out, "--keep")
    assert "there already" in kept.stdout
    document = json.loads(arrowroot_command("sample", kind, out, "--keep", "--json").stdout)
    assert (document["was_kept"], document["bytes"]) == (True, len(before))
    assert out.read_bytes() == before


def test_a_size_says_how_many_entries_and_codecs_do_not(tmp_path, arrowroot_command):
    sizes = {}
    for codec in ("zstd:5", "none"):
        out = tmp_path / "sample.root:Other"
        told = arrowroot_command(
            "sample", "nanoaod", out, "--size", "10 MB", "--compression", codec, "--json", "--force"
        ).stdout
        sizes[codec] = (json.loads(told)["num_entries"], json.loads(told)["bytes"])
    assert sizes["zstd:5"][0] == sizes["none"][0]
    assert sizes["zstd:5"][1] == pytest.approx(10e6, rel=0.1)
    assert sizes["none"][1] > 1.5 * sizes["zstd:5"][1]


def test_requests_that_make_no_sense_are_told(tmp_path, arrowroot_command):
    for arguments, text in [
        (("nanoad", "x.root"), "nanoaod"),
        (("aod", "x.root", "--size", "big"), "--size"),
        (("aod", "x.root", "--entries", "0"), "--entries"),
        (("aod", "x.root", "--size", "1 MB", "--entries", "5"), "not allowed"),
        (("aod", "s3://bucket/x.root"), "aws s3 cp"),
    ]:
        done = arrowroot_command("sample", *arguments, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert text in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_progress_counts_what_is_written_and_never_recedes(tmp_path, arrowroot_command, monkeypatch):
    seen, drawn = [], Sample.batches

    class Watched(command.Progress):
        def follow(self, done):
            self.done = done

            def batches(sample):
                for batch in drawn(sample):
                    seen.append(done())
                    yield batch
                seen.append(done())

            monkeypatch.setattr(Sample, "batches", batches)

        def __exit__(self, *_):
            seen.append(self.done())

    monkeypatch.setattr(command, "Progress", Watched)
    arrowroot_command("sample", "nanoaod", tmp_path / "s.root", "--entries", str(STEP + 500))
    shares, sizes = zip(*seen, strict=True)
    assert (shares, sizes) == (tuple(sorted(shares)), tuple(sorted(sizes)))
    # All is drawn, and little is written yet.
    assert shares[0] == 0
    assert shares[-2] < 0.8
    assert 0.95 < shares[-1] <= 1
    assert sizes[-1] == pytest.approx((tmp_path / "s.root").stat().st_size, rel=0.1)
