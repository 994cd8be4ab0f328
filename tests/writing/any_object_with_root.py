"""Writes an object of each of many classes, and says what files have in them: run in ROOT's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.judge import macros
from tests.judge.lazy import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CODE = r"""
#include <TArrow.h>
#include <TCanvas.h>
#include <TClonesArray.h>
#include <TCutG.h>
#include <TEfficiency.h>
#include <TEllipse.h>
#include <TEntryList.h>
#include <TEventList.h>
#include <TExMap.h>
#include <TF1.h>
#include <TF1NormSum.h>
#include <TF2.h>
#include <TF3.h>
#include <TFile.h>
#include <TGaxis.h>
#include <TGraph2DErrors.h>
#include <TGraphBentErrors.h>
#include <TGraphMultiErrors.h>
#include <TH2Poly.h>
#include <TH3.h>
#include <THStack.h>
#include <THnSparse.h>
#include <TLatex.h>
#include <TLegend.h>
#include <TLorentzVector.h>
#include <TMacro.h>
#include <TMap.h>
#include <TMatrixD.h>
#include <TMatrixDSym.h>
#include <TMultiGraph.h>
#include <TObjString.h>
#include <TParameter.h>
#include <TPaveText.h>
#include <TProfile.h>
#include <TStyle.h>
#include <TVectorD.h>

