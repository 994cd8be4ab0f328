"""Histograms whose bins are polygons, and what ROOT finds in their sums: run in ROOT's process."""

from __future__ import annotations

from typing import Any

from tests.judge.lazy import ROOT

N_INPUTS = 3
#: Those that are added, and why others are not.
SUMS = ("rectangles", "combs", "triangles", "weighted", "unfilled", "profile", "spread", "sparse")
#: Those that are profiles.
PROFILES = ("profile", "spread", "sparse")
#: Those that are in a list, too.
LISTED = ("triangles", "weighted", "profile")
REFUSED = {
    "moved": r"fPoly\.fX differs",
    "more": "it has other|fNcells differs",
    "shapes": r"fPoly\.f[XY] differs",
    "squares": "sums of squares of weights",
    "several": "a bin whose polygon is a TMultiGraph",
    "profiles": r"fPoly\.fX differs",
    "listed": r"0\.fCells\.0\.0\.fPoly\.fX differs",
}

MAKE = """
#include <TFile.h>
#include <TGraph.h>
#include <TH2Poly.h>
#include <TList.h>
#include <TMultiGraph.h>
#include <TProfile2Poly.h>
#include <string>

void fill_poly(TH2Poly &poly, int number, bool has_weights) {
   for (int k = 0; k < 60; ++k) {
      double x = (k * 7 + number) % 40 / 8., y = (k * 11 + 3 * number) % 40 / 8.;
      if (has_weights) poly.Fill(x - 0.5, y - 0.5, 0.5 + k % 3); else poly.Fill(x - 0.5, y - 0.5);
   }
}

void fill_profile(TProfile2Poly &profile, int number, int n_fills) {
   for (int k = 0; k < n_fills; ++k) {
      double x = (k * 7 + number) % 40 / 8., y = (k * 11 + 3 * number) % 40 / 8.;
      profile.Fill(x - 0.5, y - 0.5, k % 5 - 1.3, 0.5 + k % 3);
   }
}

void add_triangle(TH2Poly &poly, double x, double top) {
   double xs[] = {x, x + 1, top, x}, ys[] = {0, 0, 2, 0};
   poly.AddBin(4, xs, ys);
}

// A title of another length moves what refers to classes by their places.
void make_polys(const char *sums, const char *refused, int number) {
   std::string title(number * 9, 't');
   {
      TFile file(sums, "RECREATE");
      TH2Poly rectangles("rectangles", title.c_str(), 0, 4, 0, 4);
      rectangles.AddBin(0., 0., 1., 1.);
      rectangles.AddBin(1., 0., 4., 1.);
      rectangles.AddBin(0., 1., 2.5, 4.);
      fill_poly(rectangles, number, false);
      TH2Poly combs("combs", title.c_str(), 0, 4, 0, 4);
      combs.Honeycomb(0, 0, 0.4, 4, 5);
      fill_poly(combs, number, false);
      TH2Poly triangles("triangles", title.c_str(), 0, 4, 0, 4);
      for (double x : {0., 1., 2.}) add_triangle(triangles, x, x + 0.3);
      fill_poly(triangles, number, true);
      TH2Poly weighted("weighted", title.c_str(), 0, 4, 0, 4);
      weighted.Sumw2();
      weighted.AddBin(0., 0., 2., 2.);
      weighted.AddBin(2., 0., 4., 4.);
      fill_poly(weighted, number, true);
      TH2Poly unfilled("unfilled", title.c_str(), 0, 4, 0, 4);
      unfilled.AddBin(0., 0., 2., 2.);
      if (number == 1) fill_poly(unfilled, number, false);
      TProfile2Poly profile("profile", title.c_str(), 0, 4, 0, 4);
      for (double x = 0; x < 4; x += 1) profile.AddBin(x, 0.5, x + 1, 2.);
      fill_profile(profile, number, 200);
      TProfile2Poly spread("spread", title.c_str(), 0, 4, 0, 4), sparse("sparse", title.c_str(), 0, 4, 0, 4);
      for (double x : {0., 1., 2.}) {
         add_triangle(spread, x, x + 0.3);
         add_triangle(sparse, x, x + 0.3);
      }
      spread.SetErrorOption(kERRORSPREAD);
      fill_profile(spread, number, 200);
      fill_profile(sparse, number, number == 1 ? 12 : 0);
      for (auto one : {&rectangles, &combs, &triangles, &weighted, &unfilled}) one->Write();
      for (auto one : {&profile, &spread, &sparse}) one->Write();
      TList list;
      for (TObject *one : {(TObject *)&triangles, (TObject *)&weighted, (TObject *)&profile}) list.Add(one);
      list.Write("list", TObject::kSingleKey);
   }
   TFile file(refused, "RECREATE");
   TH2Poly moved("moved", "", 0, 4, 0, 4), more("more", "", 0, 4, 0, 4), shapes("shapes", "", 0, 4, 0, 4);
   TH2Poly squares("squares", "", 0, 4, 0, 4), several("several", "", 0, 4, 0, 4);
   moved.AddBin(0., 0., number ? 2. : 1., 1.);
   more.AddBin(0., 0., 1., 1.);
   if (number) more.AddBin(1., 0., 2., 1.);
   add_triangle(shapes, 0, number ? 0.3 : 0.7);
   if (number) squares.Sumw2();
   squares.AddBin(0., 0., 1., 1.);
   auto graphs = new TMultiGraph;
   for (double x : {0., 2.}) {
      double xs[] = {x, x + 1, x + 1, x}, ys[] = {0, 0, 1, 0};
      graphs->Add(new TGraph(4, xs, ys));
   }
   several.AddBin(graphs);
   for (auto one : {&moved, &more, &shapes, &squares, &several}) { one->Fill(0.6, 0.1); one->Write(); }
   TProfile2Poly profiles("profiles", "", 0, 4, 0, 4);
   add_triangle(profiles, 0, number ? 0.3 : 0.7);
   profiles.Write();
   TList listed;
   listed.Add(&shapes);
   listed.Write("listed", TObject::kSingleKey);
}
"""


