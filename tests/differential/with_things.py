"""Writes histograms, graphs and other objects with ROOT, and says what they are: run in ROOT's process."""

from __future__ import annotations

import math
from array import array
from typing import Any

from tests.judge.lazy import ROOT

N_FILLS = 200
#: What people ask a histogram of one dimension for.
ASKED = (
    *(
        "GetMean()",
        "GetStdDev()",
        "GetRMS()",
        "GetEntries()",
        "GetNbinsX()",
        "GetBinContent(1)",
        "GetBinError(1)",
    ),
    *("Integral()", "GetMaximum()"),
)
#: Entries that wait for limits which are not found in the usual way.
BUFFERED = ("waiting_integers", "waiting_powers")
N_WAITING = 60
#: In C++, as Python would share in owning what is in them.
COLLECTIONS = """
TClonesArray *clones_of(const char *kind, bool by_member) {
   auto array = new TClonesArray(kind, 3);
   for (int i = 0; i < 3; i++) {
      TObject *item = array->ConstructedAt(i);
      if (auto named = dynamic_cast<TNamed *>(item)) named->SetNameTitle(TString::Format("clone %d", i), "title");
      if (auto graph = dynamic_cast<TGraph *>(item)) graph->SetPoint(0, i, 2 * i);
      if (auto vector = dynamic_cast<TLorentzVector *>(item)) vector->SetPxPyPzE(i, 2, 3, 4);
   }
   array->BypassStreamer(by_member);
   return array;
}

std::map<std::string, TObject *> ar_collections() {
   auto inner = new TList, outer = new TList, circle = new TList;
   inner->SetName("inner");
   for (int i = 0; i < 3; i++)
      inner->Add(new TObjString(TString::Format("item %d", i)), TString::Format("option %d", i));
   auto shared = new TNamed("shared", "in both lists");
   inner->Add(shared);
   outer->Add(inner);
   outer->Add(shared, TString('o', 300));
   outer->Add(new TH1F("in_list", "", 3, 0, 3));
   outer->Add(new TParameter<int>("p", 3));
   outer->Add(inner);
   circle->SetName("circle");
   circle->Add(shared);
   auto back = new TList;
   back->Add(circle);
   circle->Add(back);
   auto hashed = new THashList;
   auto ordered = new TOrdCollection;
   auto holes = new TObjArray(5, -1);
   auto pairs = new TMap;
   auto numbers = new TExMap;
   for (int i = 0; i < 4; i++) {
      hashed->Add(new TObjString(TString::Format("hashed %d", i)));
      ordered->Add(new TObjString(TString::Format("ordered %d", i)));
      pairs->Add(new TObjString(TString::Format("key %d", i)), new TNamed(TString::Format("value %d", i).Data(), ""));
      numbers->Add(i, -i, i * 1000000000000);
   }
   holes->AddAt(shared, 0);
   holes->AddAt(shared, 3);
   auto references = new TRefArray;
   references->Add(shared);
   return {{"list", outer}, {"circle", circle}, {"hash_list", hashed}, {"ordered", ordered}, {"object_array", holes},
           {"map", pairs}, {"number_map", numbers}, {"references", references}, {"reference", new TRef(shared)},
           {"clones", clones_of("TNamed", true)}, {"clones_streamed", clones_of("TNamed", false)},
           {"clones_lorentz", clones_of("TLorentzVector", true)},
           {"clones_lorentz_streamed", clones_of("TLorentzVector", false)},
           {"clones_graph", clones_of("TGraph", false)}};
}
"""


