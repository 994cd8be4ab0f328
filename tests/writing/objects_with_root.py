"""Writes objects of all the classes that arrowroot writes, with values from a seed: run in ROOT's process."""

from __future__ import annotations

import os
import time

from tests.judge import macros
from tests.judge.lazy import ROOT

CODE = r"""
#include <TFile.h>
#include <TH1.h>
#include <TH2.h>
#include <TH3.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile3D.h>
#include <TGraphErrors.h>
#include <TGraphAsymmErrors.h>
#include <TList.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TParameter.h>
#include <TRandom3.h>

void decorate(TH1 &h, TRandom3 &random)
{
   if (random.Rndm() < 0.3) h.Sumw2();
   if (random.Rndm() < 0.3) h.GetXaxis()->SetTitle("p_{T} [GeV]");
   if (random.Rndm() < 0.2) h.GetXaxis()->SetBinLabel(1, "first");
   if (random.Rndm() < 0.2) h.GetListOfFunctions()->Add(new TNamed("note", "of somebody"), "option");
   if (random.Rndm() < 0.2) h.SetContour(3);
   if (random.Rndm() < 0.2) h.SetMaximum(random.Gaus());
   h.SetLineColor(random.Integer(20));
}

// Not the classes of 64-bit integers: they have no version in ROOT 6.40.
template <class H> void one(const char *name, TRandom3 &random)
{
   int n = 1 + random.Integer(20);
   std::vector<double> edges(1, random.Gaus());
   for (int i = 0; i < n; ++i) edges.push_back(edges.back() + random.Rndm() + 0.01);
   H fixed(name, "title", n, -1, 2), variable(name, "", n, edges.data());
   H &h = random.Rndm() < 0.5 ? fixed : variable;
   decorate(h, random);
   for (unsigned i = random.Integer(50); i > 0; --i) h.Fill(random.Gaus(), 1);
   h.Write();
}

template <class H> void two(const char *name, TRandom3 &random)
{
   H h(name, "title", 1 + random.Integer(5), -1, 2, 1 + random.Integer(5), -2, 2);
   decorate(h, random);
   for (unsigned i = random.Integer(50); i > 0; --i) h.Fill(random.Gaus(), random.Gaus());
   h.Write();
}

template <class H> void three(const char *name, TRandom3 &random)
{
   H h(name, "title", 1 + random.Integer(3), -1, 2, 1 + random.Integer(3), -2, 2, 2, 0, 1);
   decorate(h, random);
   for (unsigned i = random.Integer(50); i > 0; --i) h.Fill(random.Gaus(), random.Gaus(), random.Rndm());
   h.Write();
}

void graphs(TRandom3 &random)
{
   int n = random.Integer(9);
   std::vector<double> v[6];
   for (auto &values : v) for (int i = 0; i < n; ++i) values.push_back(random.Gaus());
   TGraph graph(n, v[0].data(), v[1].data());
   graph.SetName("graph");
   if (random.Rndm() < 0.5) graph.GetHistogram();
   graph.Write();
   TGraphErrors errors(n, v[0].data(), v[1].data(), v[2].data(), v[3].data());
   errors.SetNameTitle("errors", "with errors");
   errors.Write();
   TGraphAsymmErrors asymmetric(n, v[0].data(), v[1].data(), v[2].data(), v[3].data(), v[4].data(), v[5].data());
   asymmetric.SetName("asymmetric");
   asymmetric.Write();
}

void write_objects(const char *path, unsigned seed)
{
   TH1::AddDirectory(false);
   TRandom3 random(seed + 1);
   TFile file(path, "recreate", "", 0);
   TObjString(std::string(random.Integer(600), 'x').c_str()).Write("text");
   TNamed("named", "of some kind").Write();
   TParameter<double>("double", random.Gaus()).Write();
   TParameter<float>("float", random.Gaus()).Write();
   TParameter<int>("int", -int(random.Integer(99))).Write();
   TParameter<Long64_t>("long", -(1ll << 40)).Write();
   TParameter<bool>("bool", true).Write();
   file.mkdir("one")->cd();
   one<TH1C>("c", random); one<TH1S>("s", random); one<TH1I>("i", random);
   one<TH1F>("f", random); one<TH1D>("d", random); one<TProfile>("p", random);
   file.mkdir("more")->mkdir("two")->cd();
   two<TH2C>("c", random); two<TH2S>("s", random); two<TH2I>("i", random);
   two<TH2F>("f", random); two<TH2D>("d", random);
   file.cd("more");
   three<TH3C>("c", random); three<TH3S>("s", random); three<TH3I>("i", random);
   three<TH3F>("f", random); three<TH3D>("d", random);
   TProfile2D profile("p2", "", 3, 0, 1, 2, 0, 1);
   decorate(profile, random);
   for (int i = 0; i < 9; ++i) profile.Fill(random.Rndm(), random.Rndm(), random.Gaus());
   profile.Write();
   file.cd();
   graphs(random);
   TProfile3D("p3", "", 2, 0, 1, 2, 0, 1, 1, 0, 1).Write();
   TList list; list.SetName("list"); list.SetOwner();
   auto shared = new TObjString("shared");
   list.Add(shared, "drawn"); list.Add(new TNamed("in", "list")); list.Add(new TParameter<int>("n", 3));
   list.Write("list", TObject::kSingleKey);
   TObjArray array; array.SetName("array");
   array.Add(shared); array.Add(shared); array.Add(&list);
   array.Write("array", TObject::kSingleKey);
}
"""


def write(seed: int) -> None:
    """Write ``objects-SEED.root``, with nothing in it that depends on the day, nor on where it is.

    ROOT orders its descriptions of classes by when it first made them: each file has a process of its own.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    macros.declare(CODE)
    name = f"objects-{seed}.root"
    ROOT.write_objects(f"{name}?reproducible={name}", seed)