def make() -> None:
    """Write the inputs."""
    ROOT.TH1.AddDirectory(False)
    ROOT.gInterpreter.Declare(MAKE)
    for number in range(N_INPUTS):
        ROOT.make_polys(f"sums{number}.root", f"refused{number}.root", number)


def make_plain() -> None:
    """Write ``plain.root``, which is not compressed: a profile."""
    file = ROOT.TFile("plain.root", "RECREATE", "", 0)
    profile = ROOT.TProfile2Poly("profile", "", 0, 4, 0, 4)
    profile.Honeycomb(0, 0, 0.4, 2, 2)
    profile.Fill(0.5, 0.5, 3.0)
    profile.Write()
    file.Close()


def found(path: str) -> dict[str, Any]:
    """Return what ROOT finds in each histogram."""
    file = ROOT.TFile(path)
    read = {}
    listed = file.Get("list")
    found = [(name, file.Get(name)) for name in SUMS] + [
        (f"list/{name}", listed.FindObject(name)) for name in LISTED
    ]
    for name, one in found:
        statistics = ROOT.std.vector("double")(20)
        one.GetStats(statistics.data())
        bins = range(-9, one.GetNumberOfBins() + 1)
        read[name] = {
            "contents": [float(one.GetBinContent(number)) for number in bins],
            # Bins without entries have NaN for an error in profiles.
            "errors": [str(one.GetBinError(number)) for number in bins],
            "entries": float(one.GetEntries()),
            "statistics": [float(value) for value in statistics],
            "integral": float(one.Integral()),
            "bin at a point": [int(one.FindBin(x / 4, y / 4)) for x in range(16) for y in range(16)],
        }
    return read