void write_objects(const char *path)
{
   TFile file(path, "recreate");
   double v[] = {1, 2.5, 4};
   auto write = [](TObject &object, const char *name) { object.Write(name, TObject::kSingleKey); };
   auto write_named = [&](auto &object, const char *name) { object.SetName(name); write(object, name); };
   TH1D fitted("fitted", "with its function", 20, -3, 3);
   fitted.FillRandom("gaus", 1000); fitted.Fit("gaus", "Q0"); write(fitted, "fitted");
   TH1D buffered("buffered", "", 3, 0, 1);
   buffered.GetXaxis()->SetBinLabel(2, "b"); buffered.SetBuffer(100); buffered.Fill(.4, 2);
   write(buffered, "buffered");
   TF1 f1("f1", "[0]*x+[p1]*sin(x)", 0, 3); f1.SetParameters(1, 2); f1.SetParLimits(0, -1, 7); write(f1, "f1");
   TF2 f2("f2", "x*y*[0]", 0, 1, 0, 1); f2.SetParameter(0, 2); write(f2, "f2");
   TF3 f3("f3", "x*y*z", 0, 1, 0, 1, 0, 1); write(f3, "f3");
   TEfficiency efficiency("efficiency", "", 10, 0, 1);
   for (int i = 0; i < 100; ++i) efficiency.Fill(i % 3, i / 100.);
   efficiency.SetBetaBinParameters(2, 2, 3); write(efficiency, "efficiency");
   TH2Poly poly("poly", "", 0, 2, 0, 2); poly.AddBin(0, 0, 1, 1); poly.AddBin(1, 1, 2, 2); poly.Fill(.5, .5);
   write(poly, "poly");
   TGraphMultiErrors multi("multi", "", 3, v, v, v, v, v, v); multi.AddYError(3, v, v); write(multi, "multi");
   TGraphBentErrors bent(3, v, v, v, v, v, v, v, v, v, v); bent.SetName("bent"); write(bent, "bent");
   TGraph2DErrors graph2d(3, v, v, v, v, v, v); graph2d.SetName("graph2d"); write(graph2d, "graph2d");
   THStack stack("stack", ""); stack.Add(&fitted, "hist"); stack.Add(&buffered); write(stack, "stack");
   TMultiGraph graphs("graphs", ""); graphs.Add(new TGraph(3, v, v), "lp"); graphs.Add(new TGraph(2, v, v));
   write(graphs, "graphs");
   TCutG cut("cut", 3, v, v); cut.SetVarX("x"); write(cut, "cut");
   TVectorD vector(3); vector[1] = 2; write(vector, "vector");
   TMatrixD matrix(2, 3); matrix[0][1] = 5; write(matrix, "matrix");
   TMatrixDSym symmetric(3); symmetric[0][1] = symmetric[1][0] = 5; symmetric[2][2] = 7;
   write(symmetric, "symmetric");
   int n_bins[] = {3, 4}; double low[] = {0, 0}, high[] = {1, 2};
   THnSparseD sparse("sparse", "", 2, n_bins, low, high); sparse.Fill(.5, 1.5); sparse.Sumw2();
   sparse.Fill(.1, .1); write(sparse, "sparse");
   TLorentzVector lorentz(1, 2, 3, 4); write(lorentz, "lorentz");
   TMacro macro("macro", "of two lines"); macro.AddLine("int x;"); macro.AddLine(""); write(macro, "macro");
   TLegend legend(.1, .2, .3, .4); legend.AddEntry(&fitted, "text", "l"); write_named(legend, "legend");
   TPaveText pave(.1, .2, .3, .4); pave.AddText("hi")->SetTextSize(.1); write_named(pave, "pave");
   TStyle style("style", "of mine"); style.SetLineStyleString(11, "400 200"); write(style, "style");
   TEntryList entries("entries", ""); entries.Enter(3); entries.Enter(70000); write(entries, "entries");
   TEventList events("events", ""); events.Enter(3); events.Enter(9); write(events, "events");
   TMap map; map.Add(new TObjString("k"), new TObjString("v")); map.SetName("map"); map.Write("map", 1);
   TArrow arrow(0, 0, 1, 1); write(arrow, "arrow");
   TEllipse ellipse(0, 0, 1, 2); write(ellipse, "ellipse");
   TGaxis axis(0, 0, 1, 1, 0, 1, 510); write_named(axis, "axis");
   TLatex latex(0, 0, "#alpha"); write_named(latex, "latex");
   TClonesArray clones("TNamed", 3); static_cast<TNamed *>(clones.ConstructedAt(0))->SetName("n0");
   static_cast<TNamed *>(clones.ConstructedAt(1))->SetName("n1"); clones.SetName("clones"); clones.Write("clones", 1);
   TProfile profile("profile", "", 3, 0, 1); profile.Fill(.5, 2); profile.GetListOfFunctions()->Add(f1.Clone());
   write(profile, "profile");
   TCanvas canvas("canvas", "canvas", 300, 200); fitted.Draw(); write(canvas, "canvas");
   TNamed("named", "title").Write();
   file.Write();
}
"""


def show(path: Path) -> dict[str, str]:
    """Return what ROOT's own JSON says of each object of a file."""
    file = ROOT.TFile(str(path))
    found = {}
    for key in file.GetListOfKeys():
        object_ = key.ReadObj()
        found[str(key.GetName())] = str(ROOT.TBufferJSON.ToJSON(object_)) if object_ else "nothing"
    return found


def write_circle(path: Path) -> None:
    """Write a histogram whose legend leads back to it."""
    file = ROOT.TFile(str(path), "recreate", "", 0)
    histogram = ROOT.TH1D("circle", "with its legend", 1000, 0, 1)
    histogram.Fill(0.5)
    legend = ROOT.TLegend(0.1, 0.2, 0.3, 0.4)
    legend.AddEntry(histogram, "of the histogram", "l")
    ROOT.SetOwnership(legend, False)  # the histogram deletes it
    histogram.GetListOfFunctions().Add(legend)
    histogram.Write()
    file.Close()


def show_circle(path: Path) -> dict[str, Any]:
    """Return whether the legend leads back to its histogram, and what else they have."""
    file = ROOT.TFile(str(path))
    histogram = file.Get("circle")
    entry = histogram.GetListOfFunctions().At(0).GetListOfPrimitives().At(0)
    is_same = ROOT.addressof(entry.GetObject()) == ROOT.addressof(histogram)
    return {"text": str(entry.GetLabel()), "leads_back": is_same, "n": histogram.GetEntries()}


def write(path: Path) -> None:
    """Write an object of each class."""
    macros.declare(CODE)
    ROOT.write_objects(str(path))