def write() -> dict[str, dict[str, Any]]:
    """Write ``things.root``.

    Returns: by the names of keys ROOT's JSON of the objects; of histograms contents and errors of all bins, flow bins
    included, and the edges; and the same of those whose bins are polygons.
    """
    ROOT.TH1.AddDirectory(False)
    ROOT.gRandom.SetSeed(7)
    file = ROOT.TFile("things.root", "recreate")
    made = {
        **histograms(),
        **profiles(),
        **graphs(),
        **small(),
        **polygons(),
        **functions(),
        **own_ways(),
    }
    bins, polygon_bins, texts = {}, {}, {}
    for name, thing in made.items():
        # A list is written in one piece only if that is asked for.
        written = thing.Write(name, ROOT.TObject.kSingleKey) if hasattr(thing, "Write") else 0
        if not written:
            file.WriteObjectAny(thing, thing.Class(), name)
    file.WriteObject(ROOT.std.string("some text"), "std_string")
    file.WriteObject(ROOT.std.vector("double")([1.5, -2, 1e300]), "std_vector")
    file.Close()
    file = ROOT.TFile("things.root")
    for name in made:
        thing = file.Get(name)
        # Asking for bins empties buffers.
        if not name.startswith("waits"):  # JSON has neither all digits nor infinities
            texts[name] = str(ROOT.TBufferJSON.ToJSON(thing))
        if isinstance(thing, ROOT.TH2Poly):
            polygon_bins[name] = polygon_bins_of(thing)
        elif isinstance(thing, ROOT.TH1) and name not in BUFFERED:
            bins[name] = bins_of(thing)
    return {"bins": bins, "polygons": polygon_bins, "things": texts}


def bins_of(h: Any) -> dict[str, Any]:
    n_cells = h.GetNcells()
    axes = [h.GetXaxis(), h.GetYaxis(), h.GetZaxis()][: h.GetDimension()]
    contents = [h.GetBinContent(i) for i in range(n_cells)]
    return {
        "contents": contents,
        "errors": [h.GetBinError(i) for i in range(n_cells)],
        "edges": [[axis.GetBinLowEdge(i) for i in range(1, axis.GetNbins() + 2)] for axis in axes],
        "labels": [[str(axis.GetBinLabel(i)) for i in range(1, axis.GetNbins() + 1)] for axis in axes],
        "entries": h.GetEntries(),
        "asked": {call: eval(f"h.{call}", {"h": h}) for call in ASKED} if h.GetDimension() == 1 else {},  # noqa: S307
        "means": [h.GetMean(i + 1) for i in range(h.GetDimension())],
        "stds": [h.GetStdDev(i + 1) for i in range(h.GetDimension())],
        "effective": [h.GetBinEffectiveEntries(i) for i in range(n_cells)]
        if "Profile" in h.ClassName()
        else [],
    }


def polygon_bins_of(h: Any) -> dict[str, Any]:
    numbers = range(1, h.GetNumberOfBins() + 1)
    is_profile = h.ClassName() == "TProfile2Poly"
    return {
        "contents": [h.GetBinContent(i) for i in numbers],
        "errors": [h.GetBinError(i) for i in numbers],
        # Regions around the range, in rows from above, and in the middle what is between polygons.
        "outside": [h.GetBinContent(-i) for i in range(1, 10)],
        "effective": [h.GetBinEffectiveEntries(i) for i in numbers] if is_profile else [],
        "entries": h.GetEntries(),
    }


