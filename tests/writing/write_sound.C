// Plain trees, RNTuples and objects. ROOT interprets it.
#include <TFile.h>
#include <TTree.h>
#include <TH1.h>
#include <TH2.h>
#include <TProfile.h>
#include <TGraphErrors.h>
#include <TObjString.h>
#include <TParameter.h>
#include <TRandom3.h>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <optional>

void write_tree(const char *path, int compression, int n_entries, int flush)
{
   TFile file(path, "recreate", "", compression);
   TTree tree("Events", "title");
   if (flush) tree.SetAutoFlush(flush);
   int nx = 0; float x[10]; double d; short s; bool b; char c[400]; unsigned char u; long long l; float fixed[3][2];
   std::vector<float> v; std::vector<std::vector<float>> vv; std::vector<std::string> vs; std::string str;
   tree.Branch("nx", &nx, "nx/I"); tree.Branch("x", x, "x[nx]/F"); tree.Branch("d", &d, "d/D");
   tree.Branch("s", &s, "s/S"); tree.Branch("b", &b, "b/O"); tree.Branch("c", c, "c/C"); tree.Branch("u", &u, "u/b");
   tree.Branch("l", &l, "l/L"); tree.Branch("fixed", fixed, "fixed[3][2]/F");
   tree.Branch("v", &v); tree.Branch("vv", &vv); tree.Branch("vs", &vs); tree.Branch("str", &str);
   TRandom3 random(1);
   for (int i = 0; i < n_entries; ++i) {
      nx = i % 7;
      for (int k = 0; k < nx; ++k) x[k] = random.Gaus();
      d = random.Gaus(); s = i; b = i % 2; u = i; l = i;
      snprintf(c, sizeof c, "%s", std::string(i % 3 ? i % 300 : 0, 'a').c_str());
      for (auto &row : fixed) for (auto &value : row) value = random.Gaus();
      v.assign(i % 5, 1.5f); vv.assign(i % 3, v); vs.assign(i % 4, "text"); str = c;
      tree.Fill();
   }
   tree.Write();
}

void write_ntuple(const char *path, int compression, int n_entries)
{
   TFile file(path, "recreate", "", compression);
   auto model = ROOT::RNTupleModel::Create();
   auto x = model->MakeField<float>("x"); auto v = model->MakeField<std::vector<float>>("v");
   auto s = model->MakeField<std::string>("s"); auto vv = model->MakeField<std::vector<std::vector<int>>>("vv");
   auto a = model->MakeField<std::array<double, 3>>("a"); auto o = model->MakeField<std::optional<int>>("o");
   auto b = model->MakeField<bool>("b"); auto vs = model->MakeField<std::vector<std::string>>("vs");
   auto p = model->MakeField<std::pair<int, float>>("p");
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetApproxZippedClusterSize(20000);
   options.SetMaxUnzippedPageSize(50000);
   options.SetMaxUnzippedClusterSize(100000);
   auto writer = ROOT::RNTupleWriter::Append(std::move(model), "Events", file, options);
   TRandom3 random(1);
   for (int i = 0; i < n_entries; ++i) {
      *x = random.Gaus(); v->assign(i % 5, *x); *s = std::string(i % 9, 'z');
      vv->assign(i % 3, std::vector<int>(i % 2, i)); *a = {1., 2., 3.};
      if (i % 2) *o = i; else o->reset();
      *b = i % 3; vs->assign(i % 4, "text"); *p = {i, 2.f};
      writer->Fill();
   }
}

void write_objects(const char *path)
{
   TFile file(path, "recreate");
   file.mkdir("a")->mkdir("b");
   file.mkdir("empty");
   file.cd("a/b");
   TH1D h("h", "h", 10, 0, 1); h.Fill(.5); h.Write();
   double edges[] = {0, 1, 3};
   TH1F variable("variable", "", 2, edges); variable.Write();
   file.cd("a");
   TH2F h2("h2", "", 3, 0, 1, 4, 0, 2); h2.Sumw2(); h2.Fill(.1, .2); h2.Write();
   TProfile profile("profile", "", 5, 0, 1); profile.Fill(.1, 3); profile.Write();
   file.cd();
   double values[] = {1, 2, 3};
   TGraph(3, values, values).Write("graph");
   TGraphErrors(3, values, values, values, values).Write("errors");
   TObjString("first").Write("text"); TObjString("second").Write("text");
   TNamed("named", "title").Write();
   TParameter<double>("parameter", 2.5).Write();
}