def with_limits_to_find(name: str) -> Any:
    """Return a histogram whose limits ROOT is to find, of few or many bins and values of any size."""
    random = ROOT.gRandom
    n_bins = [1, 2, 3, 5, 6, 7, 10, 12, 20, 50, 64, 100, 200, 1000][random.Integer(14)]
    scale = 10.0 ** random.Integer(14) * 1e-5 * random.Uniform(0.5, 5)
    middle = [0, 1, -1, 100, -1e5][random.Integer(5)] * scale
    is_flat, is_weighted, has_odd = (random.Integer(2) == 0 for _ in range(3))
    in_two = random.Integer(4) == 0
    kind = "DDIS"[random.Integer(4)]
    one, two = getattr(ROOT, f"TH1{kind}"), getattr(ROOT, f"TH2{kind}")
    h = two(name, "", n_bins, 0, 0, 3, 0, 1) if in_two else one(name, "", n_bins, 0, 0)
    h.SetBuffer(1000)
    for i in range(1 + random.Integer(80)):
        x = middle + scale * (random.Uniform() if is_flat else random.Gaus())
        if has_odd and not in_two and i % 20 == 1:
            x = [math.inf, -math.inf, math.nan][i // 20 % 3]
        weight = random.Uniform(-1, 4) if is_weighted else 1
        h.Fill(x, random.Uniform(-3, 5), weight) if in_two else h.Fill(x, weight)
    return h


def histograms() -> dict[str, Any]:
    random = ROOT.gRandom
    made: dict[str, Any] = {}
    for kind in "CSILFD":
        one = getattr(ROOT, f"TH1{kind}")(f"h1{kind}", "one;x title;y title", 10, -2, 3)
        two = getattr(ROOT, f"TH2{kind}")(f"h2{kind}", "two", 4, -2, 3, 3, 0, 1)
        three = getattr(ROOT, f"TH3{kind}")(f"h3{kind}", "three", 4, -2, 3, 3, 0, 1, 2, -1, 1)
        for _ in range(N_FILLS):
            one.Fill(random.Gaus())
            two.Fill(random.Gaus(), random.Uniform(1.2))
            three.Fill(random.Gaus(), random.Uniform(1.2), random.Gaus())
        made |= {one.GetName(): one, two.GetName(): two, three.GetName(): three}
    edges = array("d", [0, 0.5, 2, 7, 7.25])
    made["variable"] = ROOT.TH1D("variable", "", 4, edges)
    made["variable2"] = ROOT.TH2F("variable2", "", 4, edges, 2, 0, 1)
    made["weighted"] = ROOT.TH1F("weighted", "with Sumw2", 6, 0, 6)
    made["weighted"].Sumw2()
    made["negative"] = ROOT.TH1D("negative", "without Sumw2", 6, 0, 6)
    made["labels"] = ROOT.TH1I("labels", "", 3, 0, 3)
    made["some_labels"] = ROOT.TH2I("some_labels", "", 3, 0, 3, 2, 0, 2)
    made["empty"] = ROOT.TH1F("empty", "", 1, 0, 1)
    made["latin"] = ROOT.TH1F("latin", b"caf\xe9".decode("latin-1"), 2, 0, 1)
    made["limits"] = ROOT.TH1F("limits", "a buffer, limits known", 5, 0, 5)
    made["limits"].SetBuffer(100)
    made["limits_weighted"] = ROOT.TH2D("limits_weighted", "", 5, 0, 5, 3, 0, 3)
    made["limits_weighted"].SetBuffer(100)
    made["waiting"] = ROOT.TH1D("waiting", "limits not known yet", 5, 0, 0)
    made["waiting2"] = ROOT.TH2D("waiting2", "", 5, 0, 0, 5, 0, 0)
    # Values on the edges of bins, which rounding would put below them.
    made["limits_edges"] = ROOT.TH1D("limits_edges", "", 7, 100, 100.3)
    made["limits_edges"].SetBuffer(100)
    for i in range(8):
        made["limits_edges"].Fill(100 + i * ((100.3 - 100) / 7))
    made["waiting_integers"] = ROOT.TH1D("waiting_integers", "", 5, 0, 0)
    made["waiting_integers"].GetXaxis().SetBit(ROOT.TAxis.kIsInteger)
    made["waiting_powers"] = ROOT.TH1D("waiting_powers", "", 5, 0, 0)
    made["waiting_powers"].SetBit(ROOT.TH1.kAutoBinPTwo)
    made |= {f"waits{i}": with_limits_to_find(f"waits{i}") for i in range(N_WAITING)}
    for i in range(N_FILLS):
        made["variable"].Fill(random.Uniform(-1, 8))
        made["variable2"].Fill(random.Uniform(-1, 8), random.Uniform(1))
        made["weighted"].Fill(random.Uniform(-1, 7), random.Gaus(1))
        made["negative"].SetBinContent(i % 8, 4 - i)
        if i < 50:
            made["limits"].Fill(random.Uniform(-1, 6))
            made["limits_weighted"].Fill(random.Uniform(-1, 6), random.Uniform(-1, 4), random.Gaus(1))
            made["waiting"].Fill(random.Gaus())
            made["waiting2"].Fill(random.Gaus(), 1)
            for name in BUFFERED:
                made[name].Fill(random.Gaus())
    for i, label in enumerate(["first", "second", "third é"]):
        made["labels"].GetXaxis().SetBinLabel(i + 1, label)
        made["labels"].Fill(label, i + 1)
    made["some_labels"].GetYaxis().SetBinLabel(2, "up")
    made["some_labels"].Fill(1, "up", 1)
    made |= with_other_moments()
    fitted = ROOT.TH1D("fitted", "with a function", 20, -3, 3)
    fitted.FillRandom("gaus", 500)
    fitted.Fit("gaus", "Q0")
    made["fitted"] = fitted
    return made


def with_other_moments() -> dict[str, Any]:
    """Return histograms whose means are not those of what was filled inside of them."""
    random = ROOT.TRandom3(11)
    made: dict[str, Any] = {}
    edges = array("d", [-2, -1, 0, 0.5, 3])
    for way in ("chosen", "chosen_flow", "all_count", "all_chosen", "waiting_all", "set", "all_set"):
        one, two = ROOT.TH1D(f"{way}1", "", 4, edges), ROOT.TH2D(f"{way}2", "", 4, -2, 3, 3, 0, 1)
        three = ROOT.TH3D(f"{way}3", "", 4, -2, 3, 3, 0, 1, 2, -1, 1)
        profile = ROOT.TProfile(f"{way}_profile", "", 4, -2, 3)
        plane = ROOT.TProfile2D(f"{way}_profile2", "", 4, -2, 3, 3, 0, 1)
        for h in (one, two, three, profile, plane):
            if "all" in way:
                h.SetStatOverflows(ROOT.TH1.kConsider)
        if "waiting" in way:
            one.SetBuffer(1000)
            two.SetBuffer(1000)
        for _ in range(N_FILLS):
            x, y, weight = random.Gaus(), random.Uniform(1.2), random.Uniform(-1, 4)
            one.Fill(x, weight)
            two.Fill(x, y, weight)
            three.Fill(x, y, random.Gaus(), weight)
            profile.Fill(x, y, 1 + random.Uniform())
            plane.Fill(x, y, x + y)
        for h in (one, two, three, profile, plane):
            if "chosen" in way:
                h.GetXaxis().SetRange(0 if "flow" in way else 2, 3)
            if "set" in way and "Profile" not in h.ClassName():
                h.Reset()
                for i in range(h.GetNcells()):
                    h.SetBinContent(i, i * i % 7)
        if "chosen" in way:
            two.GetYaxis().SetRange(2, 2)
            three.GetZaxis().SetRange(1, 3)
        made |= {h.GetName(): h for h in (one, two, three, profile, plane)}
    made["grown"] = ROOT.TH1D("grown", "", 2, 0, 2)
    made["grown"].SetCanExtend(ROOT.TH1.kAllAxes)
    for label in ("a", "b", "c", "a"):
        made["grown"].Fill(label, 2)
    made["negative_spread"] = ROOT.TH1D("negative_spread", "", 3, 0, 3)
    for x, weight in ((0.5, 2), (1.5, -1), (2.5, 2)):
        made["negative_spread"].Fill(x, -weight)
    return made


def profiles() -> dict[str, Any]:
    random = ROOT.gRandom
    made: dict[str, Any] = {}
    for mode in ("", "s", "i", "g"):
        made[f"profile{mode}"] = ROOT.TProfile(f"profile{mode}", "p", 8, 0, 4, mode)
        made[f"profile2{mode}"] = ROOT.TProfile2D(f"profile2{mode}", "p", 4, 0, 4, 3, 0, 3, mode)
        made[f"profile3{mode}"] = ROOT.TProfile3D(f"profile3{mode}", "p", 2, 0, 2, 2, 0, 2, 2, 0, 2, mode)
        made[f"weighted_profile{mode}"] = ROOT.TProfile(f"weighted_profile{mode}", "p", 8, 0, 4, mode)
        for i in range(N_FILLS):
            x, y, z = (random.Uniform(-0.2, 4) for _ in range(3))
            # Bin 1 has values that are all the same.
            value = 3 if x < 0.5 else random.Gaus(5)
            made[f"profile{mode}"].Fill(x, value)
            made[f"profile2{mode}"].Fill(x, y, value)
            made[f"profile3{mode}"].Fill(x, y, z, value)
            made[f"weighted_profile{mode}"].Fill(x, value, 0.5 + i % 3)
    return made


def graphs() -> dict[str, Any]:
    n = 4
    points = [array("d", [i * scale + 0.25 for i in range(n)]) for scale in (1, 2, 3, 4, 5, 6, 7)]
    x, y, *errors = points
    multi = ROOT.TGraphMultiErrors("multi", "", n, x, y, *errors[:4])
    both = ROOT.TMultiGraph("both", "two graphs")
    both.Add(ROOT.TGraph(n, x, y), "lp")
    both.Add(ROOT.TGraphErrors(n, x, y, errors[0], errors[1]))
    made = {
        "graph": ROOT.TGraph(n, x, y),
        "graph_errors": ROOT.TGraphErrors(n, x, y, errors[0], errors[1]),
        "graph_asymmetric": ROOT.TGraphAsymmErrors(n, x, y, *errors[:4]),
        "graph_bent": ROOT.TGraphBentErrors(n, x, y, *errors[:4], *errors[:4]),
        "graph_multi": multi,
        "graph2d": ROOT.TGraph2D(n, x, y, errors[0]),
        "graph2d_errors": ROOT.TGraph2DErrors(n, x, y, errors[0], errors[1], errors[2], errors[3]),
        "multigraph": both,
        "no_points": ROOT.TGraph(),
    }
    made["graph_errors"].SetTitle("with errors;x;y")
    return made


def small() -> dict[str, Any]:
    made: dict[str, Any] = {
        "named": ROOT.TNamed("named", "a title"),
        "text": ROOT.TObjString("text with\nlines " * 30),
        "lorentz": ROOT.TLorentzVector(1, 2, 3, 4),
        "vector": ROOT.TVectorD(3, array("d", [1, 2, 3])),
        "matrix": ROOT.TMatrixD(2, 3, array("d", range(6))),
        "macro": ROOT.TMacro("macro", "a macro"),
        "symmetric": ROOT.TMatrixDSym(3, array("d", [1, 2, 3, 2, 4, 5, 3, 5, 6])),
    }
    made["macro"].AddLine("int main() {}")
    numbers = {"bool": True, "int": -7, "long": 2**40, "Long64_t": -(2**50), "float": 0.5, "double": 1e-300}
    for kind, value in numbers.items():
        made[f"parameter_{kind}"] = ROOT.TParameter[kind](f"p_{kind}", value)
    ROOT.gInterpreter.Declare(COLLECTIONS)
    return made | {str(pair.first): pair.second for pair in ROOT.ar_collections()}


def polygons() -> dict[str, Any]:
    random = ROOT.gRandom

    def shape(*corners: tuple[float, float]) -> Any:
        xs, ys = (array("d", values) for values in zip(*corners, strict=True))
        return ROOT.TGraph(len(corners), xs, ys)

    triangle = shape((0, 1), (1, 1), (0.5, 2))
    parts = ROOT.TMultiGraph()
    for part in (shape((-1, -1), (-0.5, -1), (-0.5, -0.5), (-1, -0.5)), shape((2, 2), (2.5, 2), (2, 2.5))):
        parts.Add(part)
    made = {name: ROOT.TH2Poly(name, "", -1, 3, -1, 3) for name in ("poly", "poly_weighted", "poly_late")}
    made |= {f"poly_profile{mode}": ROOT.TProfile2Poly("p", "", -1, 3, -1, 3) for mode in ("", "s", "i", "g")}
    for name, h in made.items():
        for one in (triangle, parts, shape((1, 0), (2, 0), (2, 1), (1, 1)), shape((2, 0), (3, 0), (3, 1))):
            h.AddBin(one.Clone())
        if "profile" in name:
            h.SetErrorOption(["", "s", "i", "g"].index(name.removeprefix("poly_profile")))
    made["poly_weighted"].Sumw2()
    for i in range(N_FILLS):
        x, y, weight = random.Uniform(-2, 4), random.Uniform(-2, 4), random.Uniform(3)
        made["poly"].Fill(x, y)
        made["poly_weighted"].Fill(x, y, weight)
        # The squares begin with the first weight that is not 1.
        made["poly_late"].Fill(x, y, weight if i > N_FILLS / 2 else 1)
        for mode in ("", "s", "i", "g"):
            made[f"poly_profile{mode}"].Fill(x, y, 3 if x < 1 else random.Gaus(5), weight)
    honeycomb = ROOT.TH2Poly("honeycomb", "many;x title;y title", 0, 10, 0, 8)
    honeycomb.Honeycomb(0.5, 0.5, 0.5, 9, 7)
    for _ in range(N_FILLS):
        honeycomb.Fill(random.Gaus(5, 2), random.Gaus(4, 2))
    # Above the range in y, and below that in x.
    corner = ROOT.TH2Poly("corner", "", 0, 1, 0, 1)
    corner.AddBin(shape((0, 0), (1, 0), (1, 1)))
    corner.Fill(-0.5, 1.5)
    empty = ROOT.TH2Poly("no_polygons", "", 0, 1, 0, 1)
    return made | {"honeycomb": honeycomb, "polygons": corner, "no_polygons": empty}


def functions() -> dict[str, Any]:
    passed, total = ROOT.TH1D("passed", "", 4, 0, 4), ROOT.TH1D("total", "", 4, 0, 4)
    for i in range(40):
        total.Fill(i % 4)
        if i % 3:
            passed.Fill(i % 4)
    stack = ROOT.THStack("stack", "two histograms")
    stack.Add(passed)
    stack.Add(total)
    sparse = ROOT.THnSparseD("sparse", "", 2, array("i", [4, 5]), array("d", [0, 0]), array("d", [1, 1]))
    sparse.Fill(array("d", [0.1, 0.9]), 2.5)
    canvas = ROOT.TCanvas("canvas", "a canvas", 300, 200)
    passed.DrawCopy()
    canvas.Update()
    return {
        "f1": ROOT.TF1("f1", "[0]*x + sin(x)", 0, 3),
        "f2": ROOT.TF2("f2", "x*y*[0]", 0, 1, 0, 1),
        "formula": ROOT.TFormula("formula", "x*x"),
        "efficiency": ROOT.TEfficiency(passed, total),
        "stack": stack,
        "sparse": sparse,
        "canvas": canvas,
        "pave": ROOT.TPaveText(0, 0, 1, 1),
    }


def own_ways() -> dict[str, Any]:
    """Objects of classes whose own streamers do not write what the file says of them."""
    ROOT.RooMsgService.instance().setGlobalKillBelow(ROOT.RooFit.ERROR)
    workspace = ROOT.RooWorkspace("workspace")
    workspace.factory(
        "SUM::model(f[0.4,0,1]*Gaussian::g(x[-10,10],m[0.5,-1,1],s[2,0.1,5]),Exponential::e(x,c[-0.2,-1,0]))"
    )
    workspace.factory("category[one=1,two=2]")
    x, model = workspace.var("x"), workspace.pdf("model")
    x.setBins(8)
    data = model.generate(ROOT.RooArgSet(x), 50)
    data.SetName("data")
    workspace.Import(data)
    workspace.Import(data.binnedClone("binned"))
    fit = model.fitTo(data, ROOT.RooFit.Save(), ROOT.RooFit.PrintLevel(-1))
    line, markers = ROOT.TPolyLine3D(4), ROOT.TPolyMarker3D(3)
    for points in (line, markers):
        for i in range(points.GetN()):
            points.SetPoint(i, i, 2 * i, 0.5)
    tree = ROOT.TTree("indexed", "")
    run, event = array("i", [3]), array("i", [0])
    tree.Branch("run", run, "run/I")
    tree.Branch("event", event, "event/I")
    for number in (9, 7, 8):
        event[0] = number
        tree.Fill()
    tree.BuildIndex("run", "event")
    chain = ROOT.TChain("Events")
    chain.AddFile("first.root")
    chain.AddFile("second.root")
    return {
        "workspace": workspace,
        "fit": fit,
        "poly_line": line,
        "poly_markers": markers,
        "tree_index": tree.GetTreeIndex(),
        "chain": chain,
    }
